/**
 * Runs random queries against a service with random faults.
 *
 * Each run must end with the complete result, with an error that names the cause, or with missing
 * rows that the query accepts and the client reports. A seed determines the plan and the run.
 * Arguments after `--` are the number of plans and the first seed:
 *
 *     deno test -P=none tests/properties/fault_plans_test.ts -- 20000 5001
 *
 * Skip tokens are of the form `Id:<Id>`, opaque, quoted, or quoted and ignored by the service, for the
 * whole run. Links are absolute or relative, and can have a fragment or an empty option. Limits are below and above
 * the result. Values can change between two attempts at a page: a row has the values of one response.
 *
 * A result of several responses is compared with its count, in both directions: exactly up to 100,000
 * rows, above with the documented inaccuracy. Missing rows that no response shows are counted as
 * "undetectable loss"; `consistency.ts` decides this from the requests and responses. Such a loss
 * requires one of these:
 *
 * - a result of one page that is not full: rows are missing inside the page, or it is short or empty;
 * - rows missing before the end of the query's own limit;
 * - a query that begins at a skip token, because counts ignore it;
 * - a count that is wrong or was refused, together with missing rows;
 * - rows without the requested Ids.
 *
 * Some faults are not drawn because no client could detect them: wrong values in a row, and wrong
 * rows after the position, such as those of another filter.
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
  return { complete: 0, error: 0, "accepted loss": 0, "undetectable loss": 0, violation: 0 };
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
