// publint and Are the Types Wrong accept the npm package, and its parts are small: bundled and minified with esbuild, and for
// browsers compressed with gzip -9.
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

/** Bundles a module with its imports. */
async function bundle(code: string, ...flags: string[]): Promise<void> {
  const { folder } = project;
  await Deno.writeTextFile(`${folder}entry.js`, code);
  const own = ["--bundle", "--minify", "--format=esm", "--external:node:*"];
  await output(folder, "npx", "esbuild", "entry.js", ...own, ...flags);
}

/** Returns the compressed size (bytes) of a module bundled for browsers. */
async function sizeOf(code: string): Promise<number> {
  const { folder } = project;
  await bundle(code, "--platform=browser", "--outfile=bundle.js");
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
// (`query.batches()`) and `ValidationError` 1,900, rate limiters that several processes share 1,300, `sameVersion` 1,000, what to check when a
// connection fails 800, what is known about the service, its errors and its links 3,600, and the rows of formats that
// other modules write, and hints for functions of OData, 900, memory that pages use again and compressors free, and the ends of cells that are found again, 300.
Deno.test("mod.ts has at most 51,050 bytes when it is bundled", async () => {
  const size = await sizeOf('export * from "@weir/datastream";');
  assert(size <= 51_050, `${size} bytes`);
});

/** Returns the size (bytes) of the files that an entry of split chunks loads before its first dynamic import. */
async function loadedSize(folder: string, file: string, seen = new Set<string>()): Promise<number> {
  if (seen.has(file)) return 0;
  seen.add(file);
  const code = await Deno.readTextFile(folder + file);
  const imports = code.matchAll(/\b(?:from|import)"\.\/([^"]+)"/g);
  let size = new TextEncoder().encode(code).length;
  for (const [, path] of imports) size += await loadedSize(folder, path!, seen);
  return size;
}

const WORKER = `import { createApp } from "@weir/datastream/edge";
export default createApp({ access: "caller", page: false });`;
/** A text of the page's style, and one of a download. */
const [OF_PAGE, OF_DOWNLOADS] = ["@media print", "content-disposition"];

Deno.test("edge loads at most 280,000 bytes before the first page when its chunks are split", async () => {
  const folder = `${project.folder}split/`;
  await bundle(WORKER.replace(", page: false", ""), "--splitting", `--outdir=${folder}`);
  const size = await loadedSize(folder, "entry.js");
  console.log(`edge before the first page ${size} bytes`);
  assert(size <= 280_000, `${size} bytes`);
});

Deno.test("a bundle in one file has the web page, unless WEIR_PAGE is false", async () => {
  const path = `${project.folder}worker.js`;
  for (const [flags, hasPage] of [[[], true], [["--define:WEIR_PAGE=false"], false]] as const) {
    await bundle(WORKER, `--outfile=${path}`, ...flags);
    const code = await Deno.readTextFile(path);
    console.log(`edge in one file ${flags} ${code.length} bytes`);
    assertEquals([code.includes(OF_DOWNLOADS), code.includes(OF_PAGE)], [true, hasPage]);
  }
});
