// deno.json (development, npm) and jsr.json (the published package, JSR) describe the same code.
import { assert, assertEquals } from "@std/assert";
import deno from "../../../deno.json" with { type: "json" };
import jsr from "../../../jsr.json" with { type: "json" };
import { importsOf, sourceFiles, VERSION } from "../../helpers/project.ts";

/** Versions of the @std packages in jsr.json; deno-std 1.4.0 has builds of them. */
const STD_VERSIONS: Record<string, string> = {
  "@std/assert": "^1.0.13",
  "@std/csv": "^1.0.6",
  "@std/http": "^1.0.16",
};
const DENO_STD = "npm:deno-std@1.4.0";

/** A dependency of hyparquet-writer, so it is downloaded in any case. */
const OWN_DEPENDENCY = "hyparquet";

const denoImports: Record<string, string> = deno.imports;
const jsrImports: Record<string, string> = jsr.imports;

Deno.test("deno.json has the name, exports and specifiers of jsr.json when it is read", () => {
  assertEquals(deno.name, jsr.name);
  assertEquals(deno.exports, jsr.exports);
  assertEquals(Object.keys(deno.exports), [
    ".",
    "./endpoint",
    "./cli",
    "./edge",
    "./serve",
    "./node",
    "./cloudflare",
    "./deno-kv",
    "./parquet",
    "./sandbox",
  ]);
  assertEquals(Object.keys(denoImports), Object.keys(jsrImports));
});

Deno.test("VERSION equals the version of jsr.json when it is read, and deno.json has none", () => {
  assertEquals(jsr.version, VERSION);
  assertEquals("version" in deno, false);
});

for (const [specifier, target] of Object.entries(jsrImports)) {
  Deno.test(`deno.json resolves ${specifier} to the package of jsr.json when a module imports it`, () => {
    if (!specifier.startsWith("@std/")) {
      assertEquals(target.replace(/@\^?[\d.]+(?=\/|$)/, ""), `npm:${specifier}`);
      assertEquals(denoImports[specifier], target);
      return;
    }
    const [scope, name, ...path] = specifier.split("/");
    const module = `${scope}/${name}`;
    assertEquals(target, ["jsr:" + module + "@" + STD_VERSIONS[module], ...path].join("/"));
    const file = path.length === 0 ? "mod" : path.join("/").replaceAll("-", "_");
    assertEquals(denoImports[specifier], `${DENO_STD}/${name}/${file}.js`);
  });
}

Deno.test("deno.json lists exactly the bare specifiers that modules import when it is read", async () => {
  const tree = await sourceFiles("mod.ts", "src", "edge", "tests");
  const { others = [], gate = [] } = Object.groupBy(
    tree,
    (path) =>
      /^tests\/(bench|e2e\/browser|mutation|package|properties)\//.test(path) ? "others" : "gate",
  );
  const bareSpecifiers = (paths: string[]) =>
    new Set(paths.flatMap(importsOf).filter((specifier) => !/^(\.|node:)/.test(specifier)));
  // `deno task test` downloads deno-std in any case, but no other package of the tests' scope.
  const scope: Record<string, string> = deno.scopes["./tests/"];
  const loaded = [...bareSpecifiers(gate)].filter((name) =>
    !scope[name]?.startsWith(DENO_STD) && name !== OWN_DEPENDENCY
  );
  assertEquals(loaded.sort(), Object.keys(denoImports).sort());
  for (const [specifier, target] of Object.entries(scope)) {
    const importing = target.startsWith(DENO_STD) || specifier === OWN_DEPENDENCY ? tree : others;
    assert([...bareSpecifiers(importing)].some((name) => name.startsWith(specifier)), specifier);
    assert(!(specifier in denoImports), specifier);
  }
  const scripts = bareSpecifiers(await sourceFiles(".ci"));
  for (const specifier of Object.keys(deno.scopes["./.ci/"])) assert(scripts.has(specifier));
  const published = tree.filter((path) => !path.startsWith("tests/")).flatMap(importsOf);
  for (const specifier of published) assert(!/^(https?|npm|jsr):/.test(specifier), specifier);
});

Deno.test("jsr.json includes every entry point, no tests and no examples when it is read", () => {
  for (const folder of ["tests", "examples"]) {
    assertEquals(jsr.publish.include.includes(folder), false);
  }
  for (const path of Object.values(jsr.exports)) {
    const [folder] = path.slice(2).split("/");
    assert(jsr.publish.include.includes(folder!), path);
  }
});
