// Tests the npm package with tools of its users: publint, Are the Types Wrong, tsx and Jest.
import "../helpers/task_permissions.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import jsr from "../../jsr.json" with { type: "json" };
import { type ConsumerProject, createProject, output, run } from "./project.ts";

let project: ConsumerProject;

Deno.test.beforeAll(async () => {
  project = await createProject(
    ...["publint@^0.3.25", "@arethetypeswrong/cli@^0.18.5", "tsx@^4.23.15", "jest@^30.5.2"],
  );
});
Deno.test.afterAll(() => Deno.remove(project.folder, { recursive: true }));

Deno.test("publint reports neither errors nor warnings when it checks the package", async () => {
  const printed = await output(project.folder, "npx", "publint", "--strict", project.tarball);
  const findings = [...printed.matchAll(/^\d+\. (.*)$/gm)].map(([, text]) => text!);
  // The field `browser` is for tools that do not read `exports`; the condition would make a second instance.
  assertEquals(findings.map((text) => text.slice(0, 32)), ["pkg.browser with a string value "]);
  assertStringIncludes(printed, "Suggestions:");
});

Deno.test("attw reports only that CommonJS gets an ECMAScript module when it checks the package", async () => {
  // The profile leaves out the resolution of versions of Node that do not read `exports`.
  const attw = ["attw", project.tarball, "--profile", "node16", "--format", "ascii", "--no-emoji"];
  const all = await run(project.folder, {}, "npx", ...attw);
  assertEquals(all.code, 1);
  assertStringIncludes(all.stdout, "/CJSResolvesToESM.md");
  const args = [...attw, "--ignore-rules", "cjs-resolves-to-esm"];
  const others = await run(project.folder, {}, "npx", ...args);
  assertEquals(others.code, 0, others.stdout);
  for (const entry of Object.keys(jsr.exports)) {
    assertStringIncludes(others.stdout, `"${jsr.name}${entry.slice(1)}"`);
  }
});

for (const type of ["module", "commonjs"]) {
  Deno.test(`tsx runs a program when package.json has the type ${type}`, async () => {
    const folder = `${project.folder}tsx-${type}`;
    await Deno.mkdir(folder);
    await Deno.writeTextFile(`${folder}/package.json`, JSON.stringify({ type }));
    const program = new URL("consumer/program.ts", import.meta.url);
    await Deno.copyFile(program, `${folder}/program.ts`);
    const printed = await output(project.folder, "npx", "tsx", `${folder}/program.ts`);
    assertEquals(printed, "number 200 true number 403\n");
  });
}

Deno.test("tsx loads the package from a file .cts except in Node 20", async () => {
  const load = async (name: string, code: string) => {
    await Deno.writeTextFile(project.folder + name, code);
    return (await run(project.folder, {}, "npx", "tsx", name)).code;
  };
  const version = await output(project.folder, "node", "--version");
  const expected = version.startsWith("v20.") ? 1 : 0;
  assertEquals(await load("import.cts", 'import "@weir/datastream";'), expected);
  assertEquals(await load("dynamic.cts", 'void import("@weir/datastream");'), 0);
});

Deno.test("Jest loads the package with import only with --experimental-vm-modules", async () => {
  const tests = {
    "import.test.mjs": 'import { eq } from "@weir/datastream";',
    "dynamic.test.cjs": 'const loaded = import("@weir/datastream");',
  };
  for (const [name, code] of Object.entries(tests)) {
    const assertion = code.startsWith("import")
      ? `test("eq", () => expect(eq("DOI", "x")).toBeDefined());`
      : `test("eq", async () => expect((await loaded).eq("DOI", "x")).toBeDefined());`;
    await Deno.writeTextFile(`${project.folder}${name}`, `${code}\n${assertion}\n`);
    const jest = async (...flags: string[]) => {
      const args = [...flags, "node_modules/jest/bin/jest.js", "--runTestsByPath", name];
      const config = { transform: {}, testMatch: ["**/*.test.*"] };
      return await run(project.folder, {}, "node", ...args, "--config", JSON.stringify(config));
    };
    const { code: status, stderr } = await jest("--experimental-vm-modules");
    assertEquals(status, 0, stderr);
    assert((await jest()).code !== 0, name);
  }
});
