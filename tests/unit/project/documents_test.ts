// Checks the form of the documents: code fences, links and the status of the release.
// tests/e2e/examples/code_blocks_test.ts runs the code.
import { assert, assertEquals } from "@std/assert";
import { PRE_RELEASE_PHRASES, statusOf, withStatus } from "../../../.ci/status.ts";
import maps from "../../../deno.json" with { type: "json" };
import jsr from "../../../jsr.json" with { type: "json" };
import { blocksOf, documentBlocks, DOCUMENTS } from "../../helpers/documents.ts";
import { PROJECT, sourceFiles } from "../../helpers/project.ts";

/** Languages of code blocks, and how they are tested. */
const LANGUAGES: Record<string, string> = {
  ts: "checked and run by tests/e2e/examples/code_blocks_test.ts",
  js: "run by tests/e2e/examples/code_blocks_test.ts and, in Node, by tests/package",
  sh: "run by tests/e2e/examples/code_blocks_test.ts",
  python: "run by tests/e2e/examples/code_blocks_test.ts, if pandas is installed",
  r: "run by tests/e2e/examples/code_blocks_test.ts, if R is installed",
  html: "run by tests/package/browser_test.ts",
  json: "parsed by this file",
  yaml: "configuration of another program, not tested",
  text: "output; not run",
  ini: "not run: a unit of systemd",
  powershell: "not run: paired with a block for POSIX shells",
};

Deno.test("each code fence of the documents has a known language and an end", () => {
  assertEquals(brokenFences(DOCUMENTS), []);
});

/** Returns a message for each code fence without an end or with an unknown language. */
function brokenFences(documents: ReadonlyMap<string, string>): string[] {
  const wrong: string[] = [];
  for (const [file, text] of documents) {
    const fences = text.split("\n").flatMap((line, index) =>
      /^\s*(```|~~~)/.test(line) ? index : []
    );
    const lines = blocksOf(file, text).flatMap(({ line, code }) => [
      line - 1,
      line - 1 + code.split("\n").length,
    ]);
    for (const index of fences.filter((index) => !lines.includes(index))) {
      wrong.push(`${file}:${index + 1}: the fence has no end, is indented, or is not \`\`\``);
    }
  }
  for (const { place, language } of documentBlocks(documents)) {
    if (language in LANGUAGES) continue;
    const known = Object.keys(LANGUAGES).join(", ");
    wrong.push(`${place}: language "${language}" is not one of ${known}; write output as text`);
  }
  return wrong;
}

Deno.test("each relative link of the documents leads to a file and a heading", async () => {
  const wrong: string[] = [];
  for (const [file, text] of DOCUMENTS) {
    for (const { target, line } of linksOf(text)) {
      const url = new URL(target, `file:///${file}`);
      if (url.protocol !== "file:") continue;
      const path = decodeURIComponent(url.pathname.slice(1));
      const report = (problem: string) => wrong.push(`${file}:${line}: ${target}: ${problem}`);
      if (!await exists(path)) {
        report(`there is no ${path}`);
      } else if (url.hash !== "") {
        const anchors = anchorsOf(await Deno.readTextFile(PROJECT + path));
        const anchor = decodeURIComponent(url.hash.slice(1));
        if (!anchors.includes(anchor)) report(`${path} has only the anchors ${anchors.join(", ")}`);
      }
    }
  }
  assertEquals(wrong, []);
});

Deno.test("each source file that the documents name exists", async () => {
  const files = await sourceFiles(".ci", "edge", "examples", "mod.ts", "src", "tests");
  const named = [...DOCUMENTS].flatMap(([path, text]) =>
    [...text.matchAll(/`((?:[\w.-]+\/)+[\w.-]+\.ts)`/g)].map(([, file]) => [path, file!] as const)
  );
  const missing = named.filter(([, file]) =>
    !files.some((path) => `/${path}`.endsWith(`/${file}`))
  );
  assertEquals(missing, []);
});

Deno.test("each row of docs/guarantees.md names a test that exists", async () => {
  const rows = DOCUMENTS.get("docs/guarantees.md")!.split("\n").filter((line) =>
    /^\| (?!guarantee )/.test(line)
  );
  assert(rows.length > 15, `${rows.length} rows`);
  for (const row of rows) {
    const [, path, words] = /\]\(\.\.\/(tests\/\S+)\): (.+) \|$/.exec(row) ?? [];
    assert(path && words, `${row}: write [\`file\`](path): words of the test's name`);
    const text = await Deno.readTextFile(PROJECT + path);
    assert(text.includes(words), `${path} has no test with the words "${words}"`);
  }
});

