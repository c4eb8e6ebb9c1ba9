// Checks how a run ended. It must deliver its complete result, or an error that says how to continue. Rows may be missing
// only if the plan accepts that, or if no response showed them.
import { DataStreamError } from "../../../mod.ts";
import { checkCause } from "./causes.ts";
import type { FaultKind } from "./fault_kind.ts";
import type { Exchange, FaultyService } from "./faulty_service.ts";
import { idOf, isAfter } from "./links.ts";
import { type Plan, requestBound } from "./plan.ts";
import { readOutput, type RunOutput } from "./read_output.ts";
import { API_KEY, type WireRow } from "./reference_rows.ts";

export type Ending = "complete" | "error" | "accepted loss" | "undetectable loss" | "violation";

/** Returns how a run ended, and adds each violated rule to `violations`. */
export async function evaluate(
  plan: Plan,
  service: FaultyService,
  output: RunOutput,
  violations: string[],
): Promise<Ending> {
  const check = (isRight: boolean, violation: string) => {
    if (!isRight) violations.push(violation);
  };
  const { exchanges } = service;
  const { error, missingRows, surplusRows } = output;
  const all = plan.matching.map((row) => encodeSent(plan, row));
  const delivered = output.rows.map(encode);
  const wanted = Math.min(plan.limit ?? Infinity, all.length);
  const isFirst = isFirstRows(plan, service, delivered, all);

  violations.push(...service.violations);
  check(!service.isBusy, "a request is still open after the end");
  check(exchanges.length <= requestBound(plan), `too many requests: ${exchanges.length}`);
  check(!textsOf(output).some((text) => text.includes(API_KEY)), "an error or the log has the key");
  // A fault that hides rows can also hide those before the ones that were delivered.
  const isPart = isFirst || hasApplied(plan, "hidesRows") && isSubset(delivered, all);
  check(isPart, `${delivered.length} rows that are not the first ones of ${all.length}`);

  if (error !== undefined) {
    checkError(plan, output, check);
    violations.push(...checkCause(plan, service, output));
    check(!mustRecover(plan, service, error), `recoverable faults ended the run: ${error}`);
    if (isFirst) await checkResume(plan, service, output, check);
    return "error";
  }
  check(output.isClosed, "the document is not complete");
  const count = lastCountOf(plan, exchanges);
  const isComplete = isFirst && delivered.length === wanted;
  // A query that begins at a skip token, or that its limit ended, cannot be counted.
  const isCountable = plan.skipToken === undefined && delivered.length !== plan.limit;
  const difference = missingRows - surplusRows;
  if (missingRows + surplusRows > 0) {
    check(plan.incomplete === "warn", "another number of rows was accepted without the option");
    // A filter that was refused for its length is counted by the groups of its list.
    const isInGroups = count === undefined && isLong(plan);
    check(
      isInGroups || count !== undefined && count - delivered.length === difference,
      `a difference of ${difference} reported, ${delivered.length} of ${count} delivered`,
    );
    if (missingRows > 0) return "accepted loss";
  }
  if (isCountable && positionsOf(plan, exchanges).size > 1) {
    check(exchanges.some((exchange) => isCountOf(plan, exchange)), "several pages without a count");
  }
  if (isComplete) return "complete";
  const rows = `${delivered.length} rows instead of ${wanted}`;
  check(hasApplied(plan, "hidesRows"), `${rows}, but no fault hides rows`);
  if (isCountable && count !== undefined) {
    const isReported = count - delivered.length === difference;
    check(isReported, `${rows}, ${count} counted, ${difference} reported`);
  }
  return "undetectable loss";
}

/** Whether the query string has more bytes than a firewall accepts. */
function isLong({ filter = "" }: Plan): boolean {
  return encodeURIComponent(filter).length > 2_000;
}

type Check = (isRight: boolean, violation: string) => void;

/** Numbers of responses, which one of the faults adds to values. It can occur several times. */
const VERSION = /(?: ~\d+)+$/;

/** Encodes the selected fields of a row of the service, as they must be delivered. */
function encodeSent({ select, format }: Plan, row: WireRow): string {
  if (format === "csv" || format === "tsv") return encode(select.map((name) => toCell(row[name])));
  return encode(Object.fromEntries(select.map((name) => [name, row[name]])));
}

