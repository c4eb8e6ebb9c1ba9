import { FaultyService } from "./faulty_service.ts";
import { type Ending, evaluate } from "./oracle.ts";
import { drawPlan, type Plan } from "./plan.ts";
import { Random, useRandom } from "../random.ts";
import { readOutput } from "./read_output.ts";

/** Evaluation of a run. */
export interface Verdict {
  plan: Plan;
  end: Ending;
  /** Descriptions of violated rules. */
  violations: readonly string[];
  error: unknown;
}

/** Time limit (ms) of a run, on the fake clock. */
const DEADLINE = 7 * 86_400_000;

/** Draws the plan of a seed, runs it and evaluates the run. */
export async function runSeed(seed: number): Promise<Verdict> {
  const random = new Random(seed);
  const plan = await drawPlan(seed, random);
  const service = new FaultyService(plan, random);
  // Makes the client's jitter depend on the seed.
  using _ = useRandom(() => random.next());
  const ended = new AbortController();
  try {
    const output = await Promise.race([
      readOutput(plan, service),
      service.clock.sleep(DEADLINE, ended.signal).then(() => undefined, () => undefined),
    ]);
    const violations: string[] = [];
    if (output === undefined) violations.push("the run does not end");
    const end = output && await evaluate(plan, service, output, violations);
    return {
      plan,
      end: violations.length > 0 || end === undefined ? "violation" : end,
      violations,
      error: output?.error,
    };
  } finally {
    ended.abort();
  }
}
