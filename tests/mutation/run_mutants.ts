// Measures how many random small changes of src/ and edge/ the tests detect: `deno task
// test:mutation [count] [seed] [path prefixes]`. Tests of the same file and folder run first, and stop at
// the first failure. --results=FILE continues FILE; --matrix=FILE also lists all tests that detect each;
// --minutes=N ends the run, and --tests=PREFIX selects tests.
import { sourceFiles } from "../helpers/project.ts";
import { inCopy, removeCopy, withText } from "./copy.ts";
import { testsIn } from "../junit.ts";
import { DENO_TEST, isTimed, type TestCommand, testCommands } from "../suites.ts";
import { findDependentTests, findImporters } from "./importers.ts";
import { describeMatrix, type MatrixRow } from "./matrix.ts";
import { applyMutant, findMutants, type Mutant } from "./mutants.ts";
import { randomSample } from "./random_sample.ts";
import { killAll, runDeno } from "./run_command.ts";

const DEFAULT_COUNT = 150;
const MUTATED = ["mod.ts", "src", "edge"];
const TYPE_CHECK = ["check", "mod.ts", "src", "edge"];
/** Tests whose programs can execute any file. */
const PROGRAM_TESTS = "tests/e2e/processes/";
/** Exit code after SIGINT: 128 plus the number of the signal. */
const SIGINT_EXIT_CODE = 130;

Deno.addSignalListener("SIGINT", () => {
  killAll();
  removeCopy();
  Deno.exit(SIGINT_EXIT_CODE);
});

function optionOf(name: string): string | undefined {
  return Deno.args.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
}

const words = Deno.args.filter((word) => !word.startsWith("--"));
const numbers = words.filter((word) => /^\d+$/.test(word)).map(Number);
const prefixes = words.filter((word) => !/^\d+$/.test(word));
const [count = DEFAULT_COUNT, seed = Date.now() % 2 ** 32] = numbers;
const end = Date.now() + Number(optionOf("minutes") ?? Infinity) * 60_000;
const matrix = optionOf("matrix");
const results = matrix ?? optionOf("results");

const files = (await sourceFiles(...MUTATED)).filter((file) =>
  prefixes.length === 0 || prefixes.some((prefix) => file.startsWith(prefix))
);
const all = files.flatMap((file) => findMutants(file, Deno.readTextFileSync(file)));
const chosen = randomSample(all, count, seed);
console.log(`${chosen.length} of ${all.length} mutants of ${files.length} files, seed ${seed}`);

const testPrefix = optionOf("tests") ?? "tests/";
/** The examples in docstrings, unless `--tests` selects other tests. */
const examples: readonly TestCommand[] = testPrefix === "tests/"
  ? [{ flags: ["--doc", "-P=none"], files: ["mod.ts", "edge", "src"] }]
  : [];
const commands = testCommands(
  (await sourceFiles("tests")).filter((file) =>
    file.endsWith("_test.ts") && file.startsWith(testPrefix)
  ),
  ["tests/unit", PROGRAM_TESTS],
).filter(({ files }) => !files.every(isTimed));
const importers = await findImporters(...MUTATED, "tests");

const rows = results === undefined ? [] : readRows(results);
const done = new Set(rows.map(({ mutant }) => mutant));

await inCopy(async (folder) => {
  const failures = rows.length > 0 ? [] : await findFailures(folder);
  if (failures.length > 0) {
    console.error(`Tests fail without a mutant:\n${failures.join("\n")}`);
    Deno.exitCode = 1;
    return;
  }
  for (const mutant of chosen.filter((mutant) => !done.has(nameOf(mutant)))) {
    if (Date.now() > end) break;
    const row = await withText(
      `${folder}/${mutant.file}`,
      (text) => applyMutant(text, mutant),
      () => tryMutant(mutant, folder),
    );
    rows.push(row);
    if (results !== undefined) {
      Deno.writeTextFileSync(results, `${JSON.stringify(row)}\n`, { append: true });
    }
    console.log(describeRow(row));
  }
  const survivors = new Set(rows.filter(isSurvivor).map(({ mutant }) => mutant));
  for (const mutant of chosen) {
    if (survivors.has(nameOf(mutant))) console.log(`\n${diffOf(mutant)}`);
  }
  console.log(`\n${describeMatrix(rows)}`);
});

