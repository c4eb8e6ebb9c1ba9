/**
 * Measures how many small changes of the code the tests detect.
 *
 *     deno task test:mutation [count] [seed] [path prefixes...]
 *     deno task test:mutation 150 7 src/client edge/page
 *     deno task test:mutation 300 7 src/odata --near
 *
 * Draws a random sample (default: 150 mutants, seed from the clock) of all mutants of `src/` and
 * `edge/` (see `mutants.ts`), or of the files whose paths start with the given prefixes. Each mutant
 * is written to a temporary copy of the project. Then these run until one detects it:
 *
 * 1. the type check of `src/` and `edge/`;
 * 2. the tests of `deno task test` that import the changed file directly or indirectly, starting
 *    with those in the folder of the same name;
 * 3. the other tests of `deno task test` and the examples in the docs.
 *
 * With `--matrix=FILE`, every test that executes the changed file runs for each mutant, without a stop
 * at the first failure: the tests that import it directly or indirectly, and those in
 * `tests/e2e/processes`, which start programs. FILE receives a line of JSON per mutant with each test
 * that failed. A run with the same count, seed and FILE continues, and `--minutes=N` ends it after
 * that time. `--tests=PREFIX` runs only the tests whose paths start with it. The summary lists the
 * tests that alone kill a mutant, a greedy cover, and the tests that kill only what the cover kills.
 *
 * With `--near`, only the type check and the tests in the folder of the same name run. This is
 * faster and finds code that only distant tests cover.
 *
 * Prints a line per mutant with its file, line, kind and result: `type check`, `tests:` with the
 * name of the first failed test, `timeout` or `survived`. Totals per folder and the changed lines of
 * each survivor follow. Some survivors do not change the behaviour; a person must identify them.
 *
 * The unchanged project must pass first; the exit code is 1 if it does not, and 0 otherwise. 150
 * mutants take about half an hour on four cores.
 */
import { sourceFiles } from "../helpers/project.ts";
import { inCopies, removeCopies, withText } from "./copies.ts";
import { testsIn } from "../junit.ts";
import { isTimed, type TestCommand, testCommands } from "../suites.ts";
import { findDependentTests, findImporters } from "./importers.ts";
import { describeMatrix, type MatrixRow } from "./matrix.ts";
import { applyMutant, findMutants, type Mutant } from "./mutants.ts";
import { randomSample } from "./random_sample.ts";
import { type DenoResult, killAll, runDeno } from "./run_command.ts";

const DEFAULT_COUNT = 150;
const MUTATED = ["mod.ts", "src", "edge"];
const COPIES = Math.max(1, Math.min(4, navigator.hardwareConcurrency));

interface MutantResult {
  mutant: Mutant;
  result: "type check" | "tests" | "timeout" | "survived";
  /** Name of the test that failed. */
  test?: string;
}

/** A command of Deno that must succeed, and its name in the report. */
interface Stage {
  result: "type check" | "tests";
  args: readonly string[];
}

/** The examples in docstrings. */
const EXAMPLES: TestCommand = { flags: ["--doc", "-P=none"], files: ["mod.ts", "edge", "src"] };

const TYPE_CHECK: Stage = { result: "type check", args: ["check", "mod.ts", "src", "edge"] };

function toStage({ flags }: TestCommand, paths: readonly string[]): Stage[] {
  if (paths.length === 0) return [];
  const options = ["--no-check", "--fail-fast", "--reporter=tap"];
  // Stops mutants that allocate memory without end.
  const limit = "--v8-flags=--max-old-space-size=1500";
  return [{ result: "tests", args: ["test", limit, ...flags, ...options, ...paths] }];
}

/** Returns the stages for a mutated file; those that are likely to fail come first. */
function stagesFor(
  file: string,
  commands: readonly TestCommand[],
  importers: ReadonlyMap<string, readonly string[]>,
  isNear: boolean,
): Stage[] {
  const near = findDependentTests(file, importers);
  // `deno test` sorts its files, so the tests that run first need a separate command.
  const { own = [], others = [] } = Object.groupBy(
    near,
    (test) => folderName(test) === folderName(file) ? "own" : "others",
  );
  const stagesOf = (tests: readonly string[]) =>
    commands.flatMap((command) =>
      toStage(command, tests.filter((test) => command.files.includes(test)))
    );
  if (isNear) return [TYPE_CHECK, ...stagesOf(own)];
  return [
    TYPE_CHECK,
    ...stagesOf(own),
    ...stagesOf(others),
    ...commands.flatMap((command) =>
      toStage(command, command.files.filter((test) => !near.includes(test)))
    ),
    ...toStage(EXAMPLES, EXAMPLES.files),
  ];
}

