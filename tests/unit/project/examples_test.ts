// The programs of examples/ and their README. `deno task test tests/e2e/examples` runs them.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import jsr from "../../../jsr.json" with { type: "json" };
import { filesIn } from "../../helpers/project.ts";

const files = (await Array.fromAsync(filesIn("examples/")))
  .filter((path) => !path.includes("/node_modules/") && !path.includes("/dist/")).sort();
const readme = await Deno.readTextFile("examples/README.md");
/** Targets of the links in the first column of the table. */
const listed = [...readme.matchAll(/^\| \[[^\]]+\]\(([^)]+)\)/gm)].map(([, path]) => path!);

Deno.test("examples/README.md lists a program of each folder and no other files when it is read", () => {
  assertEquals(listed.filter((path) => !files.includes(path)), []);
  const folders = new Set(files.filter((path) => path.includes("/")).map(folderOf));
  assertEquals([...new Set(listed.map(folderOf))].sort(), [...folders].sort());
});

Deno.test("the examples name the version of jsr.json when they install the package", async () => {
  assertStringIncludes(readme, `/weir-datastream-${jsr.version}.tgz\n`);
  const manifests = files.filter((path) => path.endsWith("/package.json"));
  assert(manifests.length > 0);
  for (const path of manifests) {
    const { dependencies } = JSON.parse(await Deno.readTextFile(`examples/${path}`));
    assertEquals(dependencies["@weir/datastream"], `^${jsr.version}`, path);
  }
});

Deno.test("the example for Deno Deploy resolves the import of its entry point to JSR when it is read", async () => {
  const { imports, deploy } = JSON.parse(await Deno.readTextFile("examples/deno-deploy/deno.json"));
  const code = await Deno.readTextFile(`examples/deno-deploy/${deploy.runtime.entrypoint}`);
  const [, specifier] = /^export \{ default \} from "([^"]+)";$/m.exec(code)!;
  const target = specifier!.replace(jsr.name, `jsr:${jsr.name}@^${jsr.version}`);
  assertEquals(imports, { [specifier!]: target });
});

function folderOf(path: string): string {
  return path.split("/")[0]!;
}
