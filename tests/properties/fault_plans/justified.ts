// Decides whether a result that differs from the truth follows from the answers that the client
// received. Then nothing in the answers showed the loss, and no client could have noticed it.
import type { RowEncoder } from "./encode_row.ts";
import type { Exchange } from "./faulty_service.ts";
import { isAfter, type Plan } from "./plan.ts";
import type { WireRow } from "./truth.ts";

/** A page as the client received it, checked against the request. */
interface SoundPage {
  position: string | undefined;
  top: number;
  rows: WireRow[];
  /** Position of the page after it; undefined where the page has no link. */
  next: string | undefined;
  /** Position after its last row. */
  end: string | undefined;
}

/** Largest number of rows by which a result may be short of a count: 1 row or 0.0005 %. */
export function toleranceOf(count: number): number {
  return Math.max(1, count * 0.000_005);
}

/**
 * Returns why delivered rows do not follow from the answers, or undefined if they do.
 *
 * @param plan The plan
 * @param exchanges All requests and answers of the run
 * @param delivered Texts of the rows that were delivered
 * @param encoder Encoder of the rows
 * @param isComplete Whether the run ended without an error, and without an accepted loss
 */
export function whyUnjustified(
  plan: Plan,
  exchanges: readonly Exchange[],
  delivered: readonly string[],
  { sent }: RowEncoder,
  isComplete: boolean,
): string | undefined {
  const parts = partsOf(plan, exchanges);
  const count = countOf(plan, exchanges);
  const isAll = plan.limit === undefined && plan.skipToken === undefined;
  if (isComplete && isAll && count !== undefined) {
    if (count - delivered.length > toleranceOf(count)) {
      return `${delivered.length} of ${count} counted rows`;
    }
  }
  const isWhole = plan.partition !== "location" && plan.partition !== "year";
  let furthest = 0;
  const reached = new Set<string>();

  /** Whether the rows from `offset` on follow from the pages of a part from `position` on. */
  function follows(
    part: number,
    position: string | undefined,
    offset: number,
    announced: boolean,
  ): boolean {
    furthest = Math.max(furthest, offset);
    if (offset === delivered.length && (!isComplete || offset === plan.limit)) {
      return true;
    }
    const key = `${part} ${position} ${offset} ${announced}`;
    if (reached.has(key)) return false;
    reached.add(key);
    const following = parts[part + 1];
    // The service refused the whole query, or counted too many rows: the rest was split.
    const isSplitHere = isWhole && part === 0 && following !== undefined &&
      following.start === position;
    if (isSplitHere && follows(1, position, offset, false)) return true;
    const pages = parts[part]!.pages.filter((page) => page.position === position);
    const isEmptyTwice = pages.filter(({ rows }) => rows.length === 0).length > 1;
    for (const page of pages) {
      const { rows, next, end = next, top } = page;
      if (!rows.every((row, index) => sent(row) === delivered[offset + index])) continue;
      const after = offset + rows.length;
      // An empty page where a link announced rows must be requested twice.
      if (rows.length === 0 && (next !== undefined || announced) && !isEmptyTwice) continue;
      if (end !== undefined && follows(part, end, after, next !== undefined)) return true;
      // After a full page, one more must be requested, unless all counted rows have come.
      const isFull = rows.length === top && end !== undefined;
      if (next !== undefined || isFull && after !== count) continue;
      if (following === undefined) {
        if (after === delivered.length) return true;
      } else if (follows(part + 1, following.start, after, false)) {
        return true;
      }
    }
    return false;
  }

  if (parts.length === 0) {
    return delivered.length === 0 ? undefined : "no page was requested";
  }
  return follows(0, parts[0]!.start, 0, false)
    ? undefined
    : `no chain of answers gives row ${furthest + 1} of ${delivered.length}`;
}

interface Part {
  filter: string | undefined;
  start: string | undefined;
  pages: SoundPage[];
}

