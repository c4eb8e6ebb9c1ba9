// Rules for the requests, errors and counts of a run.
import { DataStreamError } from "../../../mod.ts";
import { type RowEncoder, rowEncoder } from "./encode_row.ts";
import type { FaultKind } from "./fault_kind.ts";
import type { Exchange, FaultyService } from "./faulty_service.ts";
import { idOf, isAfter, type Plan } from "./plan.ts";
import { readOutput, type RunOutput } from "./read_output.ts";
import { API_KEY } from "./reference_rows.ts";
import { areEqual, areSomeRows, isShuffled, isSplit, pagesOf } from "./row_comparison.ts";

/** Returns the names of the faults that changed a response. */
export function kindsOf({ faults }: FaultyService): string[] {
  const applied = faults.filter(({ applied }) => applied > 0);
  return [...new Set(applied.map(({ kind }) => kind.name))];
}

/**
 * Whether the client must deliver the complete result despite the faults.
 *
 * Each fault must be recoverable and occur once, and each page must have fewer faults than attempts. With skip tokens of
 * another form than `Id:<Id>`, no request can continue a page that broke or has no link. If the service ignores its
 * own tokens, the first page can be followed by no other one.
 */
export function mustRecover(plan: Plan, { faults, exchanges }: FaultyService): boolean {
  const isWholePage = ["toArray", "loop", "rows", "pages"].includes(plan.output);
  const recovers = ({ isRecoverable = true, breaksOrder = false }: FaultKind) =>
    (typeof isRecoverable === "function" ? isRecoverable(plan) : isRecoverable) &&
    (isWholePage || !breaksOrder);
  const isRecoverable = faults.filter(({ applied }) => applied > 0).every(({ kind, applied }) =>
    recovers(kind) && (plan.tokens === "id" || kind.respond !== undefined) &&
    (kind.isPermanent || kind.duration !== undefined || applied === 1)
  );
  if (plan.tokens === "ignored" && plan.matching.length > plan.top) return false;
  const faultsOfPage = new Map<string, typeof faults[number][]>();
  for (const { request: { resource, filter, position, isCount }, faults } of exchanges) {
    const page = JSON.stringify([resource, filter, position, isCount]);
    faultsOfPage.set(page, [...faultsOfPage.get(page) ?? [], ...faults]);
  }
  return isRecoverable && [...faultsOfPage.values()].every((faults) => {
    const lasts = faults.some(({ kind }) => kind.isPermanent || kind.duration !== undefined);
    // An outage uses up to five attempts. An empty page is requested one more time.
    if (lasts) return new Set(faults).size === 1;
    return faults.length < 5 && faults.filter(({ kind }) => kind.hidesRows).length < 2;
  });
}

/** Maximum delay (s) of `Retry-After` for which the server waits before its response has rows. */
const MAX_RETRY_DELAY = 20;

/**
 * Whether a query fails although all faults are recoverable: there are more rows than `maxRows`, or the service asks
 * the server for a longer delay than clients have to wait for the first row.
 */
export function isExpectedError(plan: Plan, error: unknown): boolean {
  const { output, counted, maxRows, limit = Infinity } = plan;
  if (maxRows !== undefined && Math.min(limit, counted) > maxRows) return true;
  const [, delay] = /"status":503,.*"try again after (\d+) s"/.exec(String(error)) ?? [];
  return output.startsWith("edge-") && Number(delay) > MAX_RETRY_DELAY;
}

export function checkRules(
  plan: Plan,
  { violations: requestViolations, isBusy }: FaultyService,
  { error, problem, log, progress, rows }: RunOutput,
  violations: string[],
): void {
  violations.push(...requestViolations);
  if (isBusy) violations.push("a request is still open after the end");
  const causes: unknown[] = [];
  for (let cause = error; cause instanceof Error; cause = cause.cause) causes.push(cause);
  const texts = [
    ...causes.map((cause) => `${cause} ${JSON.stringify(cause)}`),
    problem,
    ...log,
    ...progress.map(({ retrying }) => String(retrying?.fault)),
    JSON.stringify(rows),
  ];
  if (texts.some((text) => text.includes(API_KEY))) {
    violations.push("the output, log or error shows the key");
  }
  if (!plan.output.startsWith("edge-")) return;
  if (log.some((line) => /[\r\n]/.test(line))) violations.push("a log entry has several lines");
}

export function checkError(
  plan: Plan,
  service: FaultyService,
  { error, rows, log, status }: RunOutput,
  violations: string[],
): void {
  if (plan.output.startsWith("edge-")) {
    if (status === undefined) violations.push(`no response from the server: ${error}`);
    // Errors of the client (4xx) and refusals because of the rate limit are not logged.
    const isClientError = status !== undefined && status >= 400 && status < 500;
    const isRefusal = status === 503 && String(error).includes("The rate limit of DataStream");
    if (log.length === 0 && !isClientError && !isRefusal) {
      violations.push("the error is not logged");
    }
    return;
  }
  if (!(error instanceof DataStreamError)) {
    violations.push(`not a DataStreamError: ${error instanceof Error ? error.stack : error}`);
    return;
  }
  const { message, hint } = error;
  if (!/Records|Observations|Locations|Metadata|link|location|response from|Field/.test(message)) {
    violations.push(`the message does not name the resource or cause: ${message}`);
  }
  if (/\p{Cc}/u.test(message)) violations.push(`the message has control characters: ${message}`);
  if (!hint) violations.push(`no hint: ${message}`);
  if (plan.output === "toArray") return;
  if (error.rows !== rows.length) {
    violations.push(`the error says ${error.rows} rows, ${rows.length} were delivered`);
  }
  // Rows without Ids have no position. Ids are not requested if one page can be the whole result.
  const isOnePage = plan.limit !== undefined && plan.limit <= plan.top;
  const hasPosition = !kindsOf(service).includes("rows without Ids") && !isOnePage;
  if (rows.length > 0 && hasPosition && !isSplit(plan, service) && error.skipToken === undefined) {
    violations.push(`no skipToken after ${rows.length} rows: ${message}`);
  }
}

