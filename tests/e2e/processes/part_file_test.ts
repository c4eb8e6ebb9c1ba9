// Several processes that write one part, with their steps in any order, never produce a wrong file.
// Most tests call `openPart()` directly: the steps of two commands cannot be interleaved exactly.

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { FileError } from "../../../src/cli/output.ts";
import { openPart, type PartFile, type PartOptions } from "../../../src/cli/resumable_file.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";
import {
  fileNames,
  FOLDER,
  readFile,
  runToEnd,
  serving,
  start,
  withFiles,
  writeFile,
} from "../../helpers/command_line.ts";

const PATH = `${FOLDER}/a.csv`;
const options: PartOptions = {
  queryJson: "q",
  async *pagesAfter() {},
  resume: true,
  force: false,
  requestDatasets: () => Promise.resolve([["10.25976/weir-aa00", "1.0.0", "2020"]]),
};
const encode = (text: string) => new TextEncoder().encode(text);

/** Writes and commits a page that has a next page. */
async function commit(part: PartFile, text: string, rows: number): Promise<void> {
  await part.write(encode(text));
  const shards = [{ clauses: [], after: `Id:${rows}` }];
  await part.commit({ version: 2, query: "q", shards, rows, unitRows: rows }, true);
}

/** Creates a part with one page, as a killed process leaves it. */
async function killed(): Promise<PartFile> {
  const { part } = await openPart(PATH, options);
  await commit(part, "page 1\n", 1);
  return part;
}

const resume = () => openPart(PATH, options);

Deno.test("openPart() resumes at the last page that was committed", () =>
  withFiles(async () => {
    const first = await killed();
    await first.write(encode("half of a page"));
    const { part, after } = await resume();
    assertEquals(after?.rows, 1);
    assertEquals(after?.shards, [{ clauses: [], after: "Id:1" }]);
    await part.write(encode("page 2\n"));
    assertEquals(await part.finish(), 14);
    assertEquals([await readFile("a.csv"), await fileNames()], ["page 1\npage 2\n", ["a.csv"]]);
  }));

Deno.test("PartFile.write() fails when a later run has resumed the part", () =>
  withFiles(async () => {
    const first = await killed();
    const { part: second } = await resume();
    for (
      const step of [
        () => first.write(encode("another page 2\n")),
        () => commit(first, "", 1),
        () => first.finish(),
      ]
    ) {
      const error = await assertRejects(step, FileError);
      assertStringIncludes(error.message, "was taken over by another download");
    }
    assertEquals(await first.abandon(true), false);
    await commit(second, "page 2\n", 2);
    await second.finish();
    assertEquals(await readFile("a.csv"), "page 1\npage 2\n");
  }));

Deno.test("PartFile.write() fails when a later run has started again or finished", () =>
  withFiles(async () => {
    for (const force of [true, false]) {
      const first = await killed();
      const later = { ...options, force, resume: !force };
      const { part: second } = await openPart(PATH, later);
      if (force) await second.write(encode("page 1\n"));
      else await second.finish();
      await assertRejects(() => first.write(encode("page 2\n")), FileError, "taken over");
      await assertRejects(() => first.finish(), FileError, "taken over");
      assertEquals(await first.abandon(false), false);
      if (force) await second.finish();
      assertEquals([await readFile("a.csv"), await fileNames()], ["page 1\n", ["a.csv"]]);
      await Deno.remove(PATH);
    }
  }));

Deno.test("PartFile.finish() leaves no wrong file when two runs resume in turns", () =>
  withFiles(async () => {
    const parts = [await killed()];
    for (let run = 0; run < 5; run++) {
      parts.push((await resume()).part);
      const [earlier, latest] = parts.slice(-2);
      await assertRejects(() => commit(earlier!, "page X\n", 9), FileError);
      await commit(latest!, `page ${run + 2}\n`, run + 2);
    }
    await parts.at(-1)!.finish();
    assertEquals(await readFile("a.csv"), "page 1\npage 2\npage 3\npage 4\npage 5\npage 6\n");
  }));

Deno.test("PartFile.finish() refuses a resumed part that another process wrote into", () =>
  withFiles(async () => {
    await (await killed()).abandon(false);
    const { part } = await resume();
    await commit(part, "page 2\n", 2);
    // The write of an earlier run that was stopped between its check and its write.
    const other = await Deno.open(`${PATH}.part`, { write: true });
    await other.seek(7, Deno.SeekMode.Start);
    await other.write(encode("PAGE"));
    other.close();
    await assertRejects(() => part.finish(), FileError, "a.csv.part was changed");
    assertEquals(await part.abandon(false), false);
    assert(!(await fileNames()).includes("a.csv"));
    await assertRejects(resume, FileError, "a.csv.part was changed");
  }));

