// The links, files, tests and tasks that the documents name exist, and their status follows from the release.
// tests/e2e/examples/code_blocks_test.ts runs the code.
import { assert, assertEquals } from "@std/assert";
import { packageReadme } from "../../../.ci/npm/readme.ts";
import { PRE_RELEASE_PHRASES, statusOf, withStatus } from "../../../.ci/status.ts";
import maps from "../../../deno.json" with { type: "json" };
import jsr from "../../../jsr.json" with { type: "json" };
import { documentBlocks, DOCUMENTS } from "../../helpers/documents.ts";
import { PROJECT, sourceFiles } from "../../helpers/project.ts";

const README = DOCUMENTS.get("README.md")!;

/** Languages of code blocks: code_blocks_test.ts runs the first five, and browser_test.ts the sixth. */
const LANGUAGES = "ts js sh python r html json yaml text ini powershell".split(" ");

Deno.test("each code fence of the documents has a known language and an end", () => {
  for (const { place, language } of documentBlocks()) assert(LANGUAGES.includes(language), place);
  for (const [file, text] of DOCUMENTS) {
    const fences = text.match(/^\s*(```|~~~)/gm) ?? [];
    const blocks = documentBlocks(new Map([[file, text]]));
    assertEquals(
      fences.length,
      2 * blocks.length,
      `${file}: a fence is open, indented, or not \`\`\``,
    );
  }
});

Deno.test("each relative link of the documents leads to a file and a heading", async () => {
  const wrong: string[] = [];
  for (const [file, text] of DOCUMENTS) {
    for (const target of targetsOf(text)) {
      const url = new URL(target, `file:///${file}`);
      if (url.protocol !== "file:") continue;
      const path = PROJECT + decodeURIComponent(url.pathname.slice(1));
      const anchor = decodeURIComponent(url.hash.slice(1));
      const isRight = anchor === ""
        ? await Deno.stat(path).then(() => true, () => false)
        : anchorsOf(await Deno.readTextFile(path).catch(() => "")).includes(anchor);
      if (!isRight) wrong.push(`${file}: ${target}`);
    }
  }
  assertEquals(wrong, []);
});

Deno.test("each source file, task and export of the documents exists, and each export is named", async () => {
  const files = await sourceFiles(".ci", "edge", "examples", "mod.ts", "src", "tests");
  for (const [page, text] of DOCUMENTS) {
    for (const [, file] of text.matchAll(/`((?:[\w.-]+\/)+[\w.-]+\.ts)`/g)) {
      assert(files.some((path) => `/${path}`.endsWith(`/${file}`)), `${page}: ${file}`);
    }
    for (const [, task] of text.matchAll(/\bdeno(?:@2\.9)? task ([\w:]+)/g)) {
      assert(task! in maps.tasks, `${page}: there is no task ${task}`);
    }
  }
  const texts = [...DOCUMENTS.values()].join("\n");
  const exports = Object.keys(maps.exports).map((name) => `${maps.name}${name.slice(1)}`);
  assertEquals(exports.filter((name) => !texts.includes(name)), []);
});

Deno.test("each row of docs/guarantees.md names a test that exists", async () => {
  const rows = DOCUMENTS.get("docs/guarantees.md")!.match(/^\| (?!guarantee ).*/gm)!;
  assert(rows.length > 15, `${rows.length} rows`);
  for (const row of rows) {
    const [, path, words] = /\]\(\.\.\/(tests\/\S+)\): (.+) \|$/.exec(row) ?? [];
    assert(path && words, `${row}: write [\`file\`](path): words of the test's name`);
    const text = await Deno.readTextFile(PROJECT + path);
    const code = text.replace(/(^|\s)\/\/ .*$|^\s*\/?\*.*$/gm, ""); // without comments, which name no test
    assert(code.includes(words), `${path} has no test with the words "${words}"`);
  }
});

Deno.test("every place that promises completeness has the same sentence, with its exceptions", async () => {
  const sentence =
    "Every row that DataStream returns arrives once, or you get an error: a result of " +
    "several pages is compared with DataStream's count, but one page that is not full, a result " +
    "that its own `limit` ends, one that begins at a `skipToken`, and one that DataStream refuses " +
    "to count are not.";
  const places = ["README.md", "docs/client.md", "docs/errors-and-limits.md", "mod.ts"];
  for (const path of [...places, "src/client/query.ts"]) {
    const text = (await Deno.readTextFile(PROJECT + path)).replace(/^ \* /gm, "");
    assert(text.replace(/\s+/g, " ").includes(sentence), path);
  }
});

Deno.test("the status in README.md follows from CHANGELOG.md and jsr.json", async () => {
  const changelog = await Deno.readTextFile(`${PROJECT}CHANGELOG.md`);
  assertEquals(README.match(/^.*\*\*Status.*$/gm), [statusOf(changelog, jsr.version).line]);
});

Deno.test("only the status in README.md changes with a release", () => {
  for (
    const [version, changelog] of [["91.2.0", "## [91.2.0] - 2026-12-31\n"], ["91.2.0-rc.1", ""]]
  ) {
    const released = withStatus(README, statusOf(changelog!, version!));
    assert(released.includes(version!), version);
    for (const [path, text] of [...DOCUMENTS, ["README.md", released] as const]) {
      if (text === README) continue;
      for (const phrase of PRE_RELEASE_PHRASES) assert(!phrase.test(text), `${path}: ${phrase}`);
    }
    assertEquals(released.match(/\bclone\b/gi), null, version);
  }
});

Deno.test("the README on npm has no images, and its links lead to the tag", () => {
  const repository = "https://github.com/owner/weir";
  const isRelative = (target: string) => !/^(https:|#)/.test(target);
  const readme = packageReadme(README, repository, "1.2.3");
  assertEquals(readme.match(/!\[|<img/), null);
  const relative = targetsOf(README).filter(isRelative).filter((target) =>
    !target.endsWith(".png")
  );
  assert(relative.length > 10);
  assertEquals(
    targetsOf(readme).filter((target) => target.startsWith(repository)),
    relative.map((target) => `${repository}/blob/v1.2.3/${target}`),
  );
  assertEquals(targetsOf(readme).filter(isRelative), []);
});

/** Returns the targets of links and images, except in code. */
function targetsOf(text: string): string[] {
  const prose = text.replace(
    /^```[^]*?^```$|`[^`\n]+`/gm,
    (code) => code.startsWith("```") ? "" : "x",
  );
  const links = prose.matchAll(/\]\(([^)\s]+)(?: "[^"]*")?\)|(?:href|src)="([^"]+)"/g);
  return [...links].map(([, target, attribute]) => target ?? attribute!);
}

/** Returns the anchors that GitHub creates for the headings of a Markdown text. */
function anchorsOf(text: string): string[] {
  const anchors: string[] = [];
  for (const [, heading] of text.replace(/^```[^]*?^```$/gm, "").matchAll(/^#+ +(.+?)\s*$/gm)) {
    const words = heading!.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const anchor = words.replace(/[^\p{L}\p{N}_\- ]/gu, "").replaceAll(" ", "-");
    const count = anchors.filter((other) => other.replace(/-\d+$/, "") === anchor).length;
    anchors.push(count === 0 ? anchor : `${anchor}-${count}`);
  }
  return anchors;
}
