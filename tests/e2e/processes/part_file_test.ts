// Several processes that write one part, with their steps in any order, never produce a wrong file.
// Most tests call `openFile()` directly: the steps of two commands cannot be interleaved exactly.

import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { type DownloadPage, FileError, type Output } from "../../../src/files/output.ts";
import { isRunning, type Owner } from "../../../src/files/owner.ts";
import {
  type FileOptions,
  type FilePackage,
  findFile,
  type OpenFile,
  openFile,
} from "../../../src/files/part_file.ts";
import { bundle } from "../bundle.ts";
import type { DatasetVersion } from "../../../src/formats/citations.ts";
import { runProgram } from "../../helpers/programs.ts";
import { FOLDER, PROGRAMS, readFile, testWithFiles, writeFile } from "../command_line.ts";

const PATH = `${FOLDER}/a.csv`;
const VERSIONS: readonly DatasetVersion[] = [["10.25976/weir-aa00", "1.0.0", "2020"]];
const OPTIONS: FileOptions = {
  mode: "default",
  query: { resource: "Records" },
  isSameQuery: () => true,
  describe: ({ hash }) => ({ resources: [{ hash }], weir: {} }) as FilePackage,
  onRestart: () => {},
  clock: { now: () => Date.now(), sleep: () => new Promise(() => {}) },
};

const open = async (options: Partial<FileOptions> = {}): Promise<OpenFile> => {
  const all = { ...OPTIONS, ...options };
  return await openFile(PATH, await findFile(PATH, all), VERSIONS, all);
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
    surplusRows: 0,
    isOneResponse: true,
    distinct: undefined,
  };
  await output.write(page, VERSIONS);
}

const readState = async () => JSON.parse(await readFile("a.csv.part.json"));

/** Creates a part with one page. Its run seems to be interrupted, because its time is stale. */
async function interrupted(): Promise<Output> {
  const { output } = await open({ clock: { ...OPTIONS.clock, now: () => Date.now() - 121_000 } });
  await write(output, "a page 1\n", 1);
  return output;
}

testWithFiles("Output.write() fails when a later run has taken over the part", async () => {
  for (const mode of ["default", "force"] as const) {
    const first = await interrupted();
    const { output: second, after } = await open({ mode });
    for (const step of [() => write(first, "b page 2\n", 2), () => first.finish()]) {
      const error = await assertRejects(step, FileError);
      assertMatch(
        error.message,
        /was taken over by another run \(process \d+.*, last seen 0 s ago\)/,
      );
    }
    assertEquals(await first.abandon(), undefined);
    if (after === undefined) await write(second, "a page 1\n", 1);
    await write(second, "a page 2\n", 2);
    await second.finish();
    assertEquals(await readFile("a.csv"), "a page 1\na page 2\n");
    await Deno.remove(PATH);
  }
});

testWithFiles("findFile() refuses a part that this process writes until its run ends", async () => {
  const { output } = await open();
  await write(output, "a page 1\n", 1);
  const { message } = await assertRejects(() => open(), FileError);
  assertStringIncludes(message, `another run (process ${Deno.pid}`);
  assertStringIncludes(message, "take over with --force");
  await output.abandon();
  const { after, output: next } = await open();
  assertEquals(after?.rows, 1);
  await next.abandon();
});

testWithFiles("openFile() renews the time of its run every 10 s", async () => {
  let now = Date.now();
  const sleeps: [time: number, wake: () => void][] = [];
  const sleep = (time: number) => new Promise<void>((wake) => sleeps.push([time, wake]));
  const { output } = await open({ clock: { now: () => now, sleep } });
  const start = now;
  for (let renewals = 1; renewals <= 3; renewals++) {
    now += 10_000;
    const [time, wake] = sleeps.pop()!;
    wake();
    await Promise.resolve();
    assertEquals([time, (await readState()).owner.renewedAt], [10_000, start + 10_000 * renewals]);
  }
  await output.abandon();
});

