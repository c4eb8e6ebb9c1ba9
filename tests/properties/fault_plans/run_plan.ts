import { rowEncoder } from "./encode_row.ts";
import { FaultyService } from "./faulty_service.ts";
import { drawPlan, type Plan, requestBound } from "./plan.ts";
import { Random, useRandom } from "../random.ts";
import { readOutput, type RunOutput } from "./read_output.ts";
import {
  checkAccepted,
  checkCounted,
  checkError,
  checkResume,
  checkRules,
  findUnexplainedLoss,
  isExpectedError,
  mustRecover,
} from "./rules.ts";
import { isCompleteResult, isFirstRows } from "./row_comparison.ts";

/**
 * Result of a run: the complete result, an error, missing rows that the plan accepts and the client
 * reported, missing rows that no response showed, or the violation of a rule.
 */
export type Ending = "complete" | "error" | "accepted loss" | "undetectable loss" | "violation";

/** Evaluation of a run. */
export interface Verdict {
  plan: Plan;
  end: Ending;
  /** Descriptions of violated rules. */
  violations: readonly string[];
  message: string | undefined;
}

/** Time limit (ms) of a run, on the fake clock. */
const DEADLINE = 7 * 86_400_000;

/** Draws the plan of a seed, runs it and evaluates the run. */
export async function runSeed(seed: number): Promise<Verdict> {
  const random = new Random(seed);
  const plan = await drawPlan(seed, random);
  return await runPlan(plan, new FaultyService(plan, random));
}

export async function runPlan(plan: Plan, service: FaultyService): Promise<Verdict> {
  // Makes the client's jitter depend on the seed.
  using _ = useRandom(() => service.random.next());
  const ended = new AbortController();
  try {
    const outcome = await Promise.race([
      readOutput(plan, service),
      service.clock.sleep(DEADLINE, ended.signal).then(() => undefined, () => undefined),
    ]);
    const violations: string[] = [];
    const end = outcome === undefined
      ? "violation"
      : await evaluate(plan, service, outcome, violations);
    if (outcome === undefined) violations.push("the run does not end");
    return {
      plan,
      end: violations.length > 0 ? "violation" : end,
      violations,
      message: outcome?.error === undefined ? undefined : String(outcome.error),
    };
  } finally {
    ended.abort();
  }
}

/** Returns how a run ended and adds violated rules to `violations`. */
async function evaluate(
  plan: Plan,
  service: FaultyService,
  outcome: RunOutput,
  violations: string[],
): Promise<Ending> {
  const encoder = rowEncoder(plan);
  const delivered = outcome.rows.map(encoder.delivered);
  checkRules(plan, service, outcome, violations);
  if (service.exchanges.length > requestBound(plan)) {
    violations.push(`too many requests: ${service.exchanges.length}`);
  }
  const checkLoss = (isComplete: boolean) => {
    const problem = findUnexplainedLoss(plan, service, encoder, delivered, isComplete);
    if (problem !== undefined) violations.push(problem);
  };

  if (outcome.error !== undefined) {
    checkError(plan, service, outcome, violations);
    if (mustRecover(plan, service) && !isExpectedError(plan, outcome.error)) {
      violations.push(`recoverable faults ended the run: ${outcome.error}`);
    }
    if (isFirstRows(plan, service, encoder, delivered)) {
      await checkResume(plan, service, outcome, violations);
    } else checkLoss(false);
    return "error";
  }
  if (!outcome.isClosed) violations.push("the output is not complete");
  const missing = outcome.progress.at(-1)?.missingRows ?? 0;
  if (missing > 0) {
    checkAccepted(plan, service, delivered.length, missing, violations);
    if (!isFirstRows(plan, service, encoder, delivered)) checkLoss(false);
    return "accepted loss";
  }
  checkCounted(plan, service, delivered.length, violations);
  if (isCompleteResult(plan, service, encoder, delivered)) return "complete";
  checkLoss(true);
  return "undetectable loss";
}
