/**
 * Runs random queries against a service with random faults.
 *
 * Each run must end with the complete result, with an error that names the cause, or with missing
 * rows that the query accepts and the client reports. A seed determines the plan and the run.
 * Arguments after `--` are the number of plans and the first seed:
 *
 *     deno test -P=none tests/properties/fault_plans_test.ts -- 20000 5001
 *
 * Missing rows that no response shows are counted as "undetectable loss"; `consistency.ts` decides
 * this from the requests and responses. Such a loss requires one of these faults:
 *
 * - rows missing inside a page or a page from a later position, if the client does not count, or if
 *   one row is missing, which is within the tolerance of a count;
 * - a short page without a link, if the client does not count;
 * - an empty first page without a link, or an empty later page twice; a second, empty `value` member
 *   makes a page empty;
 * - a missing link on a full page followed by an empty page, if the client does not count;
 * - a count that is too low, together with one of these;
 * - rows without the requested Ids.
 *
 * Some faults are not drawn because no client could detect them: wrong values in a row, and wrong
 * rows after the position, such as those of another filter. A query by years that starts at a skip
 * token is compared only with the rows that have a date, because a count ignores the skip token.
 */
import { describePlan } from "./fault_plans/plan.ts";
import { type Ending, runSeed, type Verdict } from "./fault_plans/run_plan.ts";

const plans = Number(Deno.args[0] ?? 1_000);
const firstSeed = Number(Deno.args[1] ?? 1);
const ENDINGS: readonly Ending[] = [
  "complete",
  "error",
  "accepted loss",
  "undetectable loss",
  "violation",
];

/** Number of runs by their endings. */
type Totals = Record<Ending, number>;

Deno.test("Query gives its complete result or an error when the service has random faults", async () => {
  const totals = noTotals();
  const totalsOfKind = new Map<string, Totals>();
  const failures: string[] = [];
  const rejections: string[] = [];
  const onRejection = (event: PromiseRejectionEvent) => {
    event.preventDefault();
    rejections.push(`unhandled rejection: ${event.reason}`);
  };
  addEventListener("unhandledrejection", onRejection);
  try {
    for (let seed = firstSeed; seed < firstSeed + plans; seed++) {
      const run = await runSeed(seed);
      // Unhandled rejections are reported before the next task.
      await new Promise((resolve) => setTimeout(resolve));
      const violations = [...run.violations, ...rejections.splice(0)];
      const end = violations.length > 0 ? "violation" : run.end;
      totals[end]++;
      for (const kind of run.kinds) {
        const ofKind = totalsOfKind.get(kind) ?? noTotals();
        totalsOfKind.set(kind, ofKind);
        ofKind[end]++;
      }
      if (end === "violation") failures.push(describeFailure(seed, run, violations));
    }
  } finally {
    removeEventListener("unhandledrejection", onRejection);
  }
  print(totals, totalsOfKind);
  if (failures.length > 0) {
    throw new Error(`${failures.length} of ${plans} plans\n${failures.slice(0, 5).join("\n")}`);
  }
});

function noTotals(): Totals {
  return {
    complete: 0,
    error: 0,
    "accepted loss": 0,
    "undetectable loss": 0,
    violation: 0,
  };
}

function describeFailure(seed: number, { plan, message }: Verdict, violations: string[]): string {
  return [
    `seed ${seed} (to repeat it, pass: -- 1 ${seed}):`,
    ...violations.slice(0, 3).map((rule) => `  ${rule}`),
    `  error: ${message ?? "none"}`,
    `  ${describePlan(plan)}`,
  ].join("\n");
}

/** Prints the totals of all runs and of the runs with each kind of fault. */
function print(totals: Totals, totalsOfKind: ReadonlyMap<string, Totals>): void {
  const line = (name: string, counts: readonly unknown[]) =>
    console.log(name.padEnd(50) + counts.map((count) => String(count).padStart(19)).join(""));
  const numbers = (ofKind: Totals) => ENDINGS.map((end) => ofKind[end]);
  line(`first seed ${firstSeed}`, ENDINGS);
  line(`${plans} plans`, numbers(totals));
  for (const [kind, ofKind] of [...totalsOfKind].sort()) line(kind, numbers(ofKind));
}
