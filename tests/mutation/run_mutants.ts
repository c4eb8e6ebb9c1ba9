/**
 * Measures how many small changes of the code the gate notices.
 *
 *     deno task test:mutation [count] [seed] [path prefixes...]
 *     deno task test:mutation 150 7 src/client edge/page
 *     deno task test:mutation 300 7 src/odata --near
 *
 * Takes a random sample (default: 150 mutants, a seed of the moment) of all mutants of `src/` and
 * `edge/` (see `mutants.ts`), or of the files below the given prefixes. Each mutant is written into
 * a temporary copy of the project, and then run until one of these notices it:
 *
 * 1. `deno task check`;
 * 2. the gate's tests that import the changed file, directly or through others, those in the folder
 *    of the same name first;
 * 3. the gate's other tests, and the examples in the docs.
 *
 * With `--near`, only the type check and the tests in the folder of the same name are run. That is
 * faster, and finds code that only distant tests cover.
 *
 * Prints a line per mutant: file and line, the change, and what noticed it: `type check`, `tests:`
 * with the name of the first test that failed, `timeout` where a run hung, or `survived`. The totals
 * follow per folder, and the changed lines of each survivor. Some survivors change nothing that can
 * be observed; a person has to decide which.
 *
 * The unchanged project must pass first; the exit code is 1 if it does not, and 0 otherwise. 150
 * mutants take about half an hour on four cores.
 */
import deno from "../../deno.json" with { type: "json" };
import { sourceFiles } from "../helpers/tree.ts";
import { inCopies, removeCopies, withText } from "./copies.ts";
import { findImporters, findTestCommands, type TestCommand, testsThatReach } from "./gate.ts";
import { applyMutant, findMutants, type Mutant } from "./mutants.ts";
import { randomSample } from "./random_sample.ts";
import { type CommandResult, killAll, runDeno } from "./run_command.ts";

const DEFAULT_COUNT = 150;
const MUTATED = ["mod.ts", "src", "edge"];
const COPIES = Math.max(1, Math.min(4, navigator.hardwareConcurrency));

interface Outcome {
  mutant: Mutant;
  result: "type check" | "tests" | "timeout" | "survived";
  /** Name of the test that failed. */
  test?: string;
}

/** A run of `deno` that must succeed, and what it is called in the report. */
interface Stage {
  result: "type check" | "tests";
  args: readonly string[];
}

const TYPE_CHECK: Stage = { result: "type check", args: ["task", "check"] };

function toStage(
  { flags }: TestCommand,
  paths: readonly string[],
  ...others: readonly string[]
): Stage[] {
  if (paths.length === 0) return [];
  const options = ["--no-check", "--fail-fast", "--reporter=tap", ...others];
  // A mutant that never stops taking memory fails by this limit.
  const limit = "--v8-flags=--max-old-space-size=1500";
  return [{ result: "tests", args: ["test", limit, ...flags, ...options, ...paths] }];
}

/** The stages for a mutated file, those that may fail soon first. */
function stagesFor(
  file: string,
  commands: readonly TestCommand[],
  importers: ReadonlyMap<string, readonly string[]>,
  isNear: boolean,
): Stage[] {
  const near = testsThatReach(file, importers);
  // `deno test` sorts the files that it is given, so that those to run first need a run of their own.
  const { own = [], others = [] } = Object.groupBy(
    near,
    (test) => folderName(test) === folderName(file) ? "own" : "others",
  );
  const stagesOf = (tests: readonly string[]) =>
    commands.flatMap((command) =>
      toStage(command, tests.filter((test) => command.tests.includes(test)))
    );
  if (isNear) return [TYPE_CHECK, ...stagesOf(own)];
  return [
    TYPE_CHECK,
    ...stagesOf(own),
    ...stagesOf(others),
    ...commands.flatMap((command) => [
      ...toStage(command, command.tests.filter((test) => !near.includes(test))),
      ...toStage(command, command.examples, "--doc"),
    ]),
  ];
}

/** Name of the folder that a file is in. */
function folderName(path: string): string {
  return path.split("/").at(-2) ?? "";
}

/** The name of the first test that failed; undefined where no test could be run. */
function failedTest({ output }: CommandResult): string | undefined {
  return /^\s*not ok \d+ - (.*)/m.exec(output)?.[1];
}

/** The name of the first test that failed, or the error where no test could be run. */
function whyFailed(run: CommandResult): string {
  return failedTest(run) ?? /^(?:error: )?.*Error.*$/m.exec(run.output)?.[0].trim() ??
    "(no test was run)";
}

/** Maximum number of times that tests are run when the test that fails passes by itself. */
const MAX_RUNS = 3;

/**
 * Runs tests until they pass, or until a test fails twice in a row: on a busy machine, a test that
 * measures time may fail without a cause, and would count a mutant as noticed.
 */
async function runConfirmed(folder: string, args: readonly string[]): Promise<CommandResult> {
  for (let count = 1;; count++) {
    const run = await runDeno(folder, args);
    const failed = run.status === "failed" ? failedTest(run) : undefined;
    if (failed === undefined || count === MAX_RUNS) return run;
    const [command, ...others] = args;
    const again = await runDeno(folder, [command!, `--filter=${failed}`, ...others]);
    if (again.status !== "passed") return run;
  }
}

