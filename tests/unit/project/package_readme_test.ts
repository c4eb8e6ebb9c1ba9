// The README of the npm package, and the pages of JSR.
import { assert, assertEquals } from "@std/assert";
import { packageReadme } from "../../../.ci/npm/readme.ts";
import jsr from "../../../jsr.json" with { type: "json" };

const REPOSITORY = "https://github.com/owner/weir";
const README = await Deno.readTextFile("README.md");

/** Returns the targets of links and images, without those in code blocks. */
function targetsOf(markdown: string): string[] {
  const text = markdown.replace(/^```[^]*?^```$/gm, "");
  return [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, target]) => target!);
}

Deno.test("packageReadme() removes images and leads links to the tag when the repository is known", () => {
  const readme = packageReadme(README, REPOSITORY, "1.2.3");
  assertEquals(readme.match(/!\[|<img/), null);
  const relative = targetsOf(README).filter((target) => !/^(https:|#)/.test(target));
  assert(relative.length > 10);
  const links = relative.filter((target) => !target.endsWith(".png"))
    .map((target) => `${REPOSITORY}/blob/v1.2.3/${target}`);
  const found = targetsOf(readme);
  assertEquals(found.filter((target) => target.startsWith(REPOSITORY)), links);
  assertEquals(found.filter((target) => !/^(https:|#)/.test(target)), []);
});

Deno.test("the pages of JSR have no images and no relative links when the package is published", async () => {
  // JSR shows the module documentation of each entry point. `README.md` is not published.
  assert(!jsr.publish.include.some((path) => path.endsWith(".md") && path !== "CHANGELOG.md"));
  for (const path of Object.values(jsr.exports)) {
    const code = await Deno.readTextFile(path);
    const [documentation] = /\/\*\*[^]*?\*\//.exec(code)!;
    assert(documentation.includes("@module"), path);
    assertEquals(documentation.match(/!\[|<img/), null, path);
    assertEquals(
      targetsOf(documentation).filter((target) => !/^(https:|#)/.test(target)),
      [],
      path,
    );
  }
});
