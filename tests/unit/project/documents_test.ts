// The links, files, tests and tasks that the documents name exist, and their status follows from the release.
// tests/e2e/examples/code_blocks_test.ts runs the code.
import { assert, assertEquals, assertMatch } from "@std/assert";
import { packageReadme } from "../../../.ci/npm/readme.ts";
import { statusLine, withStatus } from "../../../.ci/status.ts";
import maps from "../../../deno.json" with { type: "json" };
import { CREDENTIALS } from "../../../edge/http/access.ts";
import { createCode, SNIPPET_IDS } from "../../../src/formats/code_snippets.ts";
import jsr from "../../../jsr.json" with { type: "json" };
import { blocksOf, documentBlocks, DOCUMENTS } from "../../helpers/documents.ts";
import { filesIn, PROJECT, sourceFiles } from "../../helpers/project.ts";

const README = DOCUMENTS.get("README.md")!;

/** Languages of code blocks: code_blocks_test.ts runs the first five, and browser_test.ts the sixth. */
const LANGUAGES = "ts js sh python r html json yaml text ini powershell".split(" ");

Deno.test("each code block of the documents has a known language", () => {
  for (const { place, language } of documentBlocks()) assert(LANGUAGES.includes(language), place);
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

Deno.test("README.md begins with commands that work: in a clone, and after a release with npm", async () => {
  const line = statusLine(await Deno.readTextFile(`${PROJECT}CHANGELOG.md`), jsr.version);
  assertEquals(withStatus(README, line), README);
  const firstBlock = (text: string) => blocksOf("README.md", text)[0]!.code;
  const clone = "npx -y deno@2.9 task demo\nnpx -y deno@2.9 task test\n";
  if (line !== undefined) assertEquals(firstBlock(README), clone);

  const released = withStatus(README, undefined);
  assertEquals(released.match(/\*\*Status|first release/i), null);
  assertEquals(firstBlock(released), `npx ${jsr.name} serve --sandbox\n`);
  assertEquals(released.split(clone).length, 2);
  const own = targetsOf(released).filter((target) => target.startsWith("#"));
  assertEquals(own.filter((target) => !anchorsOf(released).includes(target.slice(1))), []);
});

Deno.test("the README on npm has no images, and its links lead to the tag", () => {
  const repository = "https://github.com/owner/weir";
  const readme = packageReadme(README, repository, "1.2.3");
  assertEquals(readme.match(/!\[|<img/), null);
  assert(readme.includes(`](${repository}/blob/v1.2.3/docs/`));
  assertEquals(targetsOf(readme).filter((target) => !/^(https:|#)/.test(target)), []);
});

/** A call that reads CSV in R or Python. */
const READ_CSV = /\b(?:read\.csv|read_csv|fread)\((?!\))[^]*?(?=$|\n\n|`)/g;

Deno.test("each program of the documents that reads CSV has the code of the page, and no token", () => {
  let calls = 0;
  for (const { place, code } of documentBlocks()) {
    assertEquals(
      /YOUR-TOKEN|Bearer [^" $]/.test(code),
      false,
      `${place}: read it from the environment`,
    );
    const files = [...code.matchAll(/"([^"\s]+\.csv\b[^"]*)"/g)].map(([, file]) => file!);
    const names = [...code.matchAll(/^(\w+) (?:<-|=) /gm)].map(([, name]) => name!);
    const pairs = files.flatMap((file) => names.map((name) => [file, name] as const));
    const generated = pairs.flatMap(([file, name]) =>
      (["token", "public"] as const).flatMap((access) =>
        SNIPPET_IDS.map((id) => createCode(id, file, name, CREDENTIALS[access]))
      )
    );
    calls += code.match(READ_CSV)?.length ?? 0;
    const rest = generated.reduce((text, known) => text.replaceAll(known, ""), code);
    const message = `${place}: write the code of the page, such as\n${generated.join("\n\n")}`;
    assertEquals(rest.match(READ_CSV), null, message);
  }
  assert(calls > 15, `${calls} calls`);
  for (const [page, text] of DOCUMENTS) {
    const prose = text.replace(/^```[^]*?^```$/gm, "");
    const short = (prose.match(READ_CSV) ?? []).filter((call) => !call.includes("…"));
    assertEquals(short, [], `${page}: write … for arguments, or a code block`);
  }
});

Deno.test("each call of read_csv() in the examples keeps the unit None", async () => {
  for await (const name of filesIn(`${PROJECT}examples/python`)) {
    const text = await Deno.readTextFile(`${PROJECT}examples/python/${name}`);
    if (!text.includes("read_csv(")) continue;
    assertMatch(text, /keep_default_na=False,\s+na_values=\[""\]/, name);
  }
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
