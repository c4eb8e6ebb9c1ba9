// Sizes of the npm package in a browser: bundled, minified and compressed with gzip -9.
import { assert } from "@std/assert";
import { createProject, output } from "./project.ts";

let folder: string;

Deno.test.beforeAll(async () => {
  ({ folder } = await createProject("esbuild@0.28.2", "@octokit/endpoint@11.0.5"));
});

Deno.test.afterAll(() => Deno.remove(folder, { recursive: true }));

/** Returns the compressed size (bytes) of a module bundled with its imports. */
async function sizeOf(code: string): Promise<number> {
  await Deno.writeTextFile(`${folder}entry.js`, code);
  const flags = ["--bundle", "--minify", "--format=esm", "--platform=browser"];
  await output(folder, "npx", "esbuild", "entry.js", ...flags, "--outfile=bundle.js");
  await output(folder, "gzip", "--force", "-9", "--no-name", "bundle.js");
  const { size } = await Deno.stat(`${folder}bundle.js.gz`);
  console.log(`${code} ${size} bytes`);
  return size;
}

Deno.test("endpoint has at most 4,785 bytes when it is bundled alone", async () => {
  const size = await sizeOf('export { endpoint } from "@weir/datastream";');
  // For comparison only: @octokit/endpoint does not validate templates.
  const octokitSize = await sizeOf('export { endpoint } from "@octokit/endpoint";');
  assert(size <= 4_785, `${size} bytes; @octokit/endpoint has ${octokitSize}`);
});

// Rows ready for analysis (the option `tidy`) take 5,000 of them, writing pages while they arrive 4,500, the resumable result
// (`query.batches()`) and `ValidationError` 1,900, and rate limiters that several processes share 1,300.
Deno.test("mod.ts has at most 42,900 bytes when it is bundled", async () => {
  const size = await sizeOf('export * from "@weir/datastream";');
  assert(size <= 42_900, `${size} bytes`);
});