Deno.test("the documents name every export", () => {
  const texts = [...DOCUMENTS.values()].join("\n");
  const exports = Object.keys(maps.exports).map((name) => `${maps.name}${name.slice(1)}`);
  assertEquals(exports.filter((name) => !texts.includes(name)), []);
});

Deno.test("each task that the documents name exists", () => {
  const tasks = Object.keys(maps.tasks);
  for (const [file, text] of DOCUMENTS) {
    text.split("\n").forEach((line, index) => {
      for (const [, name] of line.matchAll(/\bdeno(?:@2\.9)? task ([\w:]+)/g)) {
        assert(tasks.includes(name!), `${file}:${index + 1}: there is no task ${name}`);
      }
    });
  }
});

const changelog = await Deno.readTextFile(`${PROJECT}CHANGELOG.md`);
const status = statusOf(changelog, jsr.version);

Deno.test("the status in README.md follows from CHANGELOG.md and jsr.json", () => {
  const lines = DOCUMENTS.get("README.md")!.split("\n").filter((line) => line.includes("**Status"));
  assertEquals(lines, [status.line]);
});

Deno.test("the documents that say how to install the package say what works before the first release", () => {
  assertEquals(missingStatus(DOCUMENTS), []);
});

Deno.test("only the status in README.md is wrong after a release", () => {
  const next = statusOf("## [91.2.0] - 2026-12-31\n", "91.2.0");
  const released = [...DOCUMENTS].map(([path, text]) => [path, withStatus(text, next)] as const);
  assertEquals(outdatedLines(new Map(released)), []);
});

Deno.test("the docstrings say nothing about the status of the release", async () => {
  // They are read on JSR and npm, where a version is released.
  for (const entry of Object.values(maps.exports)) {
    const text = await Deno.readTextFile(PROJECT + entry);
    for (const phrase of PRE_RELEASE_PHRASES.slice(0, 3)) {
      assert(!phrase.test(text), `${entry}: ${phrase}`);
    }
  }
});

/** Returns a message for each document that installs the package but does not say what works before that. */
function missingStatus(texts: ReadonlyMap<string, string>): string[] {
  const installs = /jsr:@weir\/datastream|npm install @weir\/datastream|npx @weir\/datastream/;
  return [...texts].flatMap(([file, text]) =>
    !installs.test(text) || /before\s+the\s+first\s+release|^\*\*Status:/im.test(text)
      ? []
      : [`${file}: says how to install the package, but not what works before the first release`]
  );
}

/** Returns a message for each line that is true only before the first release. */
function outdatedLines(texts: ReadonlyMap<string, string>): string[] {
  return [...texts].flatMap(([file, text]) =>
    text.split("\n").flatMap((line, index) =>
      PRE_RELEASE_PHRASES.some((phrase) => phrase.test(line))
        ? `${file}:${index + 1}: is wrong after the first release: ${line}`
        : []
    )
  );
}

function linksOf(text: string): { target: string; line: number }[] {
  const prose = withoutCode(text);
  const links = prose.matchAll(/\]\(([^)\s]+)(?: "[^"]*")?\)|(?:href|src)="([^"]+)"/g);
  return [...links].map((match) => ({
    target: match[1] ?? match[2]!,
    line: prose.slice(0, match.index).split("\n").length,
  }));
}

/** Replaces code by spaces, so that the numbers of the lines stay. */
function withoutCode(text: string): string {
  return text.replace(/^```[^]*?^```$|`[^`\n]+`/gm, (code) => code.replace(/[^\n]/g, " "));
}

/** Returns the anchors that GitHub creates for the headings of a Markdown text. */
function anchorsOf(text: string): string[] {
  const anchors: string[] = [];
  const counts = new Map<string, number>();
  for (const [, heading] of text.replace(/^```[^]*?^```$/gm, "").matchAll(/^#+ +(.+?)\s*$/gm)) {
    const words = heading!.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const anchor = words.replace(/[^\p{L}\p{N}_\- ]/gu, "").replaceAll(" ", "-");
    const count = counts.get(anchor) ?? 0;
    counts.set(anchor, count + 1);
    anchors.push(count === 0 ? anchor : `${anchor}-${count}`);
  }
  return anchors;
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(PROJECT + path).then(() => true, () => false);
}