function toCell(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.join("; ");
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Encodes a row so that equal rows have equal texts. The text shows if a row has values of several responses. */
function encode(row: WireRow | string[]): string {
  const versions = new Set<string>();
  const members = Object.entries(row).filter(([, value]) => value !== undefined)
    .map(([name, value]) => {
      // One fault sends Ids as strings of digits.
      if (name === "Id" && /^\d+$/.test(String(value))) return [name, Number(value)];
      const version = typeof value === "string" ? VERSION.exec(value)?.[0] : undefined;
      if (version === undefined) return [name, value];
      versions.add(version);
      return [name, String(value).slice(0, -version.length)];
    }).sort(([a], [b]) => String(a) < String(b) ? -1 : 1);
  return JSON.stringify(versions.size > 1 ? [...members, "values of several responses"] : members);
}

/** Whether the delivered rows are the first ones of the result, or any of its rows if it was split. */
function isFirstRows(
  plan: Plan,
  service: FaultyService,
  delivered: readonly string[],
  all: readonly string[],
): boolean {
  if (isSplit(plan, service)) return isSubset(delivered, all);
  const first = all.slice(0, delivered.length);
  return hasApplied(plan, "breaksOrder")
    ? isSubset(delivered, first)
    : delivered.length === first.length && first.every((row, index) => row === delivered[index]);
}

/** Whether each text occurs in the second list at least as often as in the first one. */
function isSubset(some: readonly string[], all: readonly string[]): boolean {
  const counts = new Map<string, number>();
  for (const text of all) counts.set(text, (counts.get(text) ?? 0) + 1);
  return some.every((text) => {
    const count = counts.get(text) ?? 0;
    counts.set(text, count - 1);
    return count > 0;
  });
}

/** Whether the client may deliver the rows in shards, which changes their order. */
function isSplit(plan: Plan, { exchanges }: FaultyService): boolean {
  const filters = new Set(pagesOf(plan, exchanges).map(({ request }) => request.filter));
  return plan.within !== undefined || filters.size > 1;
}

function hasApplied({ faults }: Plan, effect: "hidesRows" | "breaksOrder"): boolean {
  return faults.some(({ kind, applied }) => kind[effect] && applied > 0);
}

/** Returns the exchanges for pages of the query, as opposed to counts and lists of locations. */
function pagesOf({ resource }: Plan, exchanges: readonly Exchange[]): Exchange[] {
  return exchanges.filter(({ request }) => !request.isCount && request.resource === resource);
}

/** Returns the positions of the pages that arrived completely. */
function positionsOf(plan: Plan, exchanges: readonly Exchange[]): Set<string> {
  const pages = pagesOf(plan, exchanges).filter(({ text }) => text !== undefined);
  return new Set(pages.map(({ request: { filter, position } }) => `${filter} ${position}`));
}

function isCountOf({ resource }: Plan, { request }: Exchange): boolean {
  return request.isCount && request.resource === resource;
}

/** Returns the last count of the unsplit query that the client received. */
function lastCountOf(plan: Plan, exchanges: readonly Exchange[]): number | undefined {
  const counts = exchanges.filter((exchange) => isCountOf(plan, exchange) && exchange.text)
    .map(({ text, request: { filter = "" } }) => ({
      filter,
      count: /^\{"value":(\d+)\}$/.exec(text!)?.[1],
    }));
  // The client adds a clause with the locations of a box. The filter of a shard has one more clause.
  const shortest = Math.min(...counts.map(({ filter }) => filter.length));
  const length = plan.within === undefined ? (plan.filter ?? "").length : shortest;
  const last = counts.findLast(({ filter, count }) => filter.length === length && count);
  return last && Number(last.count);
}

/** Maximum delay (s) of `Retry-After` for which the server waits before its response has rows. */
const MAX_RETRY_DELAY = 20;

/**
 * Whether the client must deliver the complete result despite the faults: each must be recoverable and occur once, and
 * each page must have fewer faults than attempts.
 */
function mustRecover(plan: Plan, { exchanges }: FaultyService, error: unknown): boolean {
  const { faults, tokens, matching, top, reader } = plan;
  // If the service ignores its own tokens, no second page can be requested.
  if (tokens === "ignored" && matching.length > top) return false;
  // The server answers 503 instead of waiting longer.
  const [, delay] = /"status":503,.*"try again after (\d+) s"/.exec(String(error)) ?? [];
  if (reader === "server" && Number(delay) > MAX_RETRY_DELAY) return false;
  const isWholePage = ["toArray", "rows", "pages"].includes(reader);
  const areRecoverable = faults.filter(({ applied }) => applied > 0).every(({ kind, applied }) => {
    const { isRecoverable = true, breaksOrder = false, respond } = kind;
    return (typeof isRecoverable === "function" ? isRecoverable(plan) : isRecoverable) &&
      (isWholePage || !breaksOrder) &&
      // With tokens of another form than `Id:<Id>`, no request can continue a page that broke.
      (tokens === "id" || respond !== undefined) &&
      (isLasting(kind) || applied === 1);
  });
  // Requests for the same page can differ in their size.
  const exchangesOfPage = Map.groupBy(
    exchanges,
    ({ request }) => JSON.stringify({ ...request, url: undefined, top: undefined }),
  );
  return areRecoverable && [...exchangesOfPage.values()].every((exchanges) => {
    const faults = exchanges.flatMap((exchange) => exchange.faults);
    // An outage may use all five attempts. After an empty page, the rest is requested only once more.
    if (faults.some(({ kind }) => isLasting(kind))) return new Set(faults).size === 1;
    return faults.length < 5 && faults.filter(({ kind }) => kind.hidesRows).length < 2;
  });
}

function isLasting({ isPermanent, duration }: FaultKind): boolean {
  return isPermanent === true || duration !== undefined;
}

/** Returns the texts that a user can see when a run fails. */
function textsOf({ error, log }: RunOutput): string[] {
  const texts = [...log];
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    texts.push(`${cause} ${JSON.stringify(cause)}`);
  }
  return texts;
}