/** Returns the name of the folder that contains a file. */
function folderName(path: string): string {
  return path.split("/").at(-2) ?? "";
}

/** Returns the name of the first failed test, or `undefined` if no test could run. */
function failedTest({ output }: DenoResult): string | undefined {
  return /^\s*not ok \d+ - (.*)/m.exec(output)?.[1];
}

/** Returns the name of the first failed test, or the error message if no test could run. */
function describeFailure(run: DenoResult): string {
  return failedTest(run) ?? /^(?:error: )?.*Error.*$/m.exec(run.output)?.[0].trim() ??
    "(no test ran)";
}

/** Maximum number of test runs when the failed test passes on its own. */
const MAX_RUNS = 3;

/**
 * Runs tests until they pass or until one test fails twice in a row.
 *
 * Tests that measure time may fail at random on a busy machine. A single failure would count as a
 * detection.
 */
async function runConfirmed(folder: string, args: readonly string[]): Promise<DenoResult> {
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
): Promise<MutantResult> {
  const path = `${folder}/${mutant.file}`;
  return await withText(path, (text) => applyMutant(text, mutant), async () => {
    for (const { result, args } of stages) {
      const run = await runConfirmed(folder, args);
      if (run.status === "timeout") return { mutant, result: "timeout" };
      if (run.status === "failed") {
        return { mutant, result, ...(result === "tests" && { test: describeFailure(run) }) };
      }
    }
    return { mutant, result: "survived" };
  });
}

/** Runs every test that executes a file of a copy; returns the tests that failed. */
async function runAll(
  folder: string,
  file: string,
  { commands, importers }: MatrixContext,
): Promise<{ tests: string[]; isTimeout: boolean }> {
  const executing = new Set(findDependentTests(file, importers));
  const tests: string[] = [];
  for (const { flags, files } of commands) {
    const chosen = files.filter((path) =>
      !isTimed(path) && (executing.has(path) || path.startsWith("tests/e2e/processes/"))
    );
    if (chosen.length === 0) continue;
    const report = `${folder}/tests/tmp/junit.xml`;
    await Deno.remove(report).catch(() => {});
    const limit = "--v8-flags=--max-old-space-size=1500";
    const options = ["--no-check", "--reporter=tap", `--junit-path=${report}`];
    const { status } = await runDeno(folder, ["test", limit, ...flags, ...options, ...chosen]);
    if (status === "timeout") return { tests, isTimeout: true };
    const junit = await Deno.readTextFile(report).catch(() => "");
    const failed = testsIn(junit).filter(({ failure }) => failure !== undefined);
    // A process that dies, and a file that cannot be loaded, kill the mutant without a test.
    if (status === "failed" && failed.length === 0) tests.push("(no test)");
    tests.push(...failed.map(({ file, name }) => `${file} > ${name}`));
  }
  return { tests, isTimeout: false };
}

interface MatrixContext {
  commands: readonly TestCommand[];
  importers: ReadonlyMap<string, readonly string[]>;
}

