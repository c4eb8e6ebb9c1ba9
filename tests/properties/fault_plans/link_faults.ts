import type { Context, Kind, Page } from "./kind.ts";
import { API_KEY } from "./truth.ts";

/** A fault that replaces the link, in the body and in the header alike. */
function link(
  name: string,
  target: (context: Context, page: Page) => unknown,
  passes = false,
): Kind {
  return {
    name,
    on: "page",
    passes,
    page: (page, context) => {
      if (page.bodyLink === undefined && page.headerLink === undefined) {
        return false;
      }
      if (lastId(page) === "") return false;
      const changed = target(context, page);
      if (page.bodyLink !== undefined) page.bodyLink = changed;
      if (page.headerLink !== undefined) {
        page.headerLink = typeof changed === "string" ? changed : undefined;
      }
      return true;
    },
  };
}

function lastId({ rows }: Page): string {
  return String((rows.at(-1) as { Id?: unknown } | undefined)?.Id ?? "");
}

/** Moves a position by a number of Ids; a UUID is left as it is. */
function moved(position: string, by: number): string {
  return /^\d+$/.test(position) ? String(Math.max(0, Number(position) + by)) : position;
}

const skip = (id: string) => ({ "$skiptoken": `Id:${id}` });

/** Links to the next page that are lost, lead elsewhere or do not move on. */
export const LINK_FAULTS: readonly Kind[] = [
  {
    name: "link lost in the body",
    on: "page",
    passes: true,
    hidesRows: true,
    page: (page) => {
      if (page.bodyLink === undefined) return false;
      page.bodyLink = undefined;
      return true;
    },
  },
  {
    name: "link lost in the header",
    on: "page",
    passes: true,
    hidesRows: true,
    page: (page) => {
      if (page.headerLink === undefined) return false;
      page.headerLink = undefined;
      return true;
    },
  },
  {
    name: "link lost in body and header",
    on: "page",
    passes: true,
    hidesRows: true,
    page: (page) => {
      if (page.bodyLink === undefined && page.headerLink === undefined) {
        return false;
      }
      page.bodyLink = page.headerLink = undefined;
      return true;
    },
  },
  link(
    "link to the current page",
    ({ asked, linkTo }) => linkTo({ "$skiptoken": asked.position && `Id:${asked.position}` }),
  ),
  link(
    "link back",
    ({ asked, linkTo, random }, page) =>
      linkTo(
        skip(moved(asked.position ?? lastId(page), -random.int(1, 3_000))),
      ),
  ),
  {
    ...link("link to a row of the page", ({ linkTo, random }, page) => {
      const row = random.pick(page.rows) as { Id?: unknown };
      return linkTo(skip(String(row.Id ?? 1)));
    }, true),
    // Positions of UUIDs cannot be compared.
    passesFor: ({ resource }) => resource !== "Metadata",
  },
  link(
    "link ahead",
    ({ linkTo, random }, page) => linkTo(skip(moved(lastId(page), random.int(1, 3_000)))),
    true,
  ),
  link(
    "link to another origin",
    ({ linkTo, random }, page) =>
      linkTo(skip(lastId(page))).replace(
        /^https:\/\/[^/]+/,
        random.pick([
          "https://elsewhere.invalid",
          "http://elsewhere.invalid:8080",
          `https://user:${API_KEY}@elsewhere.invalid`,
          "ftp://elsewhere.invalid",
        ]),
      ),
  ),
  link(
    "link to another path",
    ({ linkTo, asked }, page) =>
      linkTo(skip(lastId(page))).replace(`/${asked.resource}?`, "/Elsewhere?"),
  ),
  link(
    "link with another filter",
    ({ linkTo }, page) =>
      linkTo({
        ...skip(lastId(page)),
        "$filter": "CharacteristicName eq 'Nitrate'",
      }),
  ),
  link(
    "link without the filter",
    ({ linkTo }, page) => linkTo({ ...skip(lastId(page)), "$filter": undefined }),
  ),
  link(
    "link with another select",
    ({ linkTo }, page) => linkTo({ ...skip(lastId(page)), "$select": "DOI" }),
  ),
  link(
    "link with another page size",
    ({ linkTo, random }, page) =>
      linkTo({
        ...skip(lastId(page)),
        "$top": String(random.pick([1, 7, 10_000, 99_999])),
      }),
    true,
  ),
  link(
    "link with the key",
    ({ linkTo }, page) => linkTo({ ...skip(lastId(page)), "x-api-key": API_KEY }),
    true,
  ),
  link(
    "link without a position",
    ({ linkTo }) => linkTo({ "$skiptoken": undefined }),
  ),
  link("relative link", ({ linkTo }, page) => {
    const url = new URL(linkTo(skip(lastId(page))));
    return url.pathname + url.search;
  }, true),
  link(
    "link that is no URL",
    ({ random }) => random.pick<unknown>(["https://", "%%%", 17, {}, [], true, ""]),
  ),
  {
    name: "link of null on the last page",
    on: "page",
    passes: true,
    page: (page) => {
      if (page.bodyLink !== undefined || page.headerLink !== undefined) return false;
      page.bodyLink = null;
      return true;
    },
  },
  {
    name: "different links in body and header",
    on: "page",
    passes: true,
    page: (page, { linkTo }) => {
      if (page.bodyLink === undefined || page.headerLink === undefined) {
        return false;
      }
      page.headerLink = linkTo(skip(moved(lastId(page), 600)));
      return true;
    },
  },
];