/** Runs everything on the unchanged project; returns the output of the commands that failed. */
async function findFailures(folder: string): Promise<string[]> {
  const found: string[] = [];
  const runs = [TYPE_CHECK, ...[...commands, ...examples].map((command) => testArguments(command))];
  for (const args of runs) {
    const { status, output } = await runDeno(folder, args);
    if (status !== "passed") found.push(`deno ${args.join(" ")}: ${status}\n${output}`);
  }
  return found;
}

function testArguments({ flags, files }: TestCommand, ...more: string[]): string[] {
  // The limit stops mutants that allocate memory without end.
  const options = ["--v8-flags=--max-old-space-size=1500", "--reporter=tap"];
  return [...DENO_TEST, ...options, ...flags, ...more, ...files];
}

async function tryMutant(mutant: Mutant, folder: string): Promise<MatrixRow> {
  const row: MatrixRow = { mutant: nameOf(mutant), killers: [] };
  if ((await runDeno(folder, TYPE_CHECK)).status === "failed") return { ...row, isTypeError: true };
  const killers: string[] = [];
  for (const command of [...commandsFor(mutant.file), ...examples]) {
    const found = await failedTests(command, folder);
    if (found === "timeout") return { ...row, killers, isTimeout: true };
    killers.push(...found);
    if (matrix === undefined && killers.length > 0) break;
  }
  return { ...row, killers };
}

/** Returns the calls of `deno test` with the tests that can execute a file. */
function commandsFor(file: string): TestCommand[] {
  const executing = new Set(findDependentTests(file, importers));
  const own = file.replace(/^(?:src\/)?(.*)\.ts$/, "tests/unit/$1");
  const folder = own.replace(/[^/]+$/, "");
  const isProgram = (path: string) => path.startsWith(PROGRAM_TESTS);
  const rankOf = (path: string) =>
    isProgram(path) ? 3 : path.startsWith(own) ? 0 : path.startsWith(folder) ? 1 : 2;
  return (matrix === undefined ? [0, 1, 2, 3] : [undefined]).flatMap((rank) =>
    commands.map(({ flags, files }) => ({
      flags,
      files: files.filter((path) =>
        (executing.has(path) || isProgram(path)) && (rank ?? rankOf(path)) === rankOf(path)
      ),
    }))
  ).filter(({ files }) => files.length > 0);
}

async function failedTests(command: TestCommand, folder: string): Promise<string[] | "timeout"> {
  const report = `${folder}/tests/tmp/junit.xml`;
  await Deno.mkdir(`${folder}/tests/tmp`, { recursive: true });
  await Deno.remove(report).catch(() => {});
  const more = [`--junit-path=${report}`, ...(matrix === undefined ? ["--fail-fast"] : [])];
  const { status } = await runDeno(folder, testArguments(command, ...more));
  if (status === "timeout") return "timeout";
  const junit = await Deno.readTextFile(report).catch(() => "");
  const failed = testsIn(junit).filter(({ failure }) => failure !== undefined);
  // A process that dies, and a file that cannot be loaded, kill the mutant without a test.
  if (status === "failed" && failed.length === 0) return ["(no test)"];
  return failed.map(({ file, name }) => `${file} > ${name}`);
}

function readRows(path: string): MatrixRow[] {
  try {
    return Deno.readTextFileSync(path).trim().split("\n").map((line) => JSON.parse(line));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

function nameOf({ file, line, start, kind }: Mutant): string {
  return `${file}:${line} @${start} ${kind}`;
}

function isSurvivor({ isTypeError, isTimeout, killers }: MatrixRow): boolean {
  return !isTypeError && !isTimeout && killers.length === 0;
}

function describeRow(row: MatrixRow): string {
  const result = row.isTypeError
    ? "type check"
    : row.isTimeout
    ? "timeout"
    : row.killers[0] ?? "survived";
  const others = row.killers.length > 1 ? `, and ${row.killers.length - 1} others` : "";
  return `${row.mutant}: ${result}${others}`;
}

function diffOf(mutant: Mutant): string {
  const text = Deno.readTextFileSync(mutant.file);
  const from = text.lastIndexOf("\n", mutant.start - 1) + 1;
  const lineEnd = text.indexOf("\n", mutant.end);
  const to = lineEnd < 0 ? text.length : lineEnd;
  const grown = mutant.replacement.length - (mutant.end - mutant.start);
  const changed = applyMutant(text, mutant).slice(from, to + grown);
  const mark = (lines: string, sign: string) => lines.replace(/^/gm, `${sign} `);
  return `${nameOf(mutant)}\n${mark(text.slice(from, to), "-")}\n${mark(changed, "+")}`;
}
