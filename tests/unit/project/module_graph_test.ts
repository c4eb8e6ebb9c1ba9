// Each entry point loads only the modules and packages that it needs, types included.
import { assert, assertEquals } from "@std/assert";
import { runProgram } from "../../helpers/programs.ts";

/** Part of the output of `deno info --json`. */
interface Info {
  modules: {
    specifier: string;
    dependencies?: {
      code?: { specifier: string };
      type?: { specifier: string };
      isDynamic?: boolean;
    }[];
  }[];
  npmPackages: Record<string, { name: string; dependencies: string[] }>;
}

const ROOT = new URL("../../../", import.meta.url).href;

/**
 * Returns the files, npm modules and npm packages that a module imports when it is loaded, directly or not;
 * sorted.
 *
 * @param withTypes Whether to follow imports of types, which only a compiler loads
 */
async function reachedBy(
  entry: string,
  withTypes = true,
): Promise<{ files: string[]; npm: string[]; packages: string[] }> {
  const printed = await runProgram(Deno.execPath(), "info", "--json", entry);
  assert(printed?.success, printed?.stderr);
  const { modules, npmPackages }: Info = JSON.parse(printed.stdout);
  const reached = new Set<string>();
  // `modules` also has the modules of `compilerOptions.types`, so the imports are followed.
  const visit = (specifier: string) => {
    if (reached.has(specifier)) return;
    reached.add(specifier);
    const dependencies = modules.find((module) => module.specifier === specifier)?.dependencies;
    for (const { code, type, isDynamic } of dependencies ?? []) {
      if (isDynamic) continue;
      if (code) visit(code.specifier);
      if (type && withTypes) visit(type.specifier);
    }
  };
  visit(ROOT + entry);
  const packages = new Set<string>();
  const add = (name: string) => {
    if (packages.has(name)) return;
    packages.add(name);
    for (const installed of Object.values(npmPackages).filter((other) => other.name === name)) {
      for (const id of installed.dependencies) add(id.replace(/(?<!^)@.*$/, ""));
    }
  };
  const files: string[] = [];
  const npm: string[] = [];
  for (const specifier of reached) {
    const [, name, path = ""] = /^npm:\/?((?:@[^/]+\/)?[^@/]+)@[^/]+(.*)$/.exec(specifier) ?? [];
    if (name) add(name), npm.push(name + path);
    else if (specifier.startsWith(ROOT)) files.push(specifier.slice(ROOT.length));
    else assert(specifier.startsWith("node:"), specifier);
  }
  return { files: files.sort(), npm: npm.sort(), packages: [...packages].sort() };
}

// layers_test.ts compares the folders.
Deno.test("mod.ts imports only two packages, and of these only what it needs", async () => {
  const { npm, packages } = await reachedBy("mod.ts");
  assertEquals(packages, ["deno-std", "url-template"]);
  assertEquals(npm, ["deno-std/csv/stringify.js", "url-template"]);
});

const SERVER = ["deno-std", "hono", "url-template"];
/** Packages by entry point. */
const PACKAGES: Record<string, readonly string[]> = {
  "src/endpoint/mod.ts": ["url-template"],
  "edge/app.ts": SERVER,
  "edge/serve.ts": SERVER,
  "edge/cloudflare/mod.ts": SERVER,
  "edge/node.ts": ["@hono/node-server", ...SERVER],
  "edge/deno/kv_rate_limiter.ts": [],
  "src/cli/main.ts": ["deno-std", "url-template"],
  "src/formats/parquet.ts": ["deno-std", "hyparquet", "hyparquet-writer"],
  "src/sandbox/service.ts": [],
};
for (const [entry, packages] of Object.entries(PACKAGES)) {
  Deno.test(`${entry} imports only the packages that it needs`, async () => {
    assertEquals((await reachedBy(entry)).packages, packages);
  });
}

Deno.test("the command line loads client, sandbox and server only when a command runs", async () => {
  const { files, npm } = await reachedBy("src/cli/main.ts", false);
  assert(files.includes("src/cli/commands.ts"));
  const unexpected =
    /^(edge|src\/(client|endpoint|sandbox|signing))\/|^src\/cli\/(cite|download|prompt|serve)/;
  assertEquals(files.filter((path) => unexpected.test(path)), []);
  assertEquals(npm, ["deno-std/csv/parse.js", "deno-std/csv/stringify.js"]);
  const functions = (await reachedBy("src/cli/command_functions.ts", false)).files;
  assert(functions.includes("src/cli/serve.ts"));
  assertEquals(functions.filter((path) => /^(edge|src\/sandbox)\//.test(path)), []);
});