/** The pages of each filter that the client asked for, in order. */
export function partsOf(plan: Plan, exchanges: readonly Exchange[]): Part[] {
  const parts = new Map<string | undefined, Part>();
  for (const exchange of exchanges) {
    const { resource, isCount, filter, position } = exchange.asked;
    if (isCount || resource !== plan.resource) continue;
    const part = parts.get(filter) ?? { filter, start: position, pages: [] };
    parts.set(filter, part);
    const page = toSoundPage(exchange);
    if (page !== undefined) part.pages.push(page);
  }
  return [...parts.values()];
}

/** Returns the last count of the whole query that the client received. */
export function countOf(
  { resource, filter, within }: Plan,
  exchanges: readonly Exchange[],
): number | undefined {
  const counts = exchanges.filter(({ asked, status }) =>
    asked.isCount && status === 200 && asked.resource === resource
  );
  // The locations of a box are in a clause that the client adds; a part has one clause more.
  const filters = counts.map(({ asked }) => asked.filter ?? "");
  const shortest = filters.reduce((a, b) => a.length <= b.length ? a : b, filters[0] ?? "");
  const whole = within === undefined ? filter ?? "" : shortest;
  return counts.filter(({ asked }) => (asked.filter ?? "") === whole)
    .map(readCount).findLast((count) => count !== undefined);
}

function readCount({ text }: Exchange): number | undefined {
  const document = parse(text);
  const { value, "@odata.count": annotated, "odata.count": plain } = document ??
    {};
  const count = [value, annotated, plain].find((member) => /^\d+$/.test(String(member)));
  return count === undefined ? undefined : Number(count);
}

/** Returns a page that a service without faults could have sent to this request. */
function toSoundPage(
  { asked, status, text, headerLink }: Exchange,
): SoundPage | undefined {
  const { position, top, url } = asked;
  const document = status === 200 ? parse(text) : undefined;
  if (
    document === undefined || (document["error"] ?? undefined) !== undefined
  ) return undefined;
  const rows = document["value"] as WireRow[];
  if (!Array.isArray(rows) || rows.length > top) return undefined;
  if (
    rows.some((row) => typeof row !== "object" || row === null || Array.isArray(row))
  ) {
    return undefined;
  }
  const ids = rows.map(({ Id }) => Id);
  const end = lastOf(ids);
  if (ids.every(Number.isInteger)) {
    if (new Set(ids).size < ids.length) return undefined;
    if (position !== undefined && !ids.every((id) => isAfter(id, position))) return undefined;
  }
  const link = document["@odata.nextLink"] ?? headerLink;
  if (link === undefined) return { position, top, rows, next: undefined, end };
  // Where the Ids are known, the next page begins after the last of them, whatever the link says.
  const next = end ?? positionOf(link, url);
  if (next === undefined || next === position) return undefined;
  return { position, top, rows, next, end };
}

/** Returns the greatest of Ids that are numbers or digits, and the last one of others. */
function lastOf(ids: readonly unknown[]): string | undefined {
  if (ids.length === 0 || ids.some((id) => id === undefined || id === null)) return undefined;
  const numbers = ids.map(Number);
  return String(numbers.every(Number.isInteger) ? Math.max(...numbers) : ids.at(-1));
}

/** Returns the position that a link of the service names. */
function positionOf(link: unknown, url: URL): string | undefined {
  if (typeof link !== "string" || !URL.canParse(link, url)) return undefined;
  const target = new URL(link, url);
  if (target.origin !== url.origin || target.pathname !== url.pathname) {
    return undefined;
  }
  return target.searchParams.get("$skiptoken")?.slice(3);
}

function parse(text: string | undefined): Record<string, unknown> | undefined {
  if (text === undefined) return undefined;
  try {
    const document = JSON.parse(text);
    return typeof document === "object" && document !== null ? document : undefined;
  } catch {
    return undefined;
  }
}
