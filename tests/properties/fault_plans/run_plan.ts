import { type RowEncoder, rowEncoder } from "./encode_row.ts";
import { FaultyService } from "./faulty_service.ts";
import { whyUnjustified } from "./justified.ts";
import { drawPlan, type Plan, requestBound } from "./plan.ts";
import { Random } from "./random.ts";
import { type Outcome, readOutput } from "./read_output.ts";
import {
  checkAccepted,
  checkCounted,
  checkError,
  checkResume,
  checkRules,
  isExpectedError,
  isTransient,
  kindsOf,
} from "./rules.ts";
import { isFirstRows, isWhole } from "./whole.ts";

/**
 * How a run ended: with the whole result; with an error; with a loss that the plan accepts and that
 * was reported; with a loss that no answer showed; or against a rule.
 */
export type End = "whole" | "error" | "accepted" | "undetectable" | "wrong";

/** A run, judged. */
export interface Verdict {
  plan: Plan;
  end: End;
  /** Rules that were broken. */
  wrong: readonly string[];
  /** Kinds of faults that changed an answer. */
  kinds: readonly string[];
  /** Message of the error that ended it; undefined where none did. */
  message: string | undefined;
  requests: number;
}

/** Time (ms) after which a run is taken for one that never ends. */
const DEADLINE = 7 * 86_400_000;

/** Draws the plan of a seed, runs it and judges the run. */
export async function runSeed(seed: number): Promise<Verdict> {
  const random = new Random(seed);
  const plan = await drawPlan(seed, random);
  return await runPlan(plan, new FaultyService(plan, random));
}

/** Runs a plan on its service and judges the run. */
export async function runPlan(plan: Plan, service: FaultyService): Promise<Verdict> {
  const systemRandom = Math.random;
  // The client's jitter comes from the seed too.
  Math.random = () => service.random.next();
  const ended = new AbortController();
  try {
    const outcome = await Promise.race([
      readOutput(plan, service),
      service.clock.sleep(DEADLINE, ended.signal).then(() => undefined, () => undefined),
    ]);
    const wrong: string[] = [];
    const end = outcome === undefined ? "wrong" : await judge(plan, service, outcome, wrong);
    if (outcome === undefined) wrong.push("it never ends");
    return {
      plan,
      end: wrong.length > 0 ? "wrong" : end,
      wrong,
      kinds: kindsOf(service),
      message: outcome?.error === undefined ? undefined : String(outcome.error),
      requests: service.exchanges.length,
    };
  } finally {
    ended.abort();
    Math.random = systemRandom;
  }
}

/** Returns how a run ended, and adds the rules that it broke to `wrong`. */
async function judge(
  plan: Plan,
  service: FaultyService,
  outcome: Outcome,
  wrong: string[],
): Promise<End> {
  const encoder = rowEncoder(plan);
  const delivered = outcome.rows.map(encoder.delivered);
  checkRules(plan, service, outcome, wrong);
  if (service.exchanges.length > requestBound(plan)) {
    wrong.push(`${service.exchanges.length} requests`);
  }
  const requireExcuse = (isComplete: boolean) => {
    const why = whyNotExcused(plan, service, encoder, delivered, isComplete);
    if (why !== undefined) wrong.push(why);
  };

  if (outcome.error !== undefined) {
    checkError(plan, service, outcome, wrong);
    if (isTransient(plan, service) && !isExpectedError(plan, outcome.error)) {
      wrong.push(`faults that pass ended it: ${outcome.error}`);
    }
    if (isFirstRows(plan, service, encoder, delivered)) {
      await checkResume(plan, service, outcome, wrong);
    } else requireExcuse(false);
    return "error";
  }
  if (!outcome.isClosed) wrong.push("the document has no end");
  const missing = outcome.progress.at(-1)?.missingRows ?? 0;
  if (missing > 0) {
    checkAccepted(plan, service, delivered.length, missing, wrong);
    if (!isFirstRows(plan, service, encoder, delivered)) requireExcuse(false);
    return "accepted";
  }
  checkCounted(plan, service, wrong);
  if (isWhole(plan, service, encoder, delivered)) return "whole";
  requireExcuse(true);
  return "undetectable";
}

/**
 * Returns why delivered rows that differ from the truth are wrong. Returns undefined if they follow
 * from the answers, and a fault that hides rows took part: then no client could notice.
 */
function whyNotExcused(
  plan: Plan,
  { exchanges, faults }: FaultyService,
  encoder: RowEncoder,
  delivered: readonly string[],
  isComplete: boolean,
): string | undefined {
  const why = whyUnjustified(plan, exchanges, delivered, encoder, isComplete);
  const isHidden = faults.some(({ kind, applied }) => kind.hidesRows && applied > 0);
  if (why === undefined && isHidden) return undefined;
  return `${delivered.length} rows in place of ${plan.matching.length}: ` +
    (why ?? "they follow from the answers, yet no fault hides rows");
}
