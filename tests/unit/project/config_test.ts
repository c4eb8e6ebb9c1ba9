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

Deno.test("deno.json has the name, exports, version and packages of jsr.json", () => {
  assertEquals([deno.name, deno.exports], [jsr.name, jsr.exports]);
  assertEquals([VERSION, "version" in deno], [jsr.version, false]);
  const toNpm = ([specifier, target]: [string, string]): [string, string] => {
    const [, name, path] = /^@std\/(\w+)\/?(.*)$/.exec(specifier) ?? [];
    if (name === undefined) {
      assertEquals(target.replace(/@\^?[\d.]+(?=\/|$)/, ""), `npm:${specifier}`);
      return [specifier, target];
    }
    const version = `jsr:@std/${name}@${STD_VERSIONS[`@std/${name}`]}`;
    assertEquals(target, path ? `${version}/${path}` : version);
    return [specifier, `${DENO_STD}/${name}/${path ? path.replaceAll("-", "_") : "mod"}.js`];
  };
  assertEquals(Object.entries(deno.imports), Object.entries(jsr.imports).map(toNpm));
});

Deno.test("deno.json lists exactly the packages of the modules", async () => {
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
  assertEquals(loaded.sort(), Object.keys(deno.imports).sort());
  for (const [specifier, target] of Object.entries(scope)) {
    const importing = target.startsWith(DENO_STD) || specifier === OWN_DEPENDENCY ? tree : others;
    assert([...bareSpecifiers(importing)].some((name) => name.startsWith(specifier)), specifier);
  }
  const published = tree.filter((path) => !path.startsWith("tests/")).flatMap(importsOf);
  for (const specifier of published) assert(!/^(https?|npm|jsr):/.test(specifier), specifier);
});
