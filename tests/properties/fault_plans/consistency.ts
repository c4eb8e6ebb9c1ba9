// Checks whether delivered rows are consistent with the responses that the client received. If an
// incomplete result is consistent, nothing in the responses showed the loss.
import type { RowEncoder } from "./encode_row.ts";
import type { Exchange } from "./faulty_service.ts";
import { idOf, isAfter, type Plan } from "./plan.ts";
import type { WireRow } from "./reference_rows.ts";

/** A page that the client received and that is a valid response to its request. */
interface ValidPage {
  position: string | undefined;
  top: number;
  rows: WireRow[];
  /** Position of the next page; `undefined` without a link. */
  next: string | undefined;
  /** Position after the last row. */
  end: string | undefined;
}

/** Maximum difference between the rows of a result and a count: 0.0005 % of counts above 100,000, which are estimates. */
export function toleranceOf(count: number): number {
  return count > 100_000 ? Math.ceil(count * 0.000_005) : 0;
}

/** Describes why delivered rows are not consistent with the responses, or returns `undefined`. */
export function findInconsistency(
  plan: Plan,
  exchanges: readonly Exchange[],
  delivered: readonly string[],
  { sent }: RowEncoder,
  isComplete: boolean,
): string | undefined {
  const shards = shardsOf(plan, exchanges);
  const count = lastCountOf(plan, exchanges);
  if (isComplete && isCountable(plan, delivered.length) && count !== undefined) {
    const missing = count - delivered.length;
    // With `incomplete: "warn"`, a count that is too low is accepted, and then does not show that rows are missing.
    const isAccepted = plan.incomplete === "warn" && missing < 0;
    if (Math.abs(missing) > toleranceOf(count) && !isAccepted) {
      return `${delivered.length} of ${count} counted rows`;
    }
  }
  let furthest = 0;
  const reached = new Set<string>();

  /** Whether the rows after `offset` match the pages of a shard after `position`. */
  function matchesPages(
    shard: number,
    position: string | undefined,
    offset: number,
    announced: boolean,
  ): boolean {
    furthest = Math.max(furthest, offset);
    if (offset === delivered.length && (!isComplete || offset === plan.limit)) {
      return true;
    }
    const key = `${shard} ${position} ${offset} ${announced}`;
    if (reached.has(key)) return false;
    reached.add(key);
    const following = shards[shard + 1];
    // The service rejected the query or counted too many rows, so the client split the rest.
    const isSplitHere = following !== undefined && following.start === position &&
      isPartOf(following, shards[shard]!);
    if (isSplitHere && matchesPages(shard + 1, position, offset, false)) return true;
    const pages = shards[shard]!.pages.filter((page) => page.position === position);
    const isEmptyTwice = pages.filter(({ rows }) => rows.length === 0).length > 1;
    for (const page of pages) {
      const { rows, next, end = next, top } = page;
      if (!rows.every((row, index) => sent(row) === delivered[offset + index])) continue;
      const after = offset + rows.length;
      // An empty page must be requested again if a link announced rows.
      if (rows.length === 0 && (next !== undefined || announced) && !isEmptyTwice) continue;
      if (end !== undefined && matchesPages(shard, end, after, next !== undefined)) return true;
      // After a full page, another page must be requested unless all counted rows have arrived. A token of another form
      // is only known from a link, and without a count, nothing shows that the link is missing.
      const isFull = rows.length === top && end !== undefined &&
        (plan.tokens === "id" || count !== undefined);
      if (next !== undefined || isFull && after !== count) continue;
      if (following === undefined) {
        if (after === delivered.length) return true;
      } else if (matchesPages(shard + 1, following.start, after, false)) {
        return true;
      }
    }
    return false;
  }

  if (shards.length === 0) {
    return delivered.length === 0 ? undefined : "no page was requested";
  }
  return matchesPages(0, shards[0]!.start, 0, false)
    ? undefined
    : `no sequence of responses contains row ${furthest + 1} of ${delivered.length}`;
}

/** Whether a count applies to a result: the query does not begin at a skip token, and its limit did not end it. */
export function isCountable({ limit, skipToken }: Plan, rows: number): boolean {
  return skipToken === undefined && rows !== limit;
}

/** The requests of a query or of one shard of it. */
interface Shard {
  filter: string | undefined;
  start: string | undefined;
  pages: ValidPage[];
}

function isPartOf({ filter = "" }: Shard, { filter: whole = "" }: Shard): boolean {
  return whole === "" || filter.startsWith(`${whole} and `);
}

