// The rules of a run besides its rows: requests, key, errors, counts.
import { DataStreamError } from "../../../mod.ts";
import { rowEncoder } from "./encode_row.ts";
import type { FaultyService } from "./faulty_service.ts";
import { countOf, partsOf, toleranceOf } from "./justified.ts";
import { isAfter, type Plan } from "./plan.ts";
import { type Outcome, readOutput } from "./read_output.ts";
import { API_KEY } from "./truth.ts";
import { areEqual, isSplit } from "./whole.ts";

/** Names of the kinds of faults that changed an answer. */
export function kindsOf({ faults }: FaultyService): string[] {
  const applied = faults.filter(({ applied }) => applied > 0);
  return [...new Set(applied.map(({ kind }) => kind.name))];
}

/**
 * Whether the whole result must come despite the faults: each is of a kind that passes and occurred
 * once, and those of one page are fewer than the attempts at it.
 */
export function isTransient(plan: Plan, { faults, exchanges }: FaultyService): boolean {
  const passes = faults.filter(({ applied }) => applied > 0).every(({ kind, applied }) =>
    kind.passes && (kind.passesFor?.(plan) ?? true) &&
    (kind.always || kind.duration !== undefined || applied === 1)
  );
  const faultsOfPage = new Map<string, typeof faults[number][]>();
  for (const { asked: { resource, filter, position, isCount }, faults } of exchanges) {
    const page = JSON.stringify([resource, filter, position, isCount]);
    faultsOfPage.set(page, [...faultsOfPage.get(page) ?? [], ...faults]);
  }
  return passes && [...faultsOfPage.values()].every((faults) => {
    const lasts = faults.some(({ kind }) => kind.always || kind.duration !== undefined);
    // An outage takes five attempts. An empty page is requested once more.
    if (lasts) return new Set(faults).size === 1;
    return faults.length < 5 && faults.filter(({ kind }) => kind.hidesRows).length < 2;
  });
}

/** Whether an error is right without any fault: rows without a date, or more rows than allowed. */
export function isExpectedError(plan: Plan, error: unknown): boolean {
  const { partition, matching, dated, counted, maxRows, limit = Infinity } = plan;
  if (maxRows !== undefined && Math.min(limit, counted) > maxRows) return true;
  return partition === "year" && error instanceof DataStreamError &&
    error.kind === "incomplete" && error.message.includes("location") &&
    matching.length - dated.length > toleranceOf(matching.length) && limit > dated.length;
}

/** Checks the requests, and that the key is nowhere but in their header. */
export function checkRules(
  plan: Plan,
  { violations, isBusy }: FaultyService,
  { error, problem, log, progress, rows }: Outcome,
  wrong: string[],
): void {
  wrong.push(...violations);
  if (isBusy) wrong.push("a request is still open at the end");
  const causes: unknown[] = [];
  for (let cause = error; cause instanceof Error; cause = cause.cause) causes.push(cause);
  const texts = [
    ...causes.map((cause) => `${cause} ${JSON.stringify(cause)}`),
    problem,
    ...log,
    ...progress.map(({ retrying }) => String(retrying?.fault)),
    JSON.stringify(rows),
  ];
  if (texts.some((text) => text.includes(API_KEY))) wrong.push("the key is shown");
  if (!plan.output.startsWith("edge-")) return;
  if (log.some((line) => /[\r\n]/.test(line))) wrong.push("a line of the log is several lines");
}

/** Checks what an error says, or how a download of the edge function ended. */
export function checkError(
  plan: Plan,
  service: FaultyService,
  { error, rows, log, status }: Outcome,
  wrong: string[],
): void {
  if (plan.output.startsWith("edge-")) {
    if (status === undefined) wrong.push(`no answer of the edge function: ${error}`);
    // What the caller can change (4xx) is not logged.
    const isCallers = status !== undefined && status >= 400 && status < 500;
    if (log.length === 0 && !isCallers) wrong.push("nothing in the log");
    return;
  }
  if (!(error instanceof DataStreamError)) {
    wrong.push(`no DataStreamError: ${error instanceof Error ? error.stack : error}`);
    return;
  }
  const { message, hint } = error;
  if (!/Records|Observations|Locations|Metadata|link|location|response from|Field/.test(message)) {
    wrong.push(`the message does not name what failed: ${message}`);
  }
  if (/\p{Cc}/u.test(message)) wrong.push(`the message is not one line: ${message}`);
  if (!hint) wrong.push(`no hint: ${message}`);
  if (plan.output === "toArray") return;
  if (error.rows !== rows.length) {
    wrong.push(`the error says ${error.rows} rows, ${rows.length} were delivered`);
  }
  if (rows.length > 0 && !isSplit(plan, service) && error.skipToken === undefined) {
    wrong.push(`no skipToken after ${rows.length} rows: ${message}`);
  }
}

/** Continues after an error where the error says, without faults, and compares the rows. */
export async function checkResume(
  plan: Plan,
  service: FaultyService,
  { error, rows }: Outcome,
  wrong: string[],
): Promise<void> {
  if (!(error instanceof DataStreamError) || error.skipToken === undefined) return;
  const limit = plan.limit === undefined ? undefined : plan.limit - rows.length;
  if (plan.output === "toArray" || isSplit(plan, service) || limit === 0) return;
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
    wrong.push(`resuming fails: ${rest.error}`);
    return;
  }
  const encoder = rowEncoder({ ...plan, output: "toArray" });
  const after = plan.matching.filter(({ Id }) => isAfter(Id, skipToken.slice("Id:".length)));
  const before = plan.matching.length - after.length;
  const isHidden = faults.some(({ kind, applied }) => kind.hidesRows && applied > 0);
  if (before !== rows.length && !isHidden) {
    wrong.push(`${rows.length} rows were delivered, ${before} are before ${skipToken}`);
  }
  const wanted = after.slice(0, limit).map(encoder.sent);
  if (!areEqual(rest.rows.map(encoder.delivered), wanted)) {
    wrong.push(`resuming at ${skipToken} after ${rows.length} rows gives other rows`);
  }
}

/** Checks that a loss was accepted as the plan says, and that its number is right. */
export function checkAccepted(
  plan: Plan,
  { exchanges }: FaultyService,
  delivered: number,
  missing: number,
  wrong: string[],
): void {
  if (plan.incomplete !== "warn") wrong.push("missing rows were accepted without being asked");
  const count = countOf(plan, exchanges);
  if (count === undefined || count - delivered !== missing) {
    wrong.push(`${missing} missing rows reported, ${delivered} of ${count} delivered`);
  }
}

/**
 * Checks that a result of several pages of a large resource was counted, as the documents say.
 * Years that the filter names hold all its rows, and a query that is split because the service
 * refuses the whole one is not counted.
 */
export function checkCounted(plan: Plan, { exchanges }: FaultyService, wrong: string[]): void {
  const { resource, partition, limit, skipToken, filter } = plan;
  if (resource !== "Records" && resource !== "Observations") return;
  if (limit !== undefined || skipToken !== undefined) return;
  if (partition === "never" || partition === "location") return;
  if (partition === "year" && filter?.includes("ActivityStartYear")) return;
  const [first] = partsOf(plan, exchanges);
  // An empty page after a full one without a link shows that one page is the whole result.
  const pages = first?.pages.filter(({ rows }) => rows.length > 0) ?? [];
  const positions = new Set(pages.map(({ position }) => position));
  if (positions.size > 1 && !exchanges.some(({ asked }) => asked.isCount)) {
    wrong.push("several pages and no count");
  }
}
