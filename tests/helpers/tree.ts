/**
 * The TypeScript files at or below the given paths of the project, sorted. Without tests/tmp, where
 * tests that run at the same time create and remove files.
 */
export async function sourceFiles(...paths: string[]): Promise<string[]> {
  const found = await Promise.all(paths.map(async (path) => {
    if (path.endsWith(".ts")) return [path];
    const entries = await Array.fromAsync(Deno.readDir(path));
    return await sourceFiles(
      ...entries
        .filter(({ name, isDirectory }) => isDirectory || /(?<!\.d)\.ts$/.test(name))
        .map(({ name }) => `${path}/${name}`)
        .filter((file) => file !== "tests/tmp"),
    );
  }));
  return found.flat().sort();
}

/** The files of a folder, whose path ends with a slash, by their paths in it. */
export async function* filesIn(folder: string, below = ""): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(folder + below)) {
    if (isDirectory) yield* filesIn(folder, `${below}${name}/`);
    else yield below + name;
  }
}

/** The specifiers that a file imports or re-exports, types too; not those in its comments. */
export function importsOf(path: string): string[] {
  const code = Deno.readTextFileSync(path).replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
  const statements = code.matchAll(/^(?:import|export)\b[^;]*?\bfrom\s*"([^"]+)"/gm);
  const effects = code.matchAll(/(?<!")\bimport\s*\(?\s*"([^"]+)"/g);
  return [...statements, ...effects].map(([, specifier]) => specifier!);
}

/** The path that a relative specifier leads to from a file. */
export function resolve(from: string, specifier: string): string {
  return new URL(specifier, `file:///${from}`).pathname.slice(1);
}
