/**
 * Bundles the code of the npm package with esbuild.
 *
 * `deno bundle` also uses esbuild, but has no option that inlines constants and keeps all names.
 *
 * @module
 */
import { relative } from "node:path";
import { dirname, join } from "node:path/posix";
import { build, type BuildOptions, type Plugin, stop } from "esbuild";
import deno from "../../deno.json" with { type: "json" };
import { PROJECT } from "../../tests/helpers/project.ts";
import { BROWSER_BUNDLE } from "../project.ts";
import { run } from "../publish_config.ts";
import type { NpmPackage } from "./notices.ts";

/** Folder of the bundled modules in the package. */
export const MODULES = "lib";

/** Modules of the chunk with `src/errors.ts`. */
const CORE_MODULES = ["bytes", "service_constants", "validation", "version"];
/** Packages that the imported packages import. */
const DEPENDENCIES = ["@modelcontextprotocol/core", "hyparquet", "zod"];
const LINKS = "dist/node_modules";

export interface Bundle {
  path: string;
  /** Code without the comment that names the source map. */
  code: string;
  /** Content of the source map (ECMA-426). */
  map: string;
  /** Paths of the project's modules in this bundle. */
  sources: string[];
  /** npm packages with code in this bundle. */
  packages: NpmPackage[];
}

/**
 * Bundles entry points, and one of them also for browsers. Modules that several entry points use are written
 * to chunks, so that all entry points share one instance of each module.
 *
 * @param entries Paths of modules in the project, by the name of their bundle
 * @param browserEntry Path of the module for browsers
 */
export async function bundle(
  entries: Record<string, string>,
  browserEntry: string,
): Promise<Bundle[]> {
  const packages = await linkPackages(entries);
  try {
    const modules = await buildBundles(packages, {
      entryPoints: entries,
      chunkNames: "chunk-[hash]",
      minifySyntax: true,
      outdir: MODULES,
      platform: "neutral",
      plugins: [oneCoreChunk, withoutPackageMaps],
      splitting: true,
    });
    const forBrowsers = await buildBundles(packages, {
      entryPoints: [browserEntry],
      minify: true,
      outfile: BROWSER_BUNDLE,
      platform: "browser",
    });
    return [...modules, ...forBrowsers];
  } finally {
    await stop();
    await Deno.remove(LINKS, { recursive: true });
  }
}

/**
 * Puts the files directly in `src/` into one chunk, because each file that Node loads takes about 0.4 ms.
 * Without this plugin, esbuild creates three chunks, because two entry points use only some of these modules.
 */
const oneCoreChunk: Plugin = {
  name: "one-core-chunk",
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/errors\.ts$/ }, async ({ path }) => {
      const code = await Deno.readTextFile(path);
      const imports = CORE_MODULES.map((name) => `import "./${name}.ts";`).join("");
      // At the end, because the source map refers to the lines of the file.
      return { contents: `${code}\n${imports}`, loader: "ts" };
    });
  },
};

/** Leaves out maps and comments of a package that name files outside of it, of the repository in which it was built. */
const withoutPackageMaps: Plugin = {
  name: "without-package-maps",
  setup({ onLoad }) {
    onLoad({ filter: /\/node_modules\/.*\.mjs$/ }, async ({ path }) => {
      const code = await Deno.readTextFile(path);
      return {
        contents: code.replace(/^\/\/#(?: sourceMappingURL=|(?:end)?region).*/gm, ""),
        loader: "js",
      };
    });
  },
};

async function buildBundles(
  packages: ReadonlyMap<string, NpmPackage>,
  options: BuildOptions,
): Promise<Bundle[]> {
  const { metafile, outputFiles } = await build({
    ...options,
    absWorkingDir: PROJECT,
    alias: Object.fromEntries(
      specifiers.flatMap(({ specifier, target }) =>
        specifier === target ? [] : [[specifier, target]]
      ),
    ),
    bundle: true,
    // Otherwise, hyparquet imports the file system of Node.
    conditions: ["browser"],
    external: ["node:*"],
    format: "esm",
    mainFields: ["module", "main"],
    metafile: true,
    nodePaths: [PROJECT + LINKS],
    // Without this option, the paths of packages would contain the cache folder of this machine.
    preserveSymlinks: true,
    sourcemap: "external",
    target: "esnext",
    write: false,
  });
  const files = new Map(
    outputFiles!.map(({ path, text }) => [relative(PROJECT, path).replaceAll("\\", "/"), text]),
  );
  return Object.entries(metafile!.outputs).filter(([path]) => path.endsWith(".js")).map(
    ([path, { inputs }]) => {
      const names = Object.keys(inputs).map((input) => packageName(input));
      return {
        path,
        code: files.get(path)!.replace(/^\/\/ dist\/node_modules\//gm, "// npm:"),
        map: completeMap(path, files.get(`${path}.map`)!, packages),
        // A module that only re-exports has no code, and the map does not refer to it.
        sources: Object.keys(inputs).filter((input) =>
          packageName(input) === undefined && inputs[input]!.bytesInOutput > 0
        ),
        packages: [...new Set(names)].flatMap((name) => name ? packages.get(name)! : []),
      };
    },
  );
}

/**
 * Changes a source map: omits the code of the project's modules, which the package contains as files, and adds
 * names and versions to the paths in npm packages.
 */
function completeMap(
  path: string,
  text: string,
  packages: ReadonlyMap<string, NpmPackage>,
): string {
  const map: { sources: string[]; sourcesContent: (string | null)[] } = JSON.parse(text);
  map.sources.forEach((source, index) => {
    const input = join(dirname(path), source);
    const name = packageName(input);
    if (name === undefined) {
      map.sourcesContent[index] = null;
    } else {
      const file = input.slice(`${LINKS}/${name}/`.length);
      map.sources[index] = `npm:${name}@${packages.get(name)!.version}/${file}`;
    }
  });
  return JSON.stringify(map);
}

/** Returns the name of the npm package that contains a file; `undefined` for a file of the project. */
function packageName(input: string): string | undefined {
  return /^dist\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1];
}

/** Import specifiers of the project's modules, with their npm specifiers, such as `hono/cors`. */
const specifiers = Object.entries(deno.imports).map(([specifier, target]) => ({
  specifier,
  target: target.replace(/^npm:/, "").replace(/(?<=.)@[^/]+/, ""),
}));

/** Creates links to the installed npm packages of entry points. Returns the packages by name. */
async function linkPackages(entries: Record<string, string>): Promise<Map<string, NpmPackage>> {
  const [first = "", ...others] = Object.values(entries);
  await run(Deno.execPath(), ["cache", "--quiet", "--no-check", first, ...others]);
  // Lists all packages of the lock file, not only those of the first entry point.
  const { npmPackages } = JSON.parse(
    await run(Deno.execPath(), ["info", "--quiet", "--json", first]),
  );
  await Deno.remove(PROJECT + LINKS, { recursive: true }).catch(() => {});
  const packages = new Map<string, NpmPackage>();
  for (const npm of Object.values<NpmPackage>(npmPackages)) {
    const isImported = specifiers.some(({ target }) => `${target}/`.startsWith(`${npm.name}/`));
    if (!isImported && !DEPENDENCIES.includes(npm.name)) continue;
    packages.set(npm.name, npm);
    const link = `${PROJECT}${LINKS}/${npm.name}`;
    await Deno.mkdir(dirname(link), { recursive: true });
    await Deno.symlink(npm.localPath, link, { type: "junction" });
  }
  return packages;
}