/** Resumes at the skip token of an error, without faults, and compares the rows. */
export async function checkResume(
  plan: Plan,
  service: FaultyService,
  { error, rows }: RunOutput,
  violations: string[],
): Promise<void> {
  if (!(error instanceof DataStreamError) || error.skipToken === undefined) return;
  const limit = plan.limit === undefined ? undefined : plan.limit - rows.length;
  if (plan.output === "toArray" || isSplit(plan, service) || limit === 0) return;
  // Before the first link, the client assumes tokens of the documented form.
  if (plan.tokens !== "id") return;
  const { exchanges, faults } = service;
  const requests = exchanges.length;
  service.repair();
  const { skipToken } = error;
  const rest = await readOutput(
    { ...plan, skipToken, limit, output: "toArray", maxRows: undefined },
    service,
  );
  exchanges.length = requests;
  if (rest.error !== undefined) {
    violations.push(`the resumed query fails: ${rest.error}`);
    return;
  }
  const encoder = rowEncoder({ ...plan, output: "toArray" });
  const after = plan.matching.filter(({ Id }) => isAfter(Id, idOf(skipToken)));
  const before = plan.matching.length - after.length;
  const isHidden = faults.some(({ kind, applied }) => kind.hidesRows && applied > 0);
  // UUIDs do not show that their page is in another order.
  const isKnown = plan.resource !== "Metadata" || !isShuffled(service);
  if (before !== rows.length && !isHidden && isKnown) {
    violations.push(`${rows.length} rows were delivered, but ${before} precede ${skipToken}`);
  }
  const wanted = after.slice(0, limit).map(encoder.sent);
  if (!areEqual(rest.rows.map(encoder.delivered), wanted)) {
    violations.push(`the query resumed at ${skipToken} after ${rows.length} rows gives wrong rows`);
  }
}

/** Checks that the plan accepts missing rows and that their reported number is correct. */
export function checkAccepted(
  plan: Plan,
  { exchanges }: FaultyService,
  delivered: number,
  missing: number,
  violations: string[],
): void {
  if (plan.incomplete !== "warn") violations.push("missing rows were accepted without the option");
  const count = lastCountOf(plan, exchanges);
  if (count === undefined || count - delivered !== missing) {
    violations.push(`${missing} missing rows reported, ${delivered} of ${count} delivered`);
  }
}

/** Checks that the client counted the rows of a result of several pages. */
export function checkCounted(
  plan: Plan,
  { exchanges }: FaultyService,
  delivered: number,
  violations: string[],
): void {
  if (!isCountable(plan, delivered)) return;
  const positions = new Set(
    pagesOf(plan, exchanges).filter(({ text }) => text !== undefined)
      .map(({ request: { filter, position } }) => `${filter} ${position}`),
  );
  const isCounted = exchanges.some(({ request: { resource, isCount } }) =>
    isCount && resource === plan.resource
  );
  if (positions.size > 1 && !isCounted) violations.push("several pages without a count");
}

/**
 * Describes why an incomplete result is an error of the client. Returns `undefined` if a fault hid rows, the rest
 * is a part of the result, and no count applies or shows the loss: then no client could detect it.
 */
export function findUnexplainedLoss(
  plan: Plan,
  service: FaultyService,
  encoder: RowEncoder,
  delivered: readonly string[],
  isComplete: boolean,
): string | undefined {
  const rows = `${delivered.length} rows instead of ${plan.matching.length}`;
  const isHidden = service.faults.some(({ kind, applied }) => kind.hidesRows && applied > 0);
  if (!isHidden) return `${rows}, but no fault hides rows`;
  const count = lastCountOf(plan, service.exchanges);
  if (isComplete && isCountable(plan, delivered.length) && count !== undefined) {
    const missing = count - delivered.length;
    // With `incomplete: "warn"`, a count that is too low is accepted, and then does not show that rows are missing.
    const isAccepted = plan.incomplete === "warn" && missing < 0;
    if (Math.abs(missing) > toleranceOf(count) && !isAccepted) return `${rows}, ${count} counted`;
  }
  if (!areSomeRows(plan, service, encoder, delivered)) return `${rows}, and not rows of the result`;
}

/** Maximum difference between the rows of a result and a count: 0.0005 % of counts above 100,000, which are estimates. */
function toleranceOf(count: number): number {
  return count > 100_000 ? Math.ceil(count * 0.000_005) : 0;
}

/** Whether a count applies to a result: the query does not begin at a skip token, and its limit did not end it. */
function isCountable({ limit, skipToken }: Plan, rows: number): boolean {
  return skipToken === undefined && rows !== limit;
}

/** Returns the last count of the unsplit query that the client received. */
function lastCountOf(
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
  const members = /^\{"(?:value|@odata\.count|odata\.count)":"?(\d+)"?\}$/.exec(text ?? "");
  return members === null ? undefined : Number(members[1]);
}