async function tryMutant(
  mutant: Mutant,
  stages: readonly Stage[],
  folder: string,
): Promise<Outcome> {
  const path = `${folder}/${mutant.file}`;
  return await withText(path, (text) => applyMutant(text, mutant), async () => {
    for (const { result, args } of stages) {
      const run = await runConfirmed(folder, args);
      if (run.status === "timeout") return { mutant, result: "timeout" };
      if (run.status === "failed") {
        return { mutant, result, ...(result === "tests" && { test: whyFailed(run) }) };
      }
    }
    return { mutant, result: "survived" };
  });
}

/** Runs everything on the unchanged project; returns the output of what failed. */
async function findFailures(commands: readonly TestCommand[]): Promise<string[]> {
  const stages = [
    TYPE_CHECK,
    ...commands.flatMap((command) => [
      ...toStage(command, command.tests),
      ...toStage(command, command.examples, "--doc"),
    ]),
  ];
  const failures: string[] = [];
  await inCopies(stages, COPIES, async ({ args }, folder) => {
    const { status, output } = await runConfirmed(folder, args);
    if (status !== "passed") failures.push(`deno ${args.join(" ")}: ${status}\n${output}`);
  });
  return failures;
}

function describeOutcome({ mutant, result, test }: Outcome): string {
  const { file, line, kind } = mutant;
  return `${file}:${line} | ${kind} | ${result}${test === undefined ? "" : `: ${test}`}`;
}

/** The lines that a mutant changes, before and after. */
function diffOf(mutant: Mutant): string {
  const text = Deno.readTextFileSync(mutant.file);
  const from = text.lastIndexOf("\n", mutant.start - 1) + 1;
  const lineEnd = text.indexOf("\n", mutant.end);
  const to = lineEnd < 0 ? text.length : lineEnd;
  const changed = applyMutant(text, mutant).slice(
    from,
    to + mutant.replacement.length -
      (mutant.end - mutant.start),
  );
  const mark = (lines: string, sign: string) => lines.replace(/^/gm, `${sign} `);
  return `${mutant.file}:${mutant.line} (${mutant.kind})\n` +
    `${mark(text.slice(from, to), "-")}\n${mark(changed, "+")}`;
}

function printTotals(outcomes: readonly Outcome[]): void {
  const results = ["tests", "type check", "timeout", "survived"] as const;
  const folderOf = ({ mutant: { file } }: Outcome) => file.slice(0, file.lastIndexOf("/"));
  const print = (name: string, among: readonly Outcome[]) => {
    const counts = results.map((wanted) => among.filter(({ result }) => result === wanted).length);
    const cells = [among.length, ...counts].map((count, index) =>
      String(count).padStart(["mutants", ...results][index]!.length)
    );
    console.log([name.padEnd(16), ...cells].join(" | "));
  };
  console.log(`\n${["folder".padEnd(16), "mutants", ...results].join(" | ")}`);
  for (const [folder, among] of Object.entries(Object.groupBy(outcomes, folderOf)).sort()) {
    print(folder, among!);
  }
  print("total", outcomes);
}

/** Exit code of a program that SIGINT ends. */
const INTERRUPTED = 130;

Deno.addSignalListener("SIGINT", () => {
  killAll();
  removeCopies();
  Deno.exit(INTERRUPTED);
});

const isNear = Deno.args.includes("--near");
const words = Deno.args.filter((word) => !word.startsWith("--"));
const numbers = words.filter((word) => /^\d+$/.test(word)).map(Number);
const prefixes = words.filter((word) => !/^\d+$/.test(word));
const [count = DEFAULT_COUNT, seed = Date.now() % 2 ** 32] = numbers;

const files = (await sourceFiles(...MUTATED)).filter((file) =>
  prefixes.length === 0 || prefixes.some((prefix) => file.startsWith(prefix))
);
const all = files.flatMap((file) => findMutants(file, Deno.readTextFileSync(file)));
const chosen = randomSample(all, count, seed);
console.log(`${chosen.length} of ${all.length} mutants of ${files.length} files, seed ${seed}`);

const commands = findTestCommands(deno.tasks, await sourceFiles("tests"));
const importers = await findImporters(...MUTATED, "tests");
const failures = await findFailures(commands);
if (failures.length > 0) {
  console.error(`The unchanged project does not pass:\n${failures.join("\n")}`);
  Deno.exit(1);
}
const outcomes: Outcome[] = [];
await inCopies(chosen, COPIES, async (mutant, folder) => {
  const stages = stagesFor(mutant.file, commands, importers, isNear);
  const outcome = await tryMutant(mutant, stages, folder);
  outcomes.push(outcome);
  console.log(describeOutcome(outcome));
});
printTotals(outcomes);
const survivors = outcomes.filter(({ result }) => result === "survived");
for (const { mutant } of survivors) console.log(`\n${diffOf(mutant)}`);
