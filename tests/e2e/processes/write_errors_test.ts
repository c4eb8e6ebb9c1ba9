// Files that cannot be written: the message names the file and says what to do.
import { assertEquals, assertMatch } from "@std/assert";
import { commandOf, FOLDER, PROGRAMS, testWithFiles, writeBundle } from "../command_line.ts";
import { runProgram, runProgramWith } from "../../helpers/programs.ts";

const UNSHARE = ["--map-root-user", "--mount", "sh", "-c"];
const canMount = (await runProgram("unshare", ...UNSHARE, "mount -t tmpfs tmpfs /mnt"))?.success ??
  false;

const RECORDS = '"$@" records --sandbox --quiet --limit=2000 --top=100';
const TO_FILE = `${RECORDS} --output=a.csv`;
const TO_FULL_DISK = 'cat /dev/zero 2>&- > filler; "$@" records --sandbox --quiet --limit=1';

/** Commands of a shell in a file system with options of mount, in which "$@" is weir, and the messages. */
const FAULTS: [options: string, command: string, message: RegExp][] = [
  ["size=16k", TO_FILE, /^Cannot write a\.csv \(ENOSPC\): no space left[^\n]*: free some space,/],
  [
    "size=128k",
    TO_FILE,
    /^a\.csv\.part has \d00 rows: [^\n]* again to continue\nCannot write a\.csv /,
  ],
  ["ro", TO_FILE, /^Cannot open a\.csv\.part \(EROFS\): the file system is read-only: [^\n]*\n$/],
  ["size=4k", `${TO_FULL_DISK} --cite=c.txt`, /citations are not \(Cannot write c\.txt \(ENOSPC\)/],
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
