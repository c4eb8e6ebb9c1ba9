// publint and Are the Types Wrong accept the npm package, and its parts are small in a browser: bundled with esbuild,
// minified and compressed with gzip -9.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import jsr from "../../jsr.json" with { type: "json" };
import { type ConsumerProject, createProject, output } from "./project.ts";

let project: ConsumerProject;

Deno.test.beforeAll(async () => {
  project = await createProject(
    "publint@0.3.25",
    "@arethetypeswrong/cli@0.18.5",
    "esbuild@0.28.2",
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

Deno.test("attw reports at most that CommonJS gets an ECMAScript module when it checks the package", async () => {
  // The profile leaves out the resolution of versions of Node that do not read `exports`.
  const flags = [
    "--profile",
    "node16",
    "--ignore-rules",
    "cjs-resolves-to-esm",
    "--format",
    "ascii",
  ];
  const printed = await output(
    project.folder,
    "npx",
    "attw",
    project.tarball,
    ...flags,
    "--no-emoji",
  );
  for (const entry of Object.keys(jsr.exports)) {
    assertStringIncludes(printed, `"${jsr.name}${entry.slice(1)}"`);
  }
});

/** Returns the compressed size (bytes) of a module bundled with its imports. */
async function sizeOf(code: string): Promise<number> {
  const { folder } = project;
  await Deno.writeTextFile(`${folder}entry.js`, code);
  const flags = ["--bundle", "--minify", "--format=esm", "--platform=browser"];
  await output(folder, "npx", "esbuild", "entry.js", ...flags, "--outfile=bundle.js");
  await output(folder, "gzip", "--force", "-9", "--no-name", "bundle.js");
  const { size } = await Deno.stat(`${folder}bundle.js.gz`);
  console.log(`${code} ${size} bytes`);
  return size;
}

Deno.test("endpoint has at most 5,150 bytes when it is bundled alone", async () => {
  const size = await sizeOf('export { endpoint } from "@weir/datastream";');
  assert(size <= 5_150, `${size} bytes`);
});

// Rows ready for analysis (the option `tidy`) take 5,000 of them, writing pages while they arrive 4,500, the resumable result
// (`query.batches()`) and `ValidationError` 1,900, rate limiters that several processes share 1,300, `sameVersion` 1,000, and what to check when a
// connection fails 800.
Deno.test("mod.ts has at most 46,400 bytes when it is bundled", async () => {
  const size = await sizeOf('export * from "@weir/datastream";');
  assert(size <= 46_400, `${size} bytes`);
});
