import type { Context, Kind, Page } from "./kind.ts";
import type { WireRow } from "./truth.ts";

interface Traits {
  passes?: boolean;
  hidesRows?: boolean;
}

function pageFault(
  name: string,
  change: (
    page: Page,
    context: Context,
  ) => boolean | void | Promise<boolean | void>,
  { passes = true, hidesRows = false }: Traits = {},
): Kind {
  return {
    name,
    on: "page",
    passes,
    hidesRows,
    page: async (page, context) => (await change(page, context)) ?? true,
  };
}

/** Replaces the rows, and the links by one to the page after the last of them. */
function replaceRows(page: Page, rows: WireRow[], { linkTo }: Context): void {
  page.rows = rows;
  const id = rows.at(-1)?.["Id"];
  if (id === undefined) return;
  const target = linkTo({ "$skiptoken": `Id:${id}` });
  if (page.bodyLink !== undefined) page.bodyLink = target;
  if (page.headerLink !== undefined) page.headerLink = target;
}

const hasLink = ({ bodyLink, headerLink }: Page) =>
  bodyLink !== undefined || headerLink !== undefined;

function dropLinks(page: Page): void {
  page.bodyLink = page.headerLink = undefined;
}

/** Whether rows carry integer Ids, by which positions can be compared. */
const hasIds = ({ rows }: Page) =>
  rows.length > 0 &&
  rows.every((row) => typeof (row as WireRow)["Id"] === "number");

/** Removes rows at random places, but neither the first nor the last one. */
function dropRows(page: Page, number: number, { random }: Context): boolean {
  if (page.rows.length < number + 3) return false;
  page.rows = [...page.rows];
  for (let dropped = 0; dropped < number; dropped++) {
    page.rows.splice(random.int(1, page.rows.length - 2), 1);
  }
  return true;
}

/** Returns the rows from a position before the one that was asked for. */
async function earlierRows(
  { asked, rowsAfter, random }: Context,
): Promise<WireRow[]> {
  const id = Number(asked.position);
  return await rowsAfter(
    random.chance(0.3) ? undefined : String(Math.max(0, id - 300)),
    asked.top,
  );
}

const insertAt = (page: Page, row: unknown, { random }: Context) => {
  page.rows = page.rows.toSpliced(random.int(0, page.rows.length), 0, row);
};

