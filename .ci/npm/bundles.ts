/**
 * Bundles the code of the npm package with `deno bundle`, which runs esbuild.
 *
 * @module
 */
import { dirname, join, relative, resolve } from "node:path/posix";
import { PROJECT } from "../../tests/helpers/project.ts";
import { run } from "../publish_config.ts";

/** Folder of the bundled modules in the package. */
export const MODULES = "lib";
/** Path in the package of the bundle for browsers. */
export const BROWSER_BUNDLE = "dist/weir.js";

/** Folder in DENO_DIR of a version of an npm package, its name, its version and a file in it. */
const NPM_CACHE = /^(.*\/npm\/[^/]+\/((?:@[^/]+\/)?[^/]+)\/(\d+\.\d+\.\d+[^/]*))\/(.+)$/;

/** A source map (ECMA-426). */
interface SourceMap {
  version: number;
  sources: string[];
  sourcesContent: (string | null)[];
  names: string[];
  mappings: string;
}

/** A bundle with its source map. */
export interface Bundle {
  /** Path in the package. */
  path: string;
  /** Code without the comment that names the source map. */
  code: string;
  map: SourceMap;
  /** Paths of the project's sources in this bundle. */
  sources: string[];
  /** Folders of the npm packages in this bundle, by name and version, such as `hono@4.13.19`. */
  packages: Map<string, string>;
}

/**
 * Bundles entry points. Modules that several of them use go to chunks, so that all entry points share
 * one instance of each module.
 *
 * @param entries Paths of modules in the project, by the name of their bundle
 * @param folder Path of an empty folder for temporary files, in the project
 */
export async function bundleEntries(
  entries: Record<string, string>,
  folder: string,
): Promise<Bundle[]> {
  // Modules with the names of the bundles, in one folder, so that esbuild writes to one folder.
  const modules = Object.entries(entries).map(async ([name, path]) => {
    const from = JSON.stringify(relative(folder, PROJECT + path));
    const hasDefault = /^export default\b/m.test(await Deno.readTextFile(PROJECT + path));
    const code = `export * from ${from};\n${
      hasDefault ? `export { default } from ${from};\n` : ""
    }`;
    await Deno.writeTextFile(`${folder}/${name}.ts`, code);
    return `${folder}/${name}.ts`;
  });
  const output = `${folder}/output`;
  const flags = ["--platform", "deno", "--code-splitting", "--outdir", output];
  await runBundler([...flags, ...await Promise.all(modules)]);
  const bundles: Bundle[] = [];
  for await (const { name } of Deno.readDir(output)) {
    if (name.endsWith(".js")) bundles.push(await readBundle(output, name, `${MODULES}/${name}`));
  }
  const names = chunkNames(bundles.filter(({ path }) => !(nameOf(path) in entries)));
  return bundles.map((bundle) => ({
    ...bundle,
    path: `${MODULES}/${names.get(nameOf(bundle.path)) ?? nameOf(bundle.path)}.js`,
    code: bundle.code.replace(
      /"\.\/([\w-]+)\.js"/g,
      (specifier, name) => names.has(name) ? `"./${names.get(name)}.js"` : specifier,
    ),
  }));
}

/** Bundles one module with all of its imports into one minified file for browsers. */
export async function bundleForBrowsers(module: string, folder: string): Promise<Bundle> {
  const name = BROWSER_BUNDLE.slice(BROWSER_BUNDLE.lastIndexOf("/") + 1);
  const flags = ["--platform", "browser", "--minify", "--output", `${folder}/${name}`];
  await runBundler([...flags, module]);
  return await readBundle(folder, name, BROWSER_BUNDLE);
}

async function runBundler(args: string[]): Promise<void> {
  await run(Deno.execPath(), ["bundle", "--quiet", "--sourcemap", "linked", ...args]);
}

/** Reads a bundle, and replaces the paths of this machine in its comments and in its source map. */
async function readBundle(folder: string, name: string, path: string): Promise<Bundle> {
  const code = (await Deno.readTextFile(`${folder}/${name}`)).replace(/\/\/# source.*\n$/, "");
  const map: SourceMap = JSON.parse(await Deno.readTextFile(`${folder}/${name}.map`));
  const sources: string[] = [];
  const packages = new Map<string, string>();
  map.sources = map.sources.map((source, index) => {
    const file = resolve(folder, source);
    const [, root, name, version, rest] = NPM_CACHE.exec(file) ?? [];
    if (root !== undefined) {
      packages.set(`${name}@${version}`, root);
      return `npm:${name}@${version}/${rest}`;
    }
    if (!file.startsWith(PROJECT)) throw new Error(`${path} contains ${file}`);
    const own = file.slice(PROJECT.length);
    sources.push(own);
    // The package contains the file.
    map.sourcesContent[index] = null;
    return relative(dirname(path), own);
  });
  const comments = /^\/\/ \S*\/npm\/[^/]+\/((?:@[^/]+\/)?[^/]+)\/(\d+\.\d+\.\d+[^/]*\/.+)$/gm;
  return { path, code: code.replace(comments, "// npm:$1@$2"), map, sources, packages };
}

/**
 * Names chunks by the folder with most of their code. The names of esbuild contain hashes, which depend
 * on the paths of this machine.
 */
function chunkNames(chunks: readonly Bundle[]): Map<string, string> {
  const names = new Map<string, string>();
  const first = ({ sources }: Bundle) => [...sources].sort()[0] ?? "";
  for (const chunk of chunks.toSorted((a, b) => first(a) < first(b) ? -1 : 1)) {
    const folders = new Map<string, number>();
    for (const source of chunk.sources) {
      const folder = source.replace(/^src\//, "").split("/")[0]!.replace(/\.ts$/, "");
      const { size } = Deno.statSync(join(PROJECT, source));
      folders.set(folder, (folders.get(folder) ?? 0) + size);
    }
    const [[folder] = ["npm"]] = [...folders].sort(([, a], [, b]) => b - a);
    const taken = [...names.values()];
    let name = `chunk-${folder}`;
    for (let number = 2; taken.includes(name); number++) name = `chunk-${folder}-${number}`;
    names.set(nameOf(chunk.path), name);
  }
  return names;
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1, -".js".length);
}

/** Adds a comment before a bundle. */
export function prepend(comment: string, bundle: Bundle): Bundle {
  const lines = comment.split("\n").length - 1;
  const mappings = ";".repeat(lines) + bundle.map.mappings;
  return { ...bundle, code: comment + bundle.code, map: { ...bundle.map, mappings } };
}
