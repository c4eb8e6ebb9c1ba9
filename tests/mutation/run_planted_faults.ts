/**
 * Patches known faults into a copy of the project one by one and fails unless a test detects each.
 *
 * `deno task test:faults [text]` runs the faults whose name contains the text.
 */
import { CLIENT_FAULTS } from "./client_faults.ts";
import { inCopies, withText } from "./copies.ts";
import { FORMAT_FAULTS } from "./format_faults.ts";
import { LOOP_FAULTS } from "./loop_faults.ts";
import type { PlantedFault } from "./planted_fault.ts";
import { PROGRAM_FAULTS } from "./program_faults.ts";

/** Number of copies of the project that are tested concurrently. */
const COPIES = 2;
/** Time limit (ms) of a test run. A test that hangs does not count as a detection. */
const TIMEOUT = 180_000;

interface TestResult {
  passed: boolean;
  /** Name of the first test that failed; `undefined` if no test failed. */
  failedTest: string | undefined;
  output: string;
}

/** Runs the tests of a fault in a copy, without a type check, which could hide the fault. */
async function runTests(folder: string, { test, only }: PlantedFault): Promise<TestResult> {
  const filter = only === undefined ? [] : ["--filter", only];
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["test", "-P", "--no-check", "--no-prompt", "--reporter=tap", ...filter, test],
    cwd: folder,
    signal: AbortSignal.timeout(TIMEOUT),
  }).output();
  const [report = "", errors = ""] = [stdout, stderr].map((bytes) =>
    new TextDecoder().decode(bytes)
  );
  const hasPassedTest = /^ok \d/m.test(report);
  const [, failedTest] = /^not ok \d+ - (.*)/m.exec(report) ?? [];
  return { passed: success && hasPassedTest, failedTest, output: report + errors };
}

/** Checks that each text occurs once and that the tests pass without a fault; returns problems. */
async function findProblems(faults: readonly PlantedFault[]): Promise<string[]> {
  const problems: string[] = [];
  for (const { name, file, find } of faults) {
    const count = (await Deno.readTextFile(file)).split(find).length - 1;
    if (count !== 1) problems.push(`${name}: the text must occur once in ${file}, found ${count}`);
  }
  if (problems.length > 0) return problems;
  const tests = new Map(faults.map((fault) => [`${fault.test} ${fault.only ?? ""}`, fault]));
  await inCopies(tests.values(), COPIES, async (fault, folder) => {
    const { passed, output } = await runTests(folder, fault);
    if (!passed) problems.push(`${fault.test} fails without a planted fault:\n${output}`);
  });
  return problems;
}

/** Runs the tests of a fault while it is patched into a copy. */
async function tryFault(fault: PlantedFault, folder: string): Promise<TestResult> {
  const change = (text: string) => text.replace(fault.find, () => fault.replacement);
  return await withText(`${folder}/${fault.file}`, change, () => runTests(folder, fault));
}

const searchText = Deno.args.join(" ");
const faults = [...CLIENT_FAULTS, ...LOOP_FAULTS, ...FORMAT_FAULTS, ...PROGRAM_FAULTS]
  .filter(({ name }) => name.includes(searchText));
const problems = await findProblems(faults);
if (faults.length === 0) problems.push(`No fault has "${searchText}" in its name`);
if (problems.length === 0) {
  const width = Math.max(...faults.map(({ name }) => name.length));
  const printRow = (name: string, test: string) => console.log(`${name.padEnd(width)} | ${test}`);
  printRow("fault", "detected by");
  await inCopies(faults, COPIES, async (fault, folder) => {
    const { failedTest, output } = await tryFault(fault, folder);
    printRow(fault.name, failedTest === undefined ? "nothing" : `${fault.test}: ${failedTest}`);
    if (failedTest === undefined) {
      problems.push(`${fault.name}: no test of ${fault.test} failed\n${output}`);
    }
  });
}
for (const problem of problems) console.error(`\n${problem}`);
console.log(`\n${faults.length - problems.length} of ${faults.length} faults are detected`);
if (problems.length > 0) Deno.exitCode = 1;