function checkError({ reader }: Plan, { error, rows, status }: RunOutput, check: Check): void {
  if (reader === "server") {
    check(status !== undefined && status !== 500, `the server fails: ${status} ${error}`);
    return;
  }
  if (!(error instanceof DataStreamError)) {
    return check(false, `not a DataStreamError: ${error instanceof Error ? error.stack : error}`);
  }
  check(error.hint !== "" && !/\p{Cc}/u.test(error.message), `no line with a hint: ${error}`);
  const isCounted = reader === "toArray" || error.rows === rows.length;
  check(isCounted, `the error says ${error.rows} rows, ${rows.length} were delivered`);
}

/** Resumes at the skip token of an error, without faults, and compares the rows. */
async function checkResume(
  plan: Plan,
  service: FaultyService,
  { error, rows }: RunOutput,
  check: Check,
): Promise<void> {
  if (!(error instanceof DataStreamError) || plan.reader === "toArray") return;
  if (isSplit(plan, service) || rows.length === 0 || rows.length === plan.limit) return;
  const { skipToken } = error;
  if (skipToken === undefined) {
    // Without Ids, there is no position. Ids are not requested if the limit is at most one page.
    const hasIds = plan.faults.every(({ kind, applied }) =>
      kind.name !== "rows without Ids" || applied === 0
    );
    const isOnePage = plan.limit !== undefined && plan.limit <= plan.top;
    check(!hasIds || isOnePage, `no skipToken after ${rows.length} rows: ${error}`);
    return;
  }
  // Before the first link, the client assumes tokens of the documented form.
  if (plan.tokens !== "id") return;
  service.repair();
  await service.clock.sleep(60_000); // until then, no request is sent with a key that was rejected
  const limit = plan.limit && plan.limit - rows.length;
  const resumed: Plan = { ...plan, skipToken, limit, reader: "rows", format: undefined };
  const rest = await readOutput(resumed, service);
  const after = plan.matching.filter(({ Id }) => isAfter(Id, idOf(skipToken)));
  const before = plan.matching.length - after.length;
  // The Ids of Metadata are UUIDs, so the client cannot notice that a page is in another order.
  const isOrderKnown = plan.resource !== "Metadata" || !hasApplied(plan, "breaksOrder");
  check(
    before === rows.length || hasApplied(plan, "hidesRows") || !isOrderKnown,
    `${rows.length} rows were delivered, but ${before} precede ${skipToken}`,
  );
  const wanted = after.slice(0, limit).map((row) => encodeSent(resumed, row));
  check(
    rest.error === undefined && JSON.stringify(rest.rows.map(encode)) === JSON.stringify(wanted),
    `the query resumed at ${skipToken} after ${rows.length} rows: ${rest.error ?? "wrong rows"}`,
  );
}
