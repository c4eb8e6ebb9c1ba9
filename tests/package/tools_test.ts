// Tests the npm package with tools of its users: publint, Are the Types Wrong, tsx and Jest.
import { assertEquals, assertStringIncludes } from "@std/assert";
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
