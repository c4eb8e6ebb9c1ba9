// Several processes that write one part, with their steps in any order, never produce a wrong file.
// Most tests call `openFile()` directly: the steps of two commands cannot be interleaved exactly.

import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { CommandError } from "../../../src/cli/context.ts";
import type { DownloadPage, Output } from "../../../src/cli/output.ts";
import { type FileOptions, openFile, refuseRestart } from "../../../src/cli/part_file.ts";
import { FOLDER, readFile, testWithFiles, writeFile } from "../command_line.ts";

const PATH = `${FOLDER}/a.csv`;
const options: FileOptions = {
  query: { resource: "Records" },
  async *pagesAfter() {},
  resume: true,
  force: false,
  requestDatasets: () =>
    Promise.resolve([{
      doi: "10.25976/weir-aa00",
      version: "1.0.0",
      published: "2020",
      licence: "",
      link: "https://doi.org/10.25976/weir-aa00",
      name: "",
      organization: "",
      citation: "",
    }]),
  describe: undefined,
  onRestart: refuseRestart,
};

/** Writes a page; a page that is not the last one is committed. */
async function write(
  output: Output,
  text: string,
  rows: number,
  isLast = false,
): Promise<void> {
  const shards = [{ clauses: [], after: `Id:${rows}` }];
  const page: DownloadPage = {
    data: new TextEncoder().encode(text),
    cursor: { version: 2, query: "q", shards, rows },
    rows: 1,
    totalRows: rows,
    isLast,
    hasMore: !isLast,
    isPageEnd: true,
    expectedRows: undefined,
    missingRows: 0,
    distinct: undefined,
  };
  await output.write(page);
}

/** Creates a part with one page, as a killed process leaves it. */
async function killed(): Promise<Output> {
  const { output } = await openFile(PATH, options);
  await write(output, "a page 1\n", 1);
  return output;
}

const resume = () => openFile(PATH, options);

testWithFiles("Output.write() fails when a later run has resumed the part", async () => {
  const first = await killed();
  const { output: second } = await resume();
  for (const step of [() => write(first, "b page 2\n", 2), () => first.finish()]) {
    const error = await assertRejects(step, CommandError);
    assertStringIncludes(error.message, "was taken over by another download");
  }
  assertEquals(await first.abandon(), undefined);
  await write(second, "a page 2\n", 2);
  await second.finish();
  assertEquals(await readFile("a.csv"), "a page 1\na page 2\n");
});

testWithFiles("openFile() takes over the part before it hashes the bytes of the part", async () => {
  const first = await killed();
  // The versions are requested after the bytes were hashed.
  const { output } = await openFile(PATH, {
    ...options,
    async requestDatasets() {
      await assertRejects(() => write(first, "b page 2\n", 2), CommandError, "taken over");
      return await options.requestDatasets();
    },
  });
  await write(output, "a page 2\n", 2);
  await output.finish();
  assertEquals(await readFile("a.csv"), "a page 1\na page 2\n");
});

const STARTS: [name: string, prepare: () => Promise<unknown>, flags: Partial<FileOptions>][] = [
  ["without a part", () => Promise.resolve(), {}],
  ["with --force and a part", () => writeFile("a.csv.part", "of a killed run"), { force: true }],
  ["with --resume and an empty part", () => writeFile("a.csv.part", ""), { resume: true }],
  ["with --resume and rows", async () => await (await killed()).abandon(), { resume: true }],
];
for (const [name, prepare, flags] of STARTS) {
  testWithFiles(
    `openFile() lets one of three concurrent runs complete the file ${name}`,
    async () => {
      const download = async (run: string, start: number) => {
        await new Promise((resolve) => setTimeout(resolve, start));
        const { output, after } = await openFile(PATH, { ...options, resume: false, ...flags });
        for (let page = (after?.rows ?? 0) + 1; page <= 2; page++) {
          await write(output, `${run} page ${page}\n`, page, page === 2);
        }
        await output.finish();
      };
      for (let round = 0; round < 40; round++) {
        await prepare();
        // Milliseconds between the starts: the steps of the runs interleave in another way in each round.
        const runs = await Promise.allSettled(
          ["a", "b", "c"].map((run, index) => download(run, index * round % 11)),
        );
        const errors = runs.flatMap((run) => run.status === "rejected" ? [run.reason] : []);
        const messages = errors.map(String).join("; ");
        assert(errors.length < 3, messages);
        assert(errors.every((error) => error instanceof CommandError), messages);
        // A run with --resume can continue the part of another one.
        const other = flags.resume ? "[abc]" : "\\1";
        assertMatch(await readFile("a.csv"), new RegExp(`^([abc]) page 1\n${other} page 2\n$`));
        for (const { name } of [...Deno.readDirSync(FOLDER)]) {
          await Deno.remove(`${FOLDER}/${name}`);
        }
      }
    },
  );
}