const OWNER: Owner = { run: "r", process: Deno.pid, hasLock: false, renewedAt: 0 };
/** Owners of a part, the time since they were renewed, and whether they are treated as running. */
const OWNERS: [name: string, owner: Partial<Owner>, age: number, isRunning: boolean][] = [
  ["another computer", { computer: "far", bootedAt: 1 }, 119_000, true],
  ["another computer", { computer: "far", bootedAt: 1 }, 121_000, false],
  ["another computer whose clock is early", { computer: "far", bootedAt: 1 }, -121_000, false],
  ["an unknown computer", {}, 119_000, true],
  ["Deno that has no lock any more", { hasLock: true }, 0, false],
];
for (const [name, owner, age, expected] of OWNERS) {
  testWithFiles(
    `isRunning() returns ${expected} for a process of ${name} that was renewed ${age / 1000} s ago`,
    async () => {
      await writeFile("part", "");
      assertEquals(isRunning({ ...OWNER, ...owner }, `${FOLDER}/part`, age), expected);
    },
  );
}

/** Names of processes, expressions of their id in Node, changes of the owner, and whether they are running. */
const PROCESSES: [name: string, id: string, owner: string, isRunning: boolean][] = [
  ["another process", "process.ppid", "{}", true],
  ["a process that has ended", "2 ** 30", "{}", false],
  ["the same id in a container that was started again", "process.pid", "{}", false],
  ["a process before the computer was started again", "process.ppid", "{ bootedAt: 1 }", true],
];
testWithFiles(
  "isRunning() looks for processes of the same computer and boot in Node",
  async () => {
    await writeFile("owner.mjs", await bundle("src/files/owner.ts", "--platform", "deno"));
    const program = `
      import { isRunning, startRun } from "./owner.mjs";
      const owners = [${PROCESSES.map(([, id, owner]) => `{ process: ${id}, ...${owner} }`)}];
      console.log(JSON.stringify(owners.map((owner) =>
        isRunning({ ...startRun("").owner, run: "r", renewedAt: 0, ...owner }, "part", 0))));`;
    await writeFile("program.mjs", program);
    const { stdout } = (await runProgram(PROGRAMS.Node!, `${FOLDER}/program.mjs`))!;
    assertEquals(JSON.parse(stdout), PROCESSES.map(([, , , expected]) => expected));
  },
  { Node: PROGRAMS.Node },
);

const STARTS: [name: string, prepare: () => Promise<unknown>, options: Partial<FileOptions>][] = [
  ["without a part", () => Promise.resolve(), {}],
  ["with --force and a part", () => writeFile("a.csv.part", "of a killed run"), { mode: "force" }],
  ["with an empty part", () => writeFile("a.csv.part", ""), {}],
  ["with rows", async () => await (await interrupted()).abandon(), {}],
];
for (const [name, prepare, options] of STARTS) {
  testWithFiles(
    `openFile() lets one of three concurrent runs complete the file ${name}`,
    async () => {
      const download = async (run: string, start: number) => {
        await new Promise((resolve) => setTimeout(resolve, start));
        const { output, after } = await open(options);
        try {
          for (let page = (after?.rows ?? 0) + 1; page <= 2; page++) {
            await write(output, `${run} page ${page}\n`, page, page === 2);
          }
          await output.finish();
        } catch (error) {
          await output.abandon();
          throw error;
        }
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
        assert(errors.every((error) => error instanceof FileError), messages);
        // A run can continue the part of another one.
        const other = name === "with rows" ? "[abc]" : "\\1";
        assertMatch(await readFile("a.csv"), new RegExp(`^([abc]) page 1\n${other} page 2\n$`));
        for (const { name } of [...Deno.readDirSync(FOLDER)]) {
          await Deno.remove(`${FOLDER}/${name}`);
        }
      }
    },
  );
}
