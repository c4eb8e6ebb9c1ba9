// Files that cannot be written: the message names the file and says what to do.
import { assert, assertEquals, assertMatch } from "@std/assert";
import { explainFileError, FileError } from "../../../src/files/output.ts";
import {
  commandOf,
  FOLDER,
  PROGRAMS,
  readFile,
  testWithFiles,
  writeBundle,
} from "../command_line.ts";
import { runProgram, runProgramWith } from "../../helpers/programs.ts";

const UNSHARE = ["--map-root-user", "--mount", "sh", "-c"];
const canMount = (await runProgram("unshare", ...UNSHARE, "mount -t tmpfs tmpfs /mnt"))?.success ??
  false;

const RECORDS = '"$@" records --sandbox --quiet --limit=2000 --top=100';
const SYNC = '"$@" sync mirror --sandbox --quiet';
const TO_FILE = `${RECORDS} --output=a.csv`;
/** Linux ends a process that ignores neither the signal nor the error. */
const TO_LIMIT = `trap '' XFSZ; ulimit -f 1; ${TO_FILE}`;
const TO_FULL_DISK = 'cat /dev/zero 2>&- > filler; "$@" records --sandbox --quiet --limit=1';

/** Commands of a shell in a file system with options of mount, in which "$@" is weir, and the messages. */
const FAULTS: [options: string, command: string, message: RegExp][] = [
  ["size=16k", TO_FILE, /^Cannot write a\.csv \(ENOSPC\): no space left[^\n]*: free some space,/],
  [
    "size=128k",
    TO_FILE,
    /^a\.csv\.part has \d00 rows: [^\n]* again to continue\nCannot write a\.csv /,
  ],
  [
    "size=1m",
    TO_LIMIT,
    /^Cannot write a\.csv \(EFBIG\): the file is too large for its disk or a limit: /,
  ],
  [
    "ro",
    TO_FILE,
    /^Cannot (open|rm) a\.csv\.part \(EROFS\): the file system is read-only: [^\n]*\n$/,
  ],
  ["size=4k", `${TO_FULL_DISK} --cite=c.txt`, /citations are not \(Cannot write c\.txt \(ENOSPC\)/],
  // Deno tells the free space only with another permission.
  ["size=64k", SYNC, /^(The disk has room for 0\.\d MB, and 40000 rows need|Cannot write mirror)/],
  [
    "size=176k",
    `${SYNC} --characteristic=pH`,
    /^Cannot write mirror\/[^\n]* \(ENOSPC\): no space left on the disk: free some space,/,
  ],
  ["ro", SYNC, /^Cannot mkdir mirror \(EROFS\): the file system is read-only: /],
  ["size=4k", `${RECORDS} > /dev/full`, /^Cannot write standard output \(ENOSPC\): [^\n]*\n$/],
];

for (const runtime of ["Deno", "Node", "Bun"] as const) {
  testWithFiles(
    `weir names the file and its disk when the disk is full or read-only in ${runtime}`,
    async () => {
      await writeBundle();
      await Deno.mkdir(`${FOLDER}/disk`);
      const environment = { WEIR_REQUESTS_PER_SECOND: "Infinity" };
      const weir = commandOf({ runtime, hasFiles: true, environment });
      for (const [options, command, message] of FAULTS) {
        // Each command has a disk of its own, which ends with it.
        const script = `mount -t tmpfs -o ${options} tmpfs disk && cd disk && { ${command}; }`;
        const line = [...UNSHARE, script, "sh", ...weir];
        const ended =
          (await runProgramWith({ cwd: FOLDER, env: environment }, "unshare", ...line))!;
        assertEquals(ended.code, 1, command);
        assertMatch(ended.stderr, message);
      }
    },
    { [runtime]: PROGRAMS[runtime], "unshare with the right to mount": canMount },
  );
}

/** Errors of a write for which this machine has no disk, as Node and Deno report them. */
const RARE_ERRORS: [code: string, errno: number, text: string, message: string][] = [
  ["EDQUOT", 122, "Disk quota exceeded", "the disk quota is used up: free some space, or"],
  ["ESTALE", 116, "Stale file handle", "the network drive does not have it any more: check"],
  ["EFBIG", 27, "File too large", "the file is too large for its disk or a limit: choose"],
];
for (const [code, number, text, message] of RARE_ERRORS) {
  Deno.test(`weir explains ${code}, which Node or Deno does not name`, () => {
    const unknown = `Unknown system error -${number}`;
    const ofNode = { code: unknown, errno: -number, syscall: "write" };
    for (
      const error of [
        new Error(`${text} (os error ${number})`),
        Object.assign(new Error(unknown), ofNode),
      ]
    ) {
      const explained = explainFileError(error, "a.csv");
      assert(explained instanceof FileError);
      assertMatch(explained.message, new RegExp(`^Cannot write a.csv \\(${code}\\): ${message}`));
    }
  });
}

const strace = (await runProgram("strace", "--version"))?.success;

testWithFiles(
  "weir writes the package to the disk before the package gets its name",
  async () => {
    await writeBundle();
    const weir = commandOf(
      { runtime: "Node" },
      "records",
      "--sandbox",
      "--limit=1",
      "--output=a.csv",
    );
    const trace = ["-f", "-e", "trace=openat,fsync,rename", "-o", "trace.txt"];
    await runProgramWith({ cwd: FOLDER }, "strace", ...trace, ...weir);
    const lines = (await readFile("trace.txt")).split("\n");
    const find = (text: string) => lines.findIndex((line) => line.includes(text));
    const opened = find('"a.csv.datapackage.json.new"');
    const descriptor = / = (\d+)$/.exec(lines[opened]!)![1];
    const synced = lines.findIndex((line, index) =>
      index > opened && line.includes(`fsync(${descriptor})`)
    );
    const renamed = find('rename("a.csv.datapackage.json.new"');
    assert(opened >= 0 && synced > opened && renamed > synced, lines.slice(opened).join("\n"));
  },
  { Node: PROGRAMS.Node, strace },
);
