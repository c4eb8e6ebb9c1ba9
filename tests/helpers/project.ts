import { fileURLToPath } from "node:url";
import jsr from "../../jsr.json" with { type: "json" };

export const PROJECT: string = fileURLToPath(new URL("../../", import.meta.url));

export const VERSION: string = jsr.version;

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

/** Lists the files below a folder by their relative paths; `folder` ends with a slash. */
export async function* filesIn(folder: string, below = ""): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(folder + below)) {
    if (isDirectory) yield* filesIn(folder, `${below}${name}/`);
    else yield below + name;
  }
}

/** Returns the specifiers of the imports and re-exports in a file, including types. */
export function importsOf(path: string): string[] {
  return importsIn(Deno.readTextFileSync(path));
}

/** Returns the specifiers of the imports and re-exports in a module's text, including types. */
export function importsIn(text: string): string[] {
  const code = text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
  const statements = code.matchAll(/^(?:import|export)\b[^;]*?\bfrom\s+"([^"\n]+)"/gm);
  const effects = code.matchAll(/(?<!")\bimport\s*\(?\s*"([^"]+)"/g);
  return [...statements, ...effects].map(([, specifier]) => specifier!);
}

/** Resolves a relative specifier in a file to a path in the project. */
export function resolve(from: string, specifier: string): string {
  return new URL(specifier, `file:///${from}`).pathname.slice(1);
}
