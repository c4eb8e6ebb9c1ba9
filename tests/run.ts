// Runs the gate, the unit tests that it leaves out (`long`), or the test files and folders of the
// arguments, with the permissions that they need; flags go to `deno test`, and arguments after `--` to
// the tests. Prints failures, what was skipped, and the total.
import { type TestCase, testsIn } from "./junit.ts";
import { DENO_TEST, type TestCommand, testCommands } from "./suites.ts";
import { sourceFiles } from "./helpers/project.ts";

/** Result of a command of the gate. */
interface Result {
  problems: string[];
  tests: TestCase[];
}

const started = performance.now();
const end = Deno.args.findIndex((word) => word.startsWith("-"));
const [paths, flags] = end < 0 ? [Deno.args, []] : [Deno.args.slice(0, end), Deno.args.slice(end)];
const files = (await sourceFiles("tests")).filter((file) => file.endsWith("_test.ts"));
const commands = testCommands(files, paths.map((path) => path.replace(/^\.\//, "")));
if (commands.length === 0) {
  console.error(`No test file is at ${paths.join(" or ")}`);
  Deno.exit(1);
}
Deno.exitCode = paths.length > 0 || flags.length > 0 ? await runFiles() : await runGate();

/** Runs the chosen files one command after another; returns the exit code. */
async function runFiles(): Promise<number> {
  let exitCode = 0;
  const isWatching = flags.includes("--watch");
  const report = await Deno.makeTempFile({ suffix: ".xml" });
  const tests: TestCase[] = [];
  for (const { flags: own, files } of commands) {
    // Recording results needs more permissions than comparing them.
    const update = flags.includes("--update") ? ["--allow-all"] : [];
    const options = ["--reporter=dot", `--junit-path=${report}`, ...own, ...update];
    const args = [...DENO_TEST, ...options, ...withPaths(files)];
    const stdout = isWatching ? "inherit" : "piped";
    const env = { NO_COLOR: "1" };
    const child = new Deno.Command(Deno.execPath(), { args, env, stdout }).spawn();
    const errors = stdout === "piped" ? await printWithoutDots(child.stdout) : [];
    exitCode ||= (await child.status).code;
    const found = testsIn(await Deno.readTextFile(report), files);
    for (const line of errors) console.log(withPlace(line, found));
    tests.push(...found);
  }
  await Deno.remove(report);
  // A report does not tell a test that a filter leaves out from one that is skipped.
  if (!flags.some((flag) => flag.startsWith("--filter"))) printSkipped(tests);
  return exitCode;
}

/**
 * Prints the output of Deno without the mark of each test, which has a line of its own in a pipe. Returns the lines from the
 * first error on.
 */
async function printWithoutDots(output: ReadableStream<BufferSource>): Promise<string[]> {
  const errors: string[] = [];
  let line = "";
  for await (const text of output.pipeThrough(new TextDecoderStream())) {
    const lines = (line + text).split("\n");
    line = lines.pop()!;
    for (const line of lines.filter((line) => !/^[.,!]?$/.test(line))) {
      if (errors.length > 0 || line.trim() === "ERRORS") errors.push(line);
      else console.log(line);
    }
  }
  return errors;
}

/** Replaces the place in the title of an error, which may be that of a helper. */
function withPlace(text: string, tests: readonly TestCase[]): string {
  const [, name] = /^(.*) => \.\/\S+:\d+:\d+$/.exec(text) ?? [];
  const test = tests.find((test) => test.name === name && test.failure !== undefined);
  return test ? `${name} => ./${test.file}:${test.line}` : text;
}

/** The flags of the call, with files before the arguments of the tests. */
function withPaths(files: readonly string[]): string[] {
  const own = flags.indexOf("--");
  return own < 0 ? [...flags, ...files] : [...flags.slice(0, own), ...files, ...flags.slice(own)];
}

/** Runs everything in parallel; returns the exit code. */
async function runGate(): Promise<number> {
  const results = await Promise.all([runChecks(), ...commands.map(runTests)]);
  const tests = results.flatMap((result) => result.tests);
  const failed = tests.filter(({ failure }) => failure !== undefined);
  for (const { problems } of results) for (const problem of problems) console.error(problem);
  for (const { file, line, name, failure } of failed) {
    console.error(`${file}:${line}: ${name}: ${failure}`);
  }
  const skipped = printSkipped(tests);
  const problems = results.flatMap((result) => result.problems).length;
  const seconds = Math.round((performance.now() - started) / 1000);
  console.log([
    `${tests.length - failed.length - skipped} of ${tests.length} tests passed`,
    `${failed.length} failed`,
    `${skipped} skipped`,
    `${problems === 0 ? "all" : "not all"} checks passed`,
    `${seconds} s`,
  ].join(", "));
  if (failed.length > 0) console.log(`Details: deno task test ${failed[0]!.file}`);
  return failed.length + problems > 0 ? 1 : 0;
}

/** Prints a line for each file and each thing that its tests miss; returns the number of skipped tests. */
function printSkipped(tests: readonly TestCase[]): number {
  const skipped = tests.filter(({ isSkipped }) => isSkipped);
  const reasons = Map.groupBy(skipped, ({ file, name }) => {
    const [, needs = "what the test needs"] = / \(needs (.*)\)$/.exec(name) ?? [];
    return `${file}: ${needs} is missing`;
  });
  for (const [reason, { length }] of reasons) console.log(`Skipped: ${length} of ${reason}`);
  return skipped.length;
}

/** Checks the format, lint rules, types and docs, and runs the examples in docstrings. */
async function runChecks(): Promise<Result> {
  const result: Result = { problems: [], tests: [] };
  const checks = [
    ["fmt", "--check", "--quiet"],
    ["lint", "--quiet"],
    ["task", "--quiet", "check"],
    ["task", "--quiet", "doc"],
  ];
  for (const args of checks) {
    const { success, output } = await run(args);
    if (!success) result.problems.push(`deno ${args.join(" ")} failed:\n${output.trim()}`);
  }
  // The task `check` has checked the types of these examples.
  const { problems, tests } = await runTests({
    flags: ["-P=none", "--doc"],
    files: ["mod.ts", "edge", "src"],
  });
  return { problems: [...result.problems, ...problems], tests };
}

async function runTests({ flags, files }: TestCommand): Promise<Result> {
  const report = await Deno.makeTempFile({ suffix: ".xml" });
  const options = ["--reporter=dot", `--junit-path=${report}`];
  const args = [...DENO_TEST, ...options, ...flags, ...files];
  const { success, output } = await run(args);
  const tests = [...testsIn(await Deno.readTextFile(report), files), ...unloadedFiles(output)];
  await Deno.remove(report);
  const isExplained = success || tests.some(({ failure }) => failure !== undefined);
  return { problems: isExplained ? [] : [`deno ${flags.join(" ")}:\n${output.trim()}`], tests };
}

/** Returns the test files that ended before their tests; a report does not have them. */
function unloadedFiles(output: string): TestCase[] {
  return [...output.matchAll(/^(?:\.\/)?(\S+) \(uncaught error\)\n(?:error: )?(.*)/gm)]
    .map(([, file = "", failure = ""]) => ({
      file,
      line: 0,
      name: "(uncaught)",
      failure,
      isSkipped: false,
    }));
}

async function run(args: readonly string[]): Promise<{ success: boolean; output: string }> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...args],
    env: { NO_COLOR: "1" },
  }).output();
  const output = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("");
  return { success, output };
}
