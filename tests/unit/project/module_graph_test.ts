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
}

const ROOT = new URL("../../../", import.meta.url).href;

/**
 * Returns the files and npm modules that a module imports when it is loaded, directly or not; sorted.
 *
 * @param withTypes Whether to follow imports of types, which only a compiler loads
 */
async function reachedBy(entry: string, withTypes = true) {
  const printed = await runProgram(Deno.execPath(), "info", "--json", entry);
  assert(printed?.success, printed?.stderr);
  const { modules }: Info = JSON.parse(printed.stdout);
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
  const specifiers = [...reached].sort();
  return {
    files: specifiers.filter((name) => name.startsWith(ROOT)).map((name) =>
      name.slice(ROOT.length)
    ),
    npm: specifiers.flatMap((name) => {
      const [, module, path] = /^npm:\/?((?:@[^/]+\/)?[^@/]+)@[^/]+(.*)$/.exec(name) ?? [];
      return module ? [module + path] : [];
    }),
  };
}

// layers_test.ts compares the folders.
Deno.test("mod.ts imports only what it needs of two packages", async () => {
  const { npm } = await reachedBy("mod.ts");
  assertEquals(npm, ["deno-std/csv/stringify.js", "url-template"]);
});

const SERVER = ["deno-std", "hono", "url-template"];
/** Packages by entry point. */
const PACKAGES: Record<string, readonly string[]> = {
  "src/endpoint/mod.ts": ["url-template"],
  "edge/app.ts": SERVER,
  "edge/serve.ts": SERVER,
  "edge/server/cloudflare/mod.ts": SERVER,
  "edge/node.ts": ["@hono/node-server", ...SERVER],
  "edge/server/deno/kv_rate_limiter.ts": [],
  "src/cli/main.ts": ["deno-std"],
  "src/formats/parquet.ts": ["deno-std", "hyparquet-writer"],
  "src/sandbox/service.ts": [],
  "src/sync/sync.ts": ["deno-std", "url-template"],
};
for (const [entry, packages] of Object.entries(PACKAGES)) {
  Deno.test(`${entry} imports only the packages that it needs`, async () => {
    const { npm } = await reachedBy(entry);
    const names = npm.map((path) => /^(@[^/]+\/)?[^/]+/.exec(path)![0]);
    assertEquals([...new Set(names)], packages);
  });
}

Deno.test("edge/app.ts loads the web page, Parquet and meanings of fields only at a request", async () => {
  const { files, npm } = await reachedBy("edge/app.ts", false);
  const lazy = /^edge\/page\/|^src\/formats\/parquet|data_package|field_meanings/;
  assertEquals(files.filter((path) => lazy.test(path)), ["edge/page/paths.ts"]);
  assertEquals(npm.filter((path) => path.startsWith("hyparquet")), []);
});

Deno.test("the command line loads client, sandbox and server only when a command runs", async () => {
  const { files, npm } = await reachedBy("src/cli/main.ts", false);
  assert(files.includes("src/cli/commands.ts"));
  const unexpected =
    /^(edge|src\/(client|endpoint|sandbox|signing))\/|^src\/cli\/(cite|download|prompt|serve)/;
  assertEquals(files.filter((path) => unexpected.test(path)), []);
  assertEquals(npm, ["deno-std/csv/parse.js", "deno-std/csv/stringify.js"]);
  const functions = await reachedBy("src/cli/command_functions.ts", false);
  for (const command of ["serve", "mcp"]) {
    assert(functions.files.includes(`src/cli/${command}.ts`));
  }
  const others = /^(edge|src\/sandbox)\/(?!assumptions)|mcp_library/;
  assertEquals(functions.files.filter((path) => others.test(path)), []);
  assertEquals(functions.npm.filter((path) => path.startsWith("@modelcontextprotocol")), []);
});
