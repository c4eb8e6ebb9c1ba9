// The npm package has only what its entry points need, and works in Node.
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { NODE_ENGINES } from "../../src/node_version.ts";
import jsr from "../../jsr.json" with { type: "json" };
import { publicSymbols } from "./public_symbols.ts";
import { filesIn, PROJECT, resolve } from "../helpers/project.ts";
import { type ConsumerProject, createProject, output, run } from "./project.ts";

const CONSUMER = new URL("consumer/", import.meta.url);

/** Files in the package that are neither code nor types nor maps. */
const TEXTS = [
  "CHANGELOG.md",
  "LICENSE",
  "README.md",
  "SKILL.md",
  "THIRD-PARTY-LICENSES.txt",
  "package.json",
];

let project: ConsumerProject;
let files: string[];

Deno.test.beforeAll(async () => {
  project = await createProject();
  files = await Array.fromAsync(filesIn(project.installed));
  for await (const { name } of Deno.readDir(CONSUMER)) {
    if (/\.[cm]js$/.test(name)) await Deno.copyFile(new URL(name, CONSUMER), project.folder + name);
  }
});
Deno.test.afterAll(() => Deno.remove(project.folder, { recursive: true }));

Deno.test("the package has the code, types and maps of its entry points, and their sources, but no tests", () => {
  const { exports, bin, browser } = readJson("package.json");
  const entries = Object.values<{ types: string; default: string }>(exports)
    .filter((entry) => typeof entry !== "string");
  const named = [...entries.flatMap((entry) => Object.values(entry)), bin.weir, browser];
  const maps = files.filter((file) => file.endsWith(".map"));
  const sources = maps.flatMap(sourcesOf).filter((source) => !source.startsWith("npm:"));
  for (const path of [...named.map((path) => path.replace("./", "")), ...sources]) {
    assert(files.includes(path), path);
  }
  const others = files.filter((file) => !/\.(js|d\.ts)(\.map)?$/.test(file));
  assertEquals(others.sort(), [...new Set([...TEXTS, ...sources])].sort());
  for (const file of files) assert(!/(^|\/)tests?\/|_test\./.test(file), file);
});

Deno.test("a stack trace names lines of the sources when Node enables source maps", async () => {
  const args = ["--enable-source-maps", "source_map.mjs"];
  const { stderr } = await run(project.folder, {}, "node", ...args);
  const [, path, line] = /@weir\/datastream\/(src\/endpoint\/\S+\.ts):(\d+):\d+/.exec(stderr) ?? [];
  assert(path, stderr);
  const source = Deno.readTextFileSync(project.installed + path).split("\n");
  assertMatch(source[Number(line) - 1]!, /throw|invalidOption|new ValidationError/);
  assertEquals(source.join("\n"), Deno.readTextFileSync(PROJECT + path));
});

