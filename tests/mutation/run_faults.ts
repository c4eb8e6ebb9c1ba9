// Patches one deliberate fault after another into a copy of the project, and demands that a test
// fails: `deno task test:faults`, with words of a fault's name after it for those that have them.
import { inCopies, withText } from "./copies.ts";
import type { Fault } from "./fault.ts";
import { FAULTS } from "./list.ts";

/** Number of copies of the project that are tested at the same time. */
const COPIES = 2;
/** A test that hangs catches nothing. */
const LONGEST = 60_000;

/** What a run of tests came to. */
interface Outcome {
  passed: boolean;
  /** The name of the first test that failed; undefined where none ran to its end. */
  failed: string | undefined;
  output: string;
}

/** Runs the tests that a fault names, in a copy. Types are not checked: a fault is to be run. */
async function runTests(folder: string, { test, only }: Fault): Promise<Outcome> {
  const filter = only === undefined ? [] : ["--filter", only];
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["test", "-P", "--no-check", "--no-prompt", "--reporter=tap", ...filter, test],
    cwd: folder,
    signal: AbortSignal.timeout(LONGEST),
  }).output();
  const [report = "", faults = ""] = [stdout, stderr].map((bytes) =>
    new TextDecoder().decode(bytes)
  );
  const ran = /^ok \d/m.test(report);
  const [, failed] = /^not ok \d+ - (.*)/m.exec(report) ?? [];
  return { passed: success && ran, failed, output: report + faults };
}

/** What is wrong with the list itself, or with the unchanged project. */
async function wrongBefore(faults: readonly Fault[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const { name, file, find } of faults) {
    const times = (await Deno.readTextFile(file)).split(find).length - 1;
    if (times !== 1) wrong.push(`${name}: its text stands in ${file} ${times} times, wanted once`);
  }
  if (wrong.length > 0) return wrong;
  const tests = new Map(faults.map((fault) => [`${fault.test} ${fault.only ?? ""}`, fault]));
  await inCopies(tests.values(), COPIES, async (fault, folder) => {
    const { passed, output } = await runTests(folder, fault);
    if (!passed) wrong.push(`${fault.test} does not pass without a fault:\n${output}`);
  });
  return wrong;
}

/** Patches a fault in, runs its tests, and takes it out. */
async function tryFault(fault: Fault, folder: string): Promise<Outcome> {
  const change = (text: string) => text.replace(fault.find, () => fault.replacement);
  return await withText(`${folder}/${fault.file}`, change, () => runTests(folder, fault));
}

const words = Deno.args.join(" ");
const faults = FAULTS.filter(({ name }) => name.includes(words));
const wrong = await wrongBefore(faults);
if (faults.length === 0) wrong.push(`No fault has "${words}" in its name`);
if (wrong.length === 0) {
  const width = Math.max(...faults.map(({ name }) => name.length));
  const show = (fault: string, by: string) => console.log(`${fault.padEnd(width)} | ${by}`);
  show("fault", "caught by");
  await inCopies(faults, COPIES, async (fault, folder) => {
    const { failed, output } = await tryFault(fault, folder);
    show(fault.name, failed === undefined ? "nothing" : `${fault.test}: ${failed}`);
    if (failed === undefined) {
      wrong.push(`${fault.name}: no test of ${fault.test} failed\n${output}`);
    }
  });
}
for (const line of wrong) console.error(`\n${line}`);
console.log(`\n${faults.length - wrong.length} of ${faults.length} faults are caught`);
if (wrong.length > 0) Deno.exitCode = 1;
