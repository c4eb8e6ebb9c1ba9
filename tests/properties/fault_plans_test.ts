// Random queries to a service with random faults: each gives its complete result, an error, or
// missing rows that it accepts or cannot detect (fault_plans/rules.ts). `-- PLANS FIRST_SEED`
// sets the runs.
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

function print(totals: Totals, totalsOfKind: ReadonlyMap<string, Totals>): void {
  const line = (name: string, counts: readonly unknown[]) =>
    console.log(name.padEnd(50) + counts.map((count) => String(count).padStart(19)).join(""));
  const numbers = (ofKind: Totals) => ENDINGS.map((end) => ofKind[end]);
  line(`first seed ${firstSeed}`, ENDINGS);
  line(`${plans} plans`, numbers(totals));
  for (const [kind, ofKind] of [...totalsOfKind].sort()) line(kind, numbers(ofKind));
}
