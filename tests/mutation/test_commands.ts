import { importsOf, resolve, sourceFiles } from "../helpers/tree.ts";

/** A call of `deno test` in the task `test` or in a task that it runs. */
export interface TestCommand {
  /** Name of the task. */
  task: string;
  /** Permissions and other flags. */
  flags: readonly string[];
  /** Paths of the test files. */
  tests: readonly string[];
  /** Files and folders whose documentation examples run. */
  examples: readonly string[];
}

type Task = string | { command?: string; dependencies?: readonly string[] };

/**
 * Finds the calls of `deno test` in the task `test` and in the tasks that it runs.
 *
 * @param tasks The tasks of `deno.json`
 * @param files All TypeScript files of the tests
 */
export function findTestCommands(
  tasks: Readonly<Record<string, Task>>,
  files: readonly string[],
): TestCommand[] {
  const commands: TestCommand[] = [];
  const visit = (task: string): void => {
    const definition = tasks[task];
    const { command = "", dependencies = [] } = typeof definition === "string"
      ? { command: definition }
      : definition ?? {};
    dependencies.forEach(visit);
    for (const part of command.split("&&")) {
      const [program, verb, ...others] = part.trim().split(/\s+/).map((word) =>
        word.replaceAll("'", "")
      );
      if (program !== "deno") continue;
      if (verb === "task") visit(others.at(-1)!);
      if (verb === "test") commands.push(toTestCommand(task, others, files));
    }
  };
  visit("test");
  return commands;
}

/** Parses the arguments of `deno test`. */
function toTestCommand(
  task: string,
  words: readonly string[],
  files: readonly string[],
): TestCommand {
  const flags = words.filter((word) => word.startsWith("-"));
  const paths = words.filter((word) => !word.startsWith("-"));
  const ignored = flags.flatMap((flag) => /^--ignore=(.*)/.exec(flag)?.[1] ?? []);
  const tests = files.filter((file) =>
    file.endsWith("_test.ts") &&
    (paths.length === 0 || paths.some((path) => isMatch(file, path))) &&
    !ignored.some((path) => isMatch(file, path))
  );
  const examples = flags.includes("--doc")
    ? paths.filter((path) => !tests.some((test) => isMatch(test, path)))
    : [];
  const others = flags.filter((flag) => flag !== "--doc" && !flag.startsWith("--ignore="));
  return { task, flags: others, tests, examples };
}

/** Whether a file equals a path, is in that folder, or matches it as a glob with `**`. */
function isMatch(file: string, path: string): boolean {
  if (!path.includes("**/")) return file === path || file.startsWith(`${path}/`);
  const [start = "", end = ""] = path.split("**/");
  return file.startsWith(start) && file.endsWith(`/${end}`);
}

/**
 * Finds the test files that import a file directly or indirectly.
 *
 * @param file The imported file
 * @param importers The files that import each file
 */
export function findDependentTests(
  file: string,
  importers: ReadonlyMap<string, readonly string[]>,
): string[] {
  const dependents = new Set([file]);
  for (const dependent of dependents) {
    for (const importer of importers.get(dependent) ?? []) dependents.add(importer);
  }
  return [...dependents].filter((path) => path.endsWith("_test.ts"));
}

/** Returns the files that import each file of the project. */
export async function findImporters(...folders: string[]): Promise<Map<string, string[]>> {
  const importers = new Map<string, string[]>();
  for (const path of await sourceFiles(...folders)) {
    for (const specifier of importsOf(path)) {
      if (!specifier.startsWith(".")) continue;
      const target = resolve(path, specifier);
      importers.set(target, [...importers.get(target) ?? [], path]);
    }
  }
  return importers;
}
