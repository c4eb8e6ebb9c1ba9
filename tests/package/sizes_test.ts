// What a page of a browser loads: minified, and packed by gzip -9.
import { assert } from "@std/assert";
import { output, ROOT } from "./project.ts";

/** All of mod.ts has at most so many bytes. */
const MOST = 25_000;

/** What is measured: names of the public module alone, so that what nobody asks for must fall away. */
const MODULES = {
  endpoint: `export { endpoint } from "${ROOT}mod.ts";`,
  octokit: `export { endpoint } from "@octokit/endpoint";`,
  whole: `export * from "${ROOT}mod.ts";`,
};

let sizes: Record<keyof typeof MODULES, number>;

Deno.test.beforeAll(async () => {
  const folder = await Deno.makeTempDir({ prefix: "weir-sizes-" });
  try {
    const measured = Object.entries(MODULES).map(async ([name, code]) => {
      await Deno.writeTextFile(`${folder}/${name}.ts`, code);
      const flags = ["--quiet", "--config", "tests/deno.json", "--platform", "browser", "--minify"];
      const [from, to] = [`${folder}/${name}.ts`, `${folder}/${name}.js`];
      await output(ROOT, Deno.execPath(), "bundle", ...flags, "--output", to, from);
      await output(ROOT, "gzip", "-9", "--no-name", to);
      return [name, (await Deno.stat(`${to}.gz`)).size];
    });
    sizes = Object.fromEntries(await Promise.all(measured));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  console.log(
    `gzip bytes: endpoint ${sizes.endpoint}, @octokit/endpoint ${sizes.octokit}, mod.ts ${sizes.whole}`,
  );
});

Deno.test("endpoint alone is smaller than @octokit/endpoint", () => {
  assert(sizes.endpoint < sizes.octokit, `${sizes.endpoint} bytes, theirs ${sizes.octokit}`);
});

Deno.test(`mod.ts whole has at most ${MOST} bytes`, () => {
  assert(sizes.whole <= MOST, `${sizes.whole} bytes`);
});