/** Runs the tests of the mutants that are not in the file of results, and prints the summary. */
async function runMatrix(
  path: string,
  minutes: number,
  mutants: readonly Mutant[],
  context: MatrixContext,
): Promise<void> {
  const readRows = (): MatrixRow[] => {
    try {
      return Deno.readTextFileSync(path).trim().split("\n").map((line) => JSON.parse(line));
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return [];
      throw error;
    }
  };
  const nameOf = ({ file, line, start, kind }: Mutant) => `${file}:${line} @${start} ${kind}`;
  const done = new Set(readRows().map(({ mutant }) => mutant));
  const end = Date.now() + minutes * 60_000;
  const left = mutants.filter((mutant) => !done.has(nameOf(mutant)));
  await inCopies(left, 1, async (mutant, folder) => {
    if (Date.now() > end) return;
    const row = await withText(
      `${folder}/${mutant.file}`,
      (text) => applyMutant(text, mutant),
      async (): Promise<MatrixRow> => {
        const check = await runDeno(folder, TYPE_CHECK.args);
        if (check.status === "failed") {
          return { mutant: nameOf(mutant), isTypeError: true, killers: [] };
        }
        const { tests, isTimeout } = await runAll(folder, mutant.file, context);
        return { mutant: nameOf(mutant), ...(isTimeout && { isTimeout }), killers: tests };
      },
    );
    Deno.writeTextFileSync(path, `${JSON.stringify(row)}\n`, { append: true });
    const result = row.isTypeError ? "type check" : row.isTimeout ? "timeout" : row.killers.length;
    console.log(`${row.mutant}: ${result}`);
  });
  console.log(describeMatrix(readRows()));
}

/** Runs all stages on the unchanged project; returns the output of the failed ones. */
async function findFailures(commands: readonly TestCommand[]): Promise<string[]> {
  const stages = [
    TYPE_CHECK,
    ...[...commands, EXAMPLES].flatMap((command) => toStage(command, command.files)),
  ];
  const failures: string[] = [];
  await inCopies(stages, COPIES, async ({ args }, folder) => {
    const { status, output } = await runConfirmed(folder, args);
    if (status !== "passed") failures.push(`deno ${args.join(" ")}: ${status}\n${output}`);
  });
  return failures;
}

function describeResult({ mutant, result, test }: MutantResult): string {
  const { file, line, kind } = mutant;
  return `${file}:${line} | ${kind} | ${result}${test === undefined ? "" : `: ${test}`}`;
}

/** Returns the lines that a mutant changes, before and after the change. */
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

function printTotals(results: readonly MutantResult[]): void {
  const columns = ["tests", "type check", "timeout", "survived"] as const;
  const folderOf = ({ mutant: { file } }: MutantResult) => file.slice(0, file.lastIndexOf("/"));
  const print = (name: string, group: readonly MutantResult[]) => {
    const counts = columns.map((column) => group.filter(({ result }) => result === column).length);
    const cells = [group.length, ...counts].map((count, index) =>
      String(count).padStart(["mutants", ...columns][index]!.length)
    );
    console.log([name.padEnd(16), ...cells].join(" | "));
  };
  console.log(`\n${["folder".padEnd(16), "mutants", ...columns].join(" | ")}`);
  for (const [folder, group] of Object.entries(Object.groupBy(results, folderOf)).sort()) {
    print(folder, group!);
  }
  print("total", results);
}

/** Exit code after SIGINT: 128 plus the number of the signal. */
const SIGINT_EXIT_CODE = 130;

Deno.addSignalListener("SIGINT", () => {
  killAll();
  removeCopies();
  Deno.exit(SIGINT_EXIT_CODE);
});

/** Returns the value of `--name=value` in the arguments. */
function optionOf(name: string): string | undefined {
  return Deno.args.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
}

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

const testPrefix = optionOf("tests") ?? "tests/";
const commands = testCommands(
  (await sourceFiles("tests")).filter((file) =>
    file.endsWith("_test.ts") && file.startsWith(testPrefix)
  ),
);
const importers = await findImporters(...MUTATED, "tests");
const matrix = optionOf("matrix");
if (matrix !== undefined) {
  await runMatrix(matrix, Number(optionOf("minutes") ?? Infinity), chosen, { commands, importers });
  Deno.exit();
}
const failures = await findFailures(commands);
if (failures.length > 0) {
  console.error(`Tests fail without a mutant:\n${failures.join("\n")}`);
  Deno.exit(1);
}
const results: MutantResult[] = [];
await inCopies(chosen, COPIES, async (mutant, folder) => {
  const stages = stagesFor(mutant.file, commands, importers, isNear);
  const result = await tryMutant(mutant, stages, folder);
  results.push(result);
  console.log(describeResult(result));
});
printTotals(results);
const survivors = results.filter(({ result }) => result === "survived");
for (const { mutant } of survivors) console.log(`\n${diffOf(mutant)}`);
