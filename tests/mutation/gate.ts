import { importsOf, resolve, sourceFiles } from "../helpers/tree.ts";

/** A run of `deno test` in the gate. */
export interface TestCommand {
  /** Name of the task. */
  task: string;
  /** Permissions and other flags. */
  flags: readonly string[];
  /** Files of tests. */
  tests: readonly string[];
  /** Files and folders whose examples are run. */
  examples: readonly string[];
}

type Task = string | { command?: string };

/** Task that runs the gate. */
const GATE = "test";

/**
 * Finds the runs of `deno test` in the task `test` and in the tasks that it calls.
 *
 * @param tasks The tasks of `deno.json`
 * @param files All TypeScript files of the tests
 */
export function findTestCommands(
  tasks: Readonly<Record<string, Task>>,
  files: readonly string[],
): TestCommand[] {
  const commands: TestCommand[] = [];
  const follow = (task: string): void => {
    const given = tasks[task];
    const command = typeof given === "string" ? given : given?.command ?? "";
    for (const part of command.split("&&")) {
      const words = part.trim().split(/\s+/);
      const [program, verb, ...others] = words;
      if (program !== "deno") continue;
      if (verb === "task") follow(others.at(-1)!);
      if (verb !== "test") continue;
      const flags = others.filter((word) => word.startsWith("-"));
      const paths = others.filter((word) => !word.startsWith("-"));
      const isBelow = (file: string, path: string) => file === path || file.startsWith(`${path}/`);
      const tests = files.filter((file) =>
        file.endsWith("_test.ts") &&
        (paths.length === 0 || paths.some((path) => isBelow(file, path)))
      );
      const examples = flags.includes("--doc")
        ? paths.filter((path) => !tests.some((test) => isBelow(test, path)))
        : [];
      commands.push({ task, flags: flags.filter((flag) => flag !== "--doc"), tests, examples });
    }
  };
  follow(GATE);
  return commands;
}

/**
 * Finds the files of tests that import a file, directly or through others.
 *
 * @param file The imported file
 * @param importers The files that import each file
 */
export function testsThatReach(
  file: string,
  importers: ReadonlyMap<string, readonly string[]>,
): string[] {
  const reached = new Set([file]);
  for (const found of reached) {
    for (const importer of importers.get(found) ?? []) reached.add(importer);
  }
  return [...reached].filter((path) => path.endsWith("_test.ts"));
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
