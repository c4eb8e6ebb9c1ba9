// What a page of a browser loads of the npm package: bundled, minified, and packed by gzip -9.
import { assert } from "@std/assert";
import { createProject, output } from "./project.ts";

let folder: string;

Deno.test.beforeAll(async () => {
  ({ folder } = await createProject("esbuild", "@octokit/endpoint"));
});

Deno.test.afterAll(() => Deno.remove(folder, { recursive: true }));

/** The bytes of a module, and all that it needs. */
async function sizeOf(code: string): Promise<number> {
  await Deno.writeTextFile(`${folder}entry.js`, code);
  const flags = ["--bundle", "--minify", "--format=esm", "--platform=browser"];
  await output(folder, "npx", "esbuild", "entry.js", ...flags, "--outfile=bundle.js");
  await output(folder, "gzip", "--force", "-9", "--no-name", "bundle.js");
  const { size } = await Deno.stat(`${folder}bundle.js.gz`);
  console.log(`${code} ${size} bytes`);
  return size;
}

Deno.test("endpoint alone has at most 4,650 bytes: what nobody asks for falls away", async () => {
  const own = await sizeOf('export { endpoint } from "@weir/datastream";');
  // Wanted was less than theirs, which checks no template: the README says what the difference is.
  const theirs = await sizeOf('export { endpoint } from "@octokit/endpoint";');
  assert(own <= 4_650, `${own} bytes, theirs ${theirs}`);
});

Deno.test("all of mod.ts has at most 29,500 bytes", async () => {
  const size = await sizeOf('export * from "@weir/datastream";');
  assert(size <= 29_500, `${size} bytes`);
});