/** Pages with other rows than those asked for, or with other members. */
export const PAGE_FAULTS: readonly Kind[] = [
  pageFault("empty page with a link", (page) => {
    if (page.rows.length === 0 || !hasLink(page)) return false;
    page.rows = [];
  }, { hidesRows: true }),
  pageFault("empty page without a link", (page, { asked }) => {
    if (page.rows.length === 0 || asked.position === undefined) return false;
    page.rows = [];
    dropLinks(page);
  }, { hidesRows: true }),
  pageFault("empty first page without a link", (page, { asked }) => {
    if (page.rows.length === 0 || asked.position !== undefined) return false;
    page.rows = [];
    dropLinks(page);
  }, { hidesRows: true, passes: false }),
  pageFault("short page without a link", (page, { random }) => {
    if (page.rows.length < 2) return false;
    page.rows = page.rows.slice(0, random.int(1, page.rows.length - 1));
    dropLinks(page);
  }, { hidesRows: true, passes: false }),
  pageFault("short page with a link", (page, context) => {
    if (page.rows.length < 2 || !hasLink(page)) return false;
    const rows = page.rows.slice(0, context.random.int(1, page.rows.length - 1)) as WireRow[];
    // Where no Ids were requested, there is no position to link to.
    if (rows.at(-1)!["Id"] === undefined) return false;
    replaceRows(page, rows, context);
  }),
  pageFault(
    "page before under the current link",
    async (page, { asked, rowsAfter }) => {
      if (asked.position === undefined || !hasIds(page)) return false;
      const start = Math.max(0, Number(asked.position) - 3 * asked.top);
      page.rows = await rowsAfter(
        start === 0 ? undefined : String(start),
        asked.top,
      );
    },
  ),
  pageFault("page of an earlier position", async (page, context) => {
    if (context.asked.position === undefined || !hasIds(page)) return false;
    const rows = await earlierRows(context);
    replaceRows(page, rows, context);
  }),
  pageFault("page of a later position", async (page, context) => {
    if (!hasIds(page) || page.rows.length < 2) return false;
    const { random, asked } = context;
    const from = random.pick(page.rows) as WireRow;
    const rows = await context.rowsAfter(String(from["Id"]), asked.top);
    if (rows.length < asked.top) dropLinks(page);
    replaceRows(page, rows, context);
  }, { hidesRows: true, passes: false }),
  pageFault("rows in another order", (page, { random }) => {
    if (page.rows.length < 2) return false;
    page.rows = random.shuffle(page.rows);
  }),
  pageFault("a row twice in place of another", (page, { random }) => {
    if (!hasIds(page) || page.rows.length < 2) return false;
    const [from, to] = random.shuffle([...page.rows.keys()]);
    page.rows = page.rows.with(to!, page.rows[from!]);
  }),
  pageFault("a row twice, one more than asked for", (page, context) => {
    if (page.rows.length !== context.asked.top) return false;
    insertAt(page, context.random.pick(page.rows), context);
  }),
  pageFault("a row of an earlier page", async (page, context) => {
    const { asked, random } = context;
    if (asked.position === undefined || !hasIds(page)) return false;
    const row = random.pick(await earlierRows(context));
    page.rows = page.rows.with(random.int(0, page.rows.length - 1), row);
  }),
  pageFault(
    "the row of the position again",
    async (page, { asked, rowsAfter }) => {
      if (asked.position === undefined || !hasIds(page)) return false;
      const [row] = await rowsAfter(String(Number(asked.position) - 1), 1);
      if (String(row?.["Id"]) !== asked.position) return false;
      page.rows = [row, ...page.rows.slice(0, -1)];
    },
  ),
  pageFault("one row missing", (page, context) => dropRows(page, 1, context), {
    hidesRows: true,
    passes: false,
  }),
  pageFault(
    "several rows missing",
    (page, context) => dropRows(page, context.random.int(2, 6), context),
    { hidesRows: true, passes: false },
  ),
  pageFault("more rows than asked for", async (page, context) => {
    const { asked, random, rowsAfter } = context;
    if (!hasLink(page)) return false;
    const rows = await rowsAfter(
      asked.position,
      asked.top + random.int(1, asked.top),
    );
    if (rows.length <= asked.top) return false;
    replaceRows(page, rows, context);
  }),
  pageFault("error member beside the rows", (page, { random }) => {
    page.members = {
      ...page.members,
      error: { code: "E1", message: "Lost the connection" },
    };
    if (random.chance(0.6)) {
      page.rows = page.rows.slice(0, random.int(0, page.rows.length));
    }
    if (random.chance(0.5)) dropLinks(page);
  }),
  pageFault("errors member beside the rows", (page, { random }) => {
    page.members = { ...page.members, errors: [{ detail: "Lost the connection" }] };
    if (random.chance(0.6)) page.rows = page.rows.slice(0, random.int(0, page.rows.length));
    if (random.chance(0.5)) dropLinks(page);
  }),
  pageFault("error member before the rows", (page, { random }) => {
    const { error: _, ...members } = page.members;
    page.members = members;
    page.rewrites.push((text) => `{"error":{"message":"Lost"},${text.slice(1)}`);
    page.rows = page.rows.slice(0, random.int(0, page.rows.length));
  }),
  pageFault("error member of null", (page) => {
    // After an error member, it would be the one that counts.
    if ("error" in page.members || page.rewrites.length > 0) return false;
    page.members = { ...page.members, error: null };
  }),
  pageFault("error without rows", (page) => {
    page.rewrites.push(() => '{"error":{"code":"E1","message":"Lost the connection"}}');
  }),
  pageFault("null in place of a row", (page, { random }) => {
    if (page.rows.length === 0) return false;
    page.rows = page.rows.with(random.int(0, page.rows.length - 1), null);
  }),
  pageFault(
    "null between rows",
    (page, context) => insertAt(page, null, context),
  ),
  pageFault("a text, a number or a list between rows", (page, context) => {
    insertAt(page, context.random.pick<unknown>(["row", 7, [], true]), context);
  }),
  pageFault("rows that are no list", (page, { random }) => {
    const value = random.pick(["null", "{}", '"rows"', "7", "true"]);
    page.rewrites.push(() => `{"value":${value}}`);
  }),
  pageFault("rows under another name", (page) => {
    page.rewrites.push((text) => text.replace('"value":', '"values":'));
  }),
  pageFault("Ids as digits in a text", (page) => {
    if (!hasIds(page)) return false;
    page.rows = page.rows.map((row) => ({
      ...row as WireRow,
      Id: String((row as WireRow)["Id"]),
    }));
  }),
  pageFault("rows without Ids", (page) => {
    if (!hasIds(page)) return false;
    page.rows = page.rows.map((row) => {
      const { Id: _, ...others } = row as WireRow;
      return others;
    });
  }, { passes: false, hidesRows: true }),
  pageFault("a member twice, with one value", (page) => {
    page.rewrites.push((text) =>
      text.replace(
        /\{"(\w+)":("[^"\\]*"|-?[\d.]+|null)(?=[,}])/g,
        '{"$1":$2,"$1":$2',
      )
    );
  }),
  pageFault("a member twice, the right value last", (page) => {
    page.rewrites.push((text) => text.replace(/\{"Id":(\d+)/g, '{"Id":1,"Id":$1'));
  }),
  pageFault("the rows twice, first an empty list", (page) => {
    page.rewrites.push((text) => text.replace('"value":[', '"value":[],"value":['));
  }),
  pageFault("the rows twice, last an empty list", (page) => {
    page.rewrites.push((text) => text.replace(/\]([^\]]*)$/, '],"value":[]$1'));
  }, { passes: false, hidesRows: true }),
  pageFault("a new field in each row", (page) => {
    page.rows = page.rows.map((row) =>
      typeof row === "object" && row !== null ? { ...row, WellDepth: 12.5 } : row
    );
  }, { passes: false }),
  pageFault("rows spread over lines", (page) => {
    page.rewrites.push((text) => JSON.stringify(JSON.parse(text), null, "\t"));
  }),
  pageFault("every character escaped", (page) => {
    page.rewrites.push((text) =>
      text.replace(
        /[\u007f-\uffff]/g,
        (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`,
      )
    );
  }),
];