Deno.test("PartFile.commit() of an earlier run that overtakes a later one leaves a part that can be resumed", () =>
  withFiles(async () => {
    // The earlier run has checked the state, then the later one takes over, then the earlier one
    // renames its state into place.
    const first = await killed();
    await commit(first, "page 2\n", 2);
    const committed = await readFile("a.csv.part.json");
    const { part: second } = await resume();
    await writeFile("a.csv.part.json", committed);
    await assertRejects(() => second.write(encode("page 3\n")), FileError, "taken over");
    await commit(first, "page 3\n", 3);
    const { part: third, after } = await resume();
    assertEquals(after?.rows, 3);
    await third.finish();
    assertEquals(await readFile("a.csv"), "page 1\npage 2\npage 3\n");
  }));

Deno.test("openPart() names --force when the file exists, and moving it when a part is resumed", () =>
  withFiles(async () => {
    await writeFile("a.csv", "of another");
    const force = "a.csv already exists: pass --force to overwrite it, or choose another name";
    await assertRejects(resume, FileError, force);
    await Deno.remove(PATH);
    await (await killed()).abandon(false);
    await writeFile("a.csv", "of another");
    await assertRejects(() => openPart(PATH, { ...options, resume: false }), FileError, force);
    await assertRejects(resume, FileError, "a.csv already exists: move it, then resume");
  }));

Deno.test("openPart() refuses a part that is not a regular file", () =>
  withFiles(async () => {
    await (await killed()).abandon(false);
    await Deno.rename(`${PATH}.part`, `${FOLDER}/b.csv`);
    await new Deno.Command("ln", { args: ["-s", "b.csv", `${PATH}.part`] }).output();
    await assertRejects(resume, FileError, "a.csv.part is not a regular file");
    assertEquals(await readFile("b.csv"), "page 1\n");
  }));

Deno.test("openPart() closes the part when its state cannot be written", () =>
  withFiles(async () => {
    await Deno.mkdir(`${PATH}.part.json`);
    await assertRejects(() => openPart(PATH, { ...options, resume: false }), Error, "part.json");
    assert((await fileNames()).includes("a.csv.part"));
    assertEquals(await isOpen("a.csv.part"), false);
    using _part = await Deno.open(`${PATH}.part`);
    assertEquals(await isOpen("a.csv.part"), true);
  }));

/** Whether this process has a file of `FOLDER` open. Deno does not report an open FileHandle. */
async function isOpen(name: string): Promise<boolean> {
  // `ls` fails if another thread closes a file while it lists, but it lists the other ones.
  const { stdout } = await new Deno.Command("ls", { args: ["-l", `/proc/${Deno.pid}/fd`] })
    .output();
  return new TextDecoder().decode(stdout).includes(`${FOLDER}/${name}`);
}

Deno.test("weir --resume in a second process takes over the part, and the first one fails", () => {
  const sandbox = createSandbox({ hostileNames: true, requestsPerSecond: Infinity });
  const { promise: firstWaits, resolve: tellFirst } = Promise.withResolvers<void>();
  const { promise: firstMay, resolve: releaseFirst } = Promise.withResolvers<void>();
  const { promise: secondWaits, resolve: tellSecond } = Promise.withResolvers<void>();
  const { promise: secondMay, resolve: releaseSecond } = Promise.withResolvers<void>();
  let pages = 0;
  return serving(async (request) => {
    const page = request.url.includes("/Locations") ? ++pages : 0;
    if (page === 2) return new Response("", { status: 404 });
    if (page === 3) {
      tellFirst();
      await firstMay;
    }
    if (page === 4) {
      tellSecond();
      await secondMay;
    }
    return await sandbox.fetch(request);
  }, async (line, baseUrl) => {
    const baseArgs = ["locations", baseUrl, "--select=Id", "--top=15", "--output=a.csv", "--quiet"];
    assertEquals((await runToEnd(line, ...baseArgs)).code, 1);
    const first = start(line, ...baseArgs, "--resume");
    await firstWaits;
    const second = start(line, ...baseArgs, "--resume");
    await secondWaits;
    releaseFirst();
    const failed = await first.output();
    assertEquals(failed.code, 1);
    assertStringIncludes(
      new TextDecoder().decode(failed.stderr),
      "was taken over by another download",
    );
    releaseSecond();
    const { code, stderr } = await second.output();
    assertEquals([code, new TextDecoder().decode(stderr)], [0, ""]);
    assertEquals(await fileNames(), ["a.csv"]);
    await runToEnd(line, ...baseArgs.slice(0, 4), "--output=b.csv");
    assertEquals(await readFile("a.csv"), await readFile("b.csv"));
  });
});
