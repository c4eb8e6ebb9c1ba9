import type { FaultContext, FaultKind, PageDraft } from "./fault_kind.ts";
import { API_KEY } from "./reference_rows.ts";

/** Creates a fault that replaces the link in the body and in the header. */
function link(
  name: string,
  target: (context: FaultContext, page: PageDraft) => string,
  isRecoverable: FaultKind["isRecoverable"] = false,
): FaultKind {
  return {
    name,
    on: "page",
    isRecoverable,
    page(page, context) {
      if (!hasLink(page) || lastId(page) === "") return false;
      setLinks(page, target(context, page));
    },
  };
}

export function hasLink({ bodyLink, headerLink }: PageDraft): boolean {
  return bodyLink !== undefined || headerLink !== undefined;
}

/** Replaces the links that a page has; `undefined` removes them. */
export function setLinks(page: PageDraft, target: string | undefined): void {
  if (page.bodyLink !== undefined) page.bodyLink = target;
  if (page.headerLink !== undefined) page.headerLink = target;
}

function lastId({ rows }: PageDraft): string {
  return String(rows.at(-1)?.["Id"] ?? "");
}

/** Adds a number to a numeric position; returns a UUID unchanged. */
function movePosition(position: string, by: number): string {
  return /^\d+$/.test(position) ? String(Math.max(0, Number(position) + by)) : position;
}

const skip = (id: string) => ({ "$skiptoken": `Id:${id}` });

/** Links to the next page that are missing or have a wrong target. */
export const LINK_FAULTS: readonly FaultKind[] = [
  {
    name: "missing link in body and header",
    on: "page",
    hidesRows: true,
    page(page) {
      if (!hasLink(page)) return false;
      setLinks(page, undefined);
    },
  },
  link(
    "link to the current page",
    ({ request, linkTo }) => linkTo({ "$skiptoken": request.position && `Id:${request.position}` }),
  ),
  link(
    "link to an earlier position",
    ({ request, linkTo, random }, page) =>
      linkTo(skip(movePosition(request.position ?? lastId(page), -random.int(1, 3_000)))),
  ),
  link(
    "link to a position within the page",
    ({ linkTo, random }, page) => linkTo(skip(String(random.pick(page.rows)["Id"] ?? 1))),
    // UUIDs have no numeric order.
    ({ resource }) => resource !== "Metadata",
  ),
  {
    ...link(
      "link to a later position",
      ({ linkTo, random }, page) => linkTo(skip(movePosition(lastId(page), random.int(1, 3_000)))),
      true,
    ),
    // With tokens of another form than `Id:<Id>`, the client follows the link.
    hidesRows: true,
  },
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
  {
    name: "different links in body and header",
    on: "page",
    page(page, { linkTo }) {
      if (page.bodyLink === undefined || page.headerLink === undefined) return false;
      page.headerLink = linkTo(skip(movePosition(lastId(page), 600)));
    },
  },
];
