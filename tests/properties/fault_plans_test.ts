// Random queries to a service with random faults, also of a firewall before it: each gives its complete result, an
// error that names no wrong cause (fault_plans/causes.ts), or missing rows that it accepts or cannot detect
// (fault_plans/oracle.ts). `-- PLANS FIRST_SEED` sets the runs.
import { describePlan } from "./fault_plans/plan.ts";
import { runSeed, type Verdict } from "./fault_plans/run_plan.ts";

const plans = Number(Deno.args[0] ?? 1_000);
const firstSeed = Number(Deno.args[1] ?? 1);

Deno.test("Query gives its complete result or an error when the service has random faults", async () => {
  const endings: string[] = [];
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
      endings.push(run.end);
      if (violations.length > 0) failures.push(describeFailure(seed, run, violations));
    }
  } finally {
    removeEventListener("unhandledrejection", onRejection);
  }
  const groups = Map.groupBy(endings, (end) => end);
  console.log([...groups].map(([end, { length }]) => `${end}: ${length}`).join(", "));
  if (failures.length > 0) {
    throw new Error(`${failures.length} of ${plans} plans\n${failures.slice(0, 5).join("\n")}`);
  }
});

function describeFailure(seed: number, { plan, error }: Verdict, violations: string[]): string {
  return [
    `seed ${seed} (to repeat it, pass: -- 1 ${seed}):`,
    ...violations.slice(0, 3).map((rule) => `  ${rule}`),
    `  error: ${error ?? "none"}`,
    `  ${describePlan(plan)}`,
  ].join("\n");
}
