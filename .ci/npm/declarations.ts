/**
 * Writes the type declarations of the npm package, with maps to the sources.
 *
 * A program of its own, so that `deno task check` does not need TypeScript. Prints the paths of the
 * sources that the maps refer to. Usage: `declarations.ts FOLDER ENTRY…`, relative to the project.
 */
import ts from "typescript";

/** Specifier of a module in TypeScript; the replacement has the same length, as the maps require. */
const SPECIFIER = /(?<=\bfrom |\bimport\()"(\.[^"]+)\.ts"/g;

const [folder, ...entries] = Deno.args as [string, ...string[]];

const options: ts.CompilerOptions = {
  allowImportingTsExtensions: true,
  declaration: true,
  declarationMap: true,
  emitDeclarationOnly: true,
  lib: ["lib.esnext.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts", "lib.dom.asynciterable.d.ts"],
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  // `deno task check` checks the types.
  noCheck: true,
  outDir: folder,
  rootDir: ".",
  strict: true,
  target: ts.ScriptTarget.ESNext,
  types: [],
};

const emitted = new Map<string, string>();
const program = ts.createProgram(entries, options);
program.emit(undefined, (path, text) => emitted.set(path.replace(/^\.\//, ""), text));

const reached = new Set<string>();
for (const entry of entries) await write(entry.replace(/^\.\//, ""));
console.log([...reached].join("\n"));

/** Writes the declarations of a module and of those that they import. */
async function write(source: string): Promise<void> {
  if (reached.has(source)) return;
  reached.add(source);
  const path = `${folder}/${source.replace(/\.ts$/, ".d.ts")}`;
  const text = emitted.get(path);
  const map = emitted.get(`${path}.map`);
  if (text === undefined || map === undefined) throw new Error(`${source} has no declarations`);
  await Deno.mkdir(path.replace(/[^/]+$/, ""), { recursive: true });
  await Deno.writeTextFile(path, text.replace(SPECIFIER, '"$1.js"'));
  await Deno.writeTextFile(`${path}.map`, map);
  for (const [, specifier] of text.matchAll(SPECIFIER)) {
    await write(new URL(`${specifier}.ts`, `file:///${source}`).pathname.slice(1));
  }
}
