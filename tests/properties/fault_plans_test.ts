/**
 * Random fault plans: a random query, read in a random way, from a service that fails at random.
 *
 * Each run must end with the whole result, with an error that names what failed, or with a loss that
 * the query accepts and that is reported. `deno test --config tests/deno.json --no-prompt
 * tests/properties/fault_plans_test.ts -- 20000 5001` runs 20,000 plans from seed 5001 on; plan and
 * run follow from the seed alone.
 *
 * Losses that no answer shows are counted apart, as undetectable; `fault_plans/justified.ts` decides
 * from the requests and answers alone. They need one of these faults:
 *
 * - rows missing inside a page, or a page of a later position, where nothing is counted, or one row
 *   within the inaccuracy of the count;
 * - a short page without a link, where nothing is counted;
 * - an empty first page without a link; an empty later page, twice; a list of rows that comes a
 *   second time, and empty, counts as an empty page;
 * - a link lost on a full page, and an empty page after it, where nothing is counted;
 * - a count that is too low, with one of these;
 * - rows that come without the Ids that were requested.
 *
 * Not drawn at all, because no client could notice it: other values in a row, or other rows after
 * the position (as from another filter). A query by years that begins at a skip token is held
 * against the rows with a date alone: a count disregards the position.
 */
import { describePlan } from "./fault_plans/plan.ts";
import { type End, runSeed, type Verdict } from "./fault_plans/run_plan.ts";

const plans = Number(Deno.args[0] ?? 1_000);
const firstSeed = Number(Deno.args[1] ?? 1);
const ENDS: readonly End[] = ["whole", "error", "accepted", "undetectable", "wrong"];

/** How many runs ended in each way. */
type Totals = Record<End, number>;

Deno.test("a query gives its whole result or an error when the service fails at random", async () => {
  const totals = noTotals();
  const totalsOfKind = new Map<string, Totals>();
  const failures: string[] = [];
  const rejections: string[] = [];
  const onRejection = (event: PromiseRejectionEvent) => {
    event.preventDefault();
    rejections.push(`not handled: ${event.reason}`);
  };
  addEventListener("unhandledrejection", onRejection);
  try {
    for (let seed = firstSeed; seed < firstSeed + plans; seed++) {
      const run = await runSeed(seed);
      // A rejection that nothing handles is reported before the next task.
      await new Promise((resolve) => setTimeout(resolve));
      const wrong = [...run.wrong, ...rejections.splice(0)];
      const end = wrong.length > 0 ? "wrong" : run.end;
      totals[end]++;
      for (const kind of run.kinds) {
        const ofKind = totalsOfKind.get(kind) ?? noTotals();
        totalsOfKind.set(kind, ofKind);
        ofKind[end]++;
      }
      if (end === "wrong") failures.push(describeFailure(seed, run, wrong));
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
  return { whole: 0, error: 0, accepted: 0, undetectable: 0, wrong: 0 };
}

function describeFailure(seed: number, { plan, message }: Verdict, wrong: string[]): string {
  return [
    `seed ${seed} (repeat it with: -- 1 ${seed}):`,
    ...wrong.slice(0, 3).map((rule) => `  ${rule}`),
    `  ended with: ${message ?? "no error"}`,
    `  ${describePlan(plan)}`,
  ].join("\n");
}

/** Prints the totals, of all runs and by the kinds of faults that took part in them. */
function print(totals: Totals, totalsOfKind: ReadonlyMap<string, Totals>): void {
  const line = (name: string, counts: readonly unknown[]) =>
    console.log(name.padEnd(50) + counts.map((count) => String(count).padStart(13)).join(""));
  const numbers = (ofKind: Totals) => ENDS.map((end) => ofKind[end]);
  line(`plans from seed ${firstSeed} on`, ENDS);
  line(`${plans} plans`, numbers(totals));
  for (const [kind, ofKind] of [...totalsOfKind].sort()) line(kind, numbers(ofKind));
}