Deno.test("the package has the licence of each npm package that it contains", async () => {
  const notices = await Deno.readTextFile(`${project.installed}THIRD-PARTY-LICENSES.txt`);
  const inBrowser = await Deno.readTextFile(`${project.installed}dist/weir.js`);
  const maps = files.filter((file) => file.endsWith(".js.map"));
  const namesIn = (map: string) =>
    sourcesOf(map).flatMap((source) => /^npm:((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1] ?? []);
  const contained = [...new Set(maps.flatMap(namesIn))].sort();
  assertEquals(contained.map((name) => name.replace(/(?<=.)@.*/, "")), [
    "@hono/node-server",
    "@modelcontextprotocol/core",
    "@modelcontextprotocol/server",
    "deno-std",
    "hono",
    "hyparquet-writer",
    "hyparquet",
    "url-template",
    "zod",
  ]);
  for (const name of contained) assertStringIncludes(notices, `\n${name}\n-`);
  for (const name of namesIn("dist/weir.js.map")) assertStringIncludes(inBrowser, `\n${name}\n\n`);
  for (const text of [notices, inBrowser]) {
    assertStringIncludes(text, "Copyright (c) 2012-2014, Bram Stein");
    assertStringIncludes(text, "Copyright 2018-2026 the Deno authors");
  }
  // Packages whose code is in a file of another one.
  for (const name of ["@cfworker/json-schema", "content-type"]) {
    assertStringIncludes(notices, `\n${name}@`);
  }
  assertStringIncludes(inBrowser, "Copyright (c) 2026");
});

Deno.test("the package has no paths of the build machine when it is installed", async () => {
  const { HOME = "", DENO_DIR = "" } = Deno.env.toObject();
  const folders = [HOME, DENO_DIR].filter((folder) => folder !== "").map((path) => `${path}/`);
  const paths = [PROJECT, ...folders, "file:///", ".cache/deno", "node_modules/"];
  for (const file of files) {
    const text = await Deno.readTextFile(project.installed + file);
    for (const path of paths) assert(!text.includes(path), `${file} has ${path}`);
    // A path that leaves the package: its files are at most four folders deep.
    assert(!/(\.\.\/){5}/.test(text), file);
  }
});

Deno.test("package.json has the version and license of jsr.json when the package is built", () => {
  const { version, license, engines, sideEffects, description, exports, dependencies } = readJson(
    "package.json",
  );
  assertEquals([version, license], [jsr.version, jsr.license]);
  assertEquals([engines.node, sideEffects], [NODE_ENGINES, false]);
  assertEquals(dependencies, undefined);
  assertEquals(Object.keys(exports), [...Object.keys(jsr.exports), "./package.json"]);
  assert(description.length > 20);
});

Deno.test("import and require give the same exports when Node loads each entry point", async () => {
  const entries = Object.keys(jsr.exports).map((entry) => `${jsr.name}${entry.slice(1)}`);
  // The entry `./serve` reads the configuration of the server, and can log it.
  const environment = { WEIR_SANDBOX: "1" };
  const result = await run(project.folder, environment, "node", "names.cjs", ...entries);
  assert(!/warning|error/i.test(result.stderr), result.stderr);
  const { required, imported } = JSON.parse(result.stdout);
  const sources = await Promise.all(
    Object.values(jsr.exports).map(async (path) =>
      (await publicSymbols(path)).filter(({ declarations }) =>
        declarations.some(({ kind }) => !["interface", "typeAlias"].includes(kind))
      ).map(({ name }) => name).sort()
    ),
  );
  assertEquals(required, sources);
  assertEquals(imported, sources);
});

Deno.test("all entry points share one rate limiter when import and require load the package", async () => {
  const { requests, parallel, tooFast, hasOneError } = JSON.parse(
    await output(project.folder, "node", "shared_rate_limit.cjs"),
  );
  assertEquals({ requests, parallel, tooFast }, { requests: 7, parallel: 0, tooFast: 0 });
  assert(hasOneError);
});

Deno.test("weir mcp answers from the package, and no other command loads its library", async () => {
  const chunks = files.filter((file) => file.endsWith(".js.map"))
    .filter((map) =>
      sourcesOf(map).some((source) => source.startsWith("npm:@modelcontextprotocol"))
    )
    .map((map) => map.slice("lib/".length, -".map".length));
  assertEquals(chunks.length, 1);
  for (const file of files.filter((file) => /^lib\/.*\.js$/.test(file))) {
    const code = await Deno.readTextFile(project.installed + file);
    assert(
      !code.includes(`from "./${chunks[0]}"`) && !code.includes(`import "./${chunks[0]}"`),
      file,
    );
  }
  const params = {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  };
  const request = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
  const shell = `echo '${request}' | npx weir mcp . --sandbox`;
  const { stdout } = await run(project.folder, {}, "bash", "-c", shell);
  assertEquals(JSON.parse(stdout).result.serverInfo, { name: "weir", version: jsr.version });
});

function readJson(file: string) {
  return JSON.parse(Deno.readTextFileSync(project.installed + file));
}

/** Returns the sources of a map as paths in the package; those of npm packages begin with `npm:`. */
function sourcesOf(map: string): string[] {
  const { sources }: { sources: string[] } = readJson(map);
  return sources.map((source) => source.startsWith("npm:") ? source : resolve(map, source));
}
