/**
 * Builds the npm package, `dist/weir-datastream-<version>.tgz`.
 *
 * `deno pack` emits modules and types. This script adds bundled @std modules, types for CommonJS,
 * the executable and the fields of package.json that npm and Node use. Usage: `pack.ts`.
 */
import { pathToFileURL } from "node:url";
import deno from "../deno.json" with { type: "json" };
import { PROJECT } from "../tests/helpers/project.ts";
import { filesIn } from "../tests/helpers/tree.ts";
import { commonJsTypes } from "./common_js_types.ts";
import { denoWithPublishConfig, run } from "./publish_config.ts";

const DIST = `${PROJECT}dist`;
const PACKAGE = `${DIST}/package`;
const BIN = "./src/cli/bin.ts";
/** npm package with builds of @std. It has hundreds of files, so the used ones are bundled instead. */
const STD_PACKAGE = "deno-std";

await Deno.remove(PACKAGE, { recursive: true }).catch(() => {});
await Deno.mkdir(DIST, { recursive: true });
await denoWithPublishConfig(
  { "./bin": BIN },
  ...["pack", "--allow-dirty", "--no-source-maps", "--output", "dist/modules.tgz"] as const,
);
await run("tar", ["-xzf", "dist/modules.tgz", "-C", "dist"]);
await Deno.remove(`${DIST}/modules.tgz`);

const used = new Set<string>();
for await (const path of filesIn(`${PACKAGE}/`)) {
  if (path.endsWith(".js")) await edit(path, (code) => resolveStd(path, code));
}
for (const specifier of used) await bundleStd(specifier);
if (used.size > 0) {
  const license = await Deno.readTextFile(`${PACKAGE}/LICENSE`);
  const theirs = license.replace(/^Copyright.*$/m, "Copyright 2018-2026 the Deno authors");
  await Deno.writeTextFile(`${PACKAGE}/std/LICENSE`, theirs);
}
await edit(emitted(BIN, ".js"), (code) => `#!/usr/bin/env node\n${code}`);
for (const entry of Object.values(deno.exports)) {
  // `deno pack` does not fail if it cannot emit types.
  await Deno.stat(`${PACKAGE}/${emitted(entry, ".d.ts")}`).catch(() => {
    throw new Error(`${entry} has no types in the package: run deno task publish:check`);
  });
  const types = await commonJsTypes(pathToFileURL(PROJECT + entry), emitted(entry, ".js"));
  await Deno.writeTextFile(`${PACKAGE}/${emitted(entry, ".d.cts")}`, types);
}
await edit(
  "package.json",
  (json) => `${JSON.stringify(completeManifest(JSON.parse(json)), null, 2)}\n`,
);
const args = ["pack", "--silent", "--pack-destination", DIST, PACKAGE];
console.log(`dist/${(await run("npm", args)).trim()}`);

/** Fields of package.json that `deno pack` writes. */
interface Manifest {
  name: string;
  dependencies: Record<string, string>;
  exports: Record<string, { types: string; default: string }>;
}

function completeManifest({ dependencies, exports, ...others }: Manifest): object {
  const { [STD_PACKAGE]: _bundled, ...installed } = dependencies;
  const { "./bin": _bin, ...entries } = exports;
  return {
    ...others,
    description: "Canada's open water-quality data from DataStream: client, CSV, edge function",
    keywords: ["datastream", "water-quality", "open-data", "canada", "odata", "csv", "geojson"],
    // `require()` loads ECMAScript modules from 20.19 on.
    engines: { node: ">=20.3" },
    sideEffects: false,
    // npm publishes scoped packages as private by default.
    publishConfig: { access: "public" },
    bin: { weir: emitted(BIN, ".js") },
    files: ["**/*.js", "**/*.d.ts", "**/*.d.cts", "std/LICENSE", "CHANGELOG.md"],
    exports: Object.fromEntries(
      Object.entries(entries).map(([name, { types, default: module }]) => [name, {
        require: { types: types.replace(/\.d\.ts$/, ".d.cts"), default: module },
        types,
        default: module,
      }]),
    ),
    dependencies: installed,
  };
}

/** Replaces the specifiers of @std, which npm cannot resolve, by relative paths. */
function resolveStd(path: string, code: string): string {
  const up = "../".repeat(path.split("/").length - 1) || "./";
  return code.replace(/^(import\b.* from )"(@std\/[^"]+)"/gm, (_, start, specifier) => {
    used.add(specifier);
    return `${start}"${up}${stdFile(specifier)}"`;
  });
}

function stdFile(specifier: string): string {
  return `${specifier.slice(1)}.js`;
}

/** Bundles a module of @std with all of its imports into one file. */
async function bundleStd(specifier: string): Promise<void> {
  const target = (deno.imports as Record<string, string>)[specifier]!;
  const output = `${PACKAGE}/${stdFile(specifier)}`;
  const args = ["bundle", "--quiet", "--platform", "browser", "--output", output, target];
  await run(Deno.execPath(), args);
  // The bundler's comments have absolute paths of this machine.
  await edit(
    stdFile(specifier),
    (code) => code.replace(new RegExp(`^// .*/(?=${STD_PACKAGE}/)`, "gm"), "// "),
  );
}

/** Returns the path in the package of a module of the project. */
function emitted(module: string, extension: string): string {
  return module.replace(/^\.\//, "").replace(/\.ts$/, extension);
}

async function edit(path: string, change: (text: string) => string): Promise<void> {
  const file = `${PACKAGE}/${path}`;
  await Deno.writeTextFile(file, change(await Deno.readTextFile(file)));
}