/** Groups the valid pages by the filter of their requests, in the order of the requests. */
export function shardsOf(plan: Plan, exchanges: readonly Exchange[]): Shard[] {
  const shards = new Map<string | undefined, Shard>();
  for (const exchange of exchanges) {
    const { resource, isCount, filter, position } = exchange.request;
    if (isCount || resource !== plan.resource) continue;
    const shard = shards.get(filter) ?? { filter, start: position, pages: [] };
    shards.set(filter, shard);
    const page = toValidPage(exchange, plan);
    if (page !== undefined) shard.pages.push(page);
    // Even a valid page can be rejected, because of its link.
    shard.pages.push(...toParts(exchange));
  }
  return [...shards.values()];
}

/** Returns the last count of the unsplit query that the client received. */
export function lastCountOf(
  { resource, filter, within }: Plan,
  exchanges: readonly Exchange[],
): number | undefined {
  const counts = exchanges.filter(({ request, status }) =>
    request.isCount && status === 200 && request.resource === resource
  );
  // The client adds a clause with the locations of a box. The filter of a shard has one more clause.
  const filters = counts.map(({ request }) => request.filter ?? "");
  const shortest = filters.reduce((a, b) => a.length <= b.length ? a : b, filters[0] ?? "");
  const unsplit = within === undefined ? filter ?? "" : shortest;
  return counts.filter(({ request }) => (request.filter ?? "") === unsplit)
    .map(readCount).findLast((count) => count !== undefined);
}

function readCount({ text }: Exchange): number | undefined {
  const document = parse(text);
  const { value, "@odata.count": annotated, "odata.count": plain } = document ??
    {};
  const count = [value, annotated, plain].find((member) => /^\d+$/.test(String(member)));
  return count === undefined ? undefined : Number(count);
}

/** Returns the page of an exchange if it is a valid response to the request. */
function toValidPage(
  { request, status, text, headerLink }: Exchange,
  { tokens }: Plan,
): ValidPage | undefined {
  const { position, top, url } = request;
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
  const ids = rows.map(readId);
  const end = lastOf(ids);
  if (ids.every(Number.isInteger)) {
    if (new Set(ids).size < ids.length) return undefined;
    // The Id in a token of another form is unknown to the client.
    const isKnown = position !== undefined && tokens === "id";
    if (isKnown && !ids.every((id) => isAfter(id, position))) return undefined;
  }
  const link = document["@odata.nextLink"] ?? headerLink;
  if (link === undefined) return { position, top, rows, next: undefined, end };
  // If the Ids are known, the next page starts after the last one, independent of the link.
  const next = tokens === "id" ? end ?? positionOf(link, url) : positionOf(link, url);
  if (next === undefined || next === position) return undefined;
  return { position, top, rows, next, end: tokens === "id" ? end : next };
}

/**
 * Returns the parts of a page that a client may have delivered before the page was complete: the first rows,
 * up to each row but the last one, while their Ids rise.
 */
function toParts({ request: { position, top }, status, received }: Exchange): ValidPage[] {
  if (status !== 200) return [];
  const rows = readFirstRows(new TextDecoder().decode(received));
  const parts: ValidPage[] = [];
  let last = position;
  for (const [index, row] of rows.slice(0, -1).entries()) {
    const id = readId(row);
    if (!Number.isInteger(id) || (last !== undefined && !isAfter(id, last)) || index >= top) break;
    last = String(id);
    parts.push({ position, top, rows: rows.slice(0, index + 1), next: last, end: last });
  }
  return parts;
}

/** Reads the Id of a row. One fault sends integers as strings of digits. */
function readId({ Id }: WireRow): unknown {
  return typeof Id === "string" && /^\d+$/.test(Id) ? Number(Id) : Id;
}

function readFirstRows(text: string): WireRow[] {
  const rows: WireRow[] = [];
  const list = /"value"\s*:\s*\[/.exec(text);
  if (list === null) return rows;
  let at = list.index + list[0].length;
  for (;;) {
    const length = /^[\s,]*\{(?:[^"{}]|"(?:[^"\\]|\\.)*"|\{[^{}]*\})*\}/.exec(text.slice(at))?.[0]
      .length;
    if (length === undefined) return rows;
    try {
      rows.push(JSON.parse(text.slice(at, at + length).replace(/^[\s,]+/, "")));
    } catch {
      return rows;
    }
    at += length;
  }
}

/** Returns the greatest of numeric Ids, or the last one of other Ids. */
function lastOf(ids: readonly unknown[]): string | undefined {
  if (ids.length === 0 || ids.some((id) => id === undefined || id === null)) return undefined;
  const numbers = ids.map(Number);
  return String(numbers.every(Number.isInteger) ? Math.max(...numbers) : ids.at(-1));
}

function positionOf(link: unknown, url: URL): string | undefined {
  if (typeof link !== "string" || !URL.canParse(link, url)) return undefined;
  const target = new URL(link, url);
  if (target.origin !== url.origin || target.pathname !== url.pathname) {
    return undefined;
  }
  const token = target.searchParams.get("$skiptoken");
  return token === null ? undefined : idOf(token);
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
