import type { FaultContext, FaultKind, PageDraft } from "./fault_kind.ts";
import { hasLink, setLinks } from "./link_faults.ts";
import type { WireRow } from "./reference_rows.ts";

/** Effects of a fault that removes rows which the client cannot request again. */
const LOSS: Partial<FaultKind> = { hidesRows: true, isRecoverable: false };

function pageFault(
  name: string,
  page: FaultKind["page"],
  effects: Partial<FaultKind> = {},
): FaultKind {
  return { name, on: "page", page, ...effects };
}

/** Replaces the rows, and any links by one to the page after the last of the new rows. */
function replaceRows(page: PageDraft, rows: WireRow[], { linkTo }: FaultContext): void {
  page.rows = rows;
  const id = rows.at(-1)?.["Id"];
  if (id !== undefined) setLinks(page, linkTo({ "$skiptoken": `Id:${id}` }));
}

/** Whether rows carry integer Ids, by which positions can be compared. */
const hasIds = ({ rows }: PageDraft) =>
  rows.length > 0 &&
  rows.every(({ Id }) => typeof Id === "number");

/** Pages with other rows than those requested, or with other members. */
export const PAGE_FAULTS: readonly FaultKind[] = [
  pageFault("empty page with a link", (page) => {
    if (page.rows.length === 0 || !hasLink(page)) return false;
    page.rows = [];
  }, { hidesRows: true }),
  pageFault("empty later page without a link", (page, { request }) => {
    if (page.rows.length === 0 || request.position === undefined) return false;
    page.rows = [];
    setLinks(page, undefined);
  }, { hidesRows: true }),
  pageFault("empty first page without a link", (page, { request }) => {
    if (page.rows.length === 0 || request.position !== undefined) return false;
    page.rows = [];
    setLinks(page, undefined);
  }, LOSS),
  pageFault("short page without a link", (page, { random }) => {
    if (page.rows.length < 2) return false;
    page.rows = page.rows.slice(0, random.int(1, page.rows.length - 1));
    setLinks(page, undefined);
  }, LOSS),
  pageFault("short page with a link", (page, context) => {
    if (page.rows.length < 2 || !hasLink(page)) return false;
    const rows = page.rows.slice(0, context.random.int(1, page.rows.length - 1));
    // Without Ids there is no position to link to.
    if (rows.at(-1)!["Id"] === undefined) return false;
    replaceRows(page, rows, context);
  }),
  pageFault("page from an earlier position", async (page, context) => {
    const { request, random, rowsAfter } = context;
    if (request.position === undefined || !hasIds(page)) return false;
    const start = Math.max(0, Number(request.position) - 300);
    const rows = await rowsAfter(random.chance(0.3) ? undefined : String(start), request.top);
    if (random.chance(0.5)) replaceRows(page, rows, context);
    else page.rows = rows; // with the current link
  }),
  pageFault("page from a later position", async (page, context) => {
    if (!hasIds(page) || page.rows.length < 2) return false;
    const { random, request } = context;
    const from = random.pick(page.rows);
    const rows = await context.rowsAfter(String(from["Id"]), request.top);
    if (rows.length < request.top) setLinks(page, undefined);
    replaceRows(page, rows, context);
  }, LOSS),
  pageFault("rows in another order", (page, { random }) => {
    if (page.rows.length < 2) return false;
    page.rows = random.shuffle(page.rows);
  }, { breaksOrder: true }),
  pageFault("one row replaced by a copy of another", (page, { random }) => {
    if (!hasIds(page) || page.rows.length < 2) return false;
    const [from, to] = random.shuffle([...page.rows.keys()]);
    page.rows = page.rows.with(to!, page.rows[from!]);
  }, { breaksOrder: true }),
  pageFault(
    "last row of the previous page repeated",
    async (page, { request, rowsAfter }) => {
      if (request.position === undefined || !hasIds(page)) return false;
      const [row] = await rowsAfter(String(Number(request.position) - 1), 1);
      if (String(row?.["Id"]) !== request.position) return false;
      page.rows = [row, ...page.rows.slice(0, -1)];
    },
  ),
  pageFault("one row missing", (page, { random }) => {
    if (page.rows.length < 4) return false;
    // Neither the first nor the last one.
    page.rows = page.rows.toSpliced(random.int(1, page.rows.length - 2), 1);
  }, LOSS),
  pageFault("more rows than requested", async (page, context) => {
    const { request, random, rowsAfter } = context;
    if (!hasLink(page)) return false;
    const rows = await rowsAfter(request.position, request.top + random.int(1, request.top));
    if (rows.length <= request.top) return false;
    replaceRows(page, rows, context);
  }),
  pageFault("error member after the rows", (page, { random }) => {
    page.members = { ...page.members, error: { code: "E1", message: "Lost the connection" } };
    if (random.chance(0.6)) page.rows = page.rows.slice(0, random.int(0, page.rows.length));
    if (random.chance(0.5)) setLinks(page, undefined);
  }),
  pageFault("Ids as strings of digits", (page) => {
    if (!hasIds(page)) return false;
    page.rows = page.rows.map((row) => ({ ...row, Id: String(row["Id"]) }));
  }),
  pageFault("rows without Ids", (page) => {
    if (!hasIds(page)) return false;
    page.rows = page.rows.map(({ Id: _, ...others }) => others);
  }, LOSS),
  pageFault("values that change with each response", (page, { random }) => {
    const version = ` ~${random.int(1, 99_999)}`;
    const mark = ([name, value]: [string, unknown]) => [
      name,
      typeof value === "string" && name !== "Id" ? value + version : value,
    ];
    page.rows = page.rows.map((row) => Object.fromEntries(Object.entries(row).map(mark)));
  }, {
    isPermanent: true,
    // The server compares the first page of a document of several pages with a second response.
    isRecoverable: ({ reader }) => reader !== "server",
  }),
];
