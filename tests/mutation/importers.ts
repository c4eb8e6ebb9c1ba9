import { importsOf, resolve, sourceFiles } from "../helpers/project.ts";

/** Finds the test files that import a file directly or indirectly. */
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
