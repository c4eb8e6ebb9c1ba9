// README.md: its answers to a visitor's questions, its promise, and the files of its examples.
import { assert, assertEquals } from "@std/assert";
import { statusOf, withStatus } from "../../../.ci/status.ts";
import { DOCUMENTS } from "../../helpers/documents.ts";
import { PROJECT } from "../../helpers/project.ts";

const README = DOCUMENTS.get("README.md")!;
/** Maximum number of words from the top to the end of an answer. */
const MAX_WORDS = 300;

/** Questions of a visitor, and the start of the text in README.md that answers each. */
const ANSWERS: Record<string, string> = {
  "What is it?": "Weir downloads Canada's open water-quality data",
  "Why should I use it?": "13 requests instead of 304",
  "Is it released?": "Status:",
  "How do I get an API key?": "Real data needs an API key: request one",
  "Which interface do I use?": "Most people want the server",
  "How do I read rows in Deno?": "for await (const row of query) console.log(",
  "How do I read CSV in R?": "ph <- read.csv(",
  "How do I serve 30 people?":
    "For a group of 30, one computer with weir serve --access public --host 0.0.0.0 is enough",
  "What happens if something fails?":
    "Every row that DataStream returns arrives once, or you get an",
  "How do I cite the data?": "Cite each dataset that you use; npx @weir/datastream cite prints",
};

/** Returns the words of a Markdown text that a reader sees: no images, addresses of links and marks. */
function visibleWords(markdown: string): string[] {
  return markdown
    .replace(/^!\[.*\]\(.*\)$|^```.*$|^\|[-|]+\|$/gm, "")
    .replace(/\[([^\]]+)\]\([^)]*\)/g, "$1")
    .replace(/^#+ |^- |^\| | \|$/gm, "")
    .replace(/\*\*|`| \| /g, (mark) => mark === " | " ? " " : "")
    .trim().split(/\s+/);
}

for (const [question, answer] of Object.entries(ANSWERS)) {
  Deno.test(`README.md answers "${question}" in its first ${MAX_WORDS} words`, () => {
    const text = visibleWords(README).join(" ");
    const start = text.indexOf(answer);
    assert(start >= 0, `"${answer}" is missing`);
    const words = text.slice(0, start + answer.length).split(" ").length;
    assert(words <= MAX_WORDS, `"${answer}" ends at word ${words}`);
  });
}

Deno.test("README.md of a release does not tell users to clone the repository", () => {
  const changelogs = { "91.2.0": "## [91.2.0] - 2026-12-31\n", "91.2.0-rc.1": "" };
  for (const [version, changelog] of Object.entries(changelogs)) {
    const released = withStatus(README, statusOf(changelog, version));
    assert(released.includes(version), version);
    assertEquals(released.match(/\bclone\b/gi), null, version);
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
  for (const [path, text] of DOCUMENTS) {
    const others = text.match(/all rows, each once|every row arrives once/gi) ?? [];
    assertEquals(others, [], path);
  }
});
