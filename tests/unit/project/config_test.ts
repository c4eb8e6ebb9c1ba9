// deno.json (development, npm) and jsr.json (the published package, JSR) describe the same code, and only the tests
// download the packages of tests.
import { assertEquals } from "@std/assert";
import deno from "../../../deno.json" with { type: "json" };
import jsr from "../../../jsr.json" with { type: "json" };
import { PROJECT, VERSION } from "../../helpers/project.ts";

/** Versions of the @std packages in jsr.json; deno-std 1.4.0 has builds of them. */
const STD_VERSIONS: Record<string, string> = {
  "@std/assert": "^1.0.13",
  "@std/csv": "^1.0.6",
  "@std/http": "^1.0.16",
};
const DENO_STD = "npm:deno-std@1.4.0";

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

Deno.test("deno.lock has only packages of the sources, and tests/deno.lock the same versions of them", () => {
  const [lock, ofTests] = ["", "tests/"].map((folder) =>
    JSON.parse(Deno.readTextFileSync(`${PROJECT}${folder}deno.lock`))
  );
  const packageOf = (target: string) => /^npm:@?[^@]+@[^/]+/.exec(target)![0];
  // `deno task` downloads every package of deno.lock before the task runs.
  const packages = new Set(Object.values(deno.imports).map(packageOf));
  assertEquals(lock.workspace.dependencies, [...packages].sort());
  assertEquals({ ...ofTests.npm, ...lock.npm }, ofTests.npm);
});

Deno.test("the task doc checks the docstrings of every entry point", () => {
  const paths = deno.tasks.doc.command.split(" ").filter((word) => word.endsWith(".ts"));
  assertEquals(paths.sort(), Object.values(deno.exports).map((path) => path.slice(2)).sort());
});
