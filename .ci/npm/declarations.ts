/**
 * Type declarations of the npm package, with maps to the sources.
 *
 * @module
 */
import { join } from "node:path/posix";
import ts from "typescript";
import { PROJECT } from "../../tests/helpers/project.ts";

/** Relative specifier of a module. Its replacement has the same length, so that the maps stay valid. */
const SPECIFIER = /(?<=\bfrom |\bimport\()"(\.[^"]+)\.ts"/g;

export interface Declarations {
  source: string;
  path: string;
  text: string;
  /** Content of the declaration map. */
  map: string;
}

/**
 * Creates the type declarations of entry points, and of the modules that these declarations import.
 *
 * @param entries Paths of the entry points in the project
 * @param folder Folder in the package
 */
export function emitDeclarations(entries: readonly string[], folder: string): Declarations[] {
  const emitted = new Map<string, string>();
  ts.createProgram(entries.map((path) => PROJECT + path), {
    allowImportingTsExtensions: true,
    declaration: true,
    declarationMap: true,
    emitDeclarationOnly: true,
    lib: ["lib.esnext.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts", "lib.dom.asynciterable.d.ts"],
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    // `deno task check` has checked the types.
    noCheck: true,
    outDir: PROJECT + folder,
    rootDir: PROJECT,
    strict: true,
    target: ts.ScriptTarget.ESNext,
    types: [],
  }).emit(undefined, (path, text) => emitted.set(path.slice(PROJECT.length), text));

  const reached = new Map<string, Declarations>();
  const visit = (source: string) => {
    if (reached.has(source)) return;
    const path = `${folder}/${source.replace(/\.ts$/, ".d.ts")}`;
    const text = emitted.get(path);
    const map = emitted.get(`${path}.map`);
    if (text === undefined || map === undefined) throw new Error(`${source} has no declarations`);
    reached.set(source, { source, path, text: text.replace(SPECIFIER, '"$1.js"'), map });
    for (const [, specifier] of text.matchAll(SPECIFIER)) {
      visit(join(source, "..", `${specifier}.ts`));
    }
  };
  for (const entry of entries) visit(join(entry));
  return [...reached.values()];
}
