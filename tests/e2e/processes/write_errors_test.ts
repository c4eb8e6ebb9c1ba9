// Files that cannot be written: the message names the file and says what to do.
import { assertEquals, assertMatch } from "@std/assert";
import { commandOf, FOLDER, PROGRAMS, withFiles, writeBundle } from "../command_line.ts";
import { runProgram, runProgramWith } from "../../helpers/programs.ts";
import { needing } from "../needs.ts";

const UNSHARE = ["--map-root-user", "--mount", "sh", "-c"];
const canMount = (await runProgram("unshare", ...UNSHARE, "mount -t tmpfs tmpfs /mnt"))?.success ??
  false;

const RECORDS = "records --sandbox --quiet --limit=2000 --top=100";
const NO_SPACE = "\\(ENOSPC\\): no space left[^\\n]*";

/** Commands of a shell in a file system with options of mount, in which "$@" is weir, and the messages. */
const FAULTS: [options: string, command: string, message: RegExp][] = [
  [
    "size=16k",
    `"$@" ${RECORDS} --output=a.csv`,
    new RegExp(`^Cannot write a\\.csv ${NO_SPACE}: free some space,[^\\n]*\n$`),
  ],
  [
    "size=128k",
    `"$@" ${RECORDS} --output=a.csv`,
    /^a\.csv\.part has \d00 rows: [^\n]*--resume[^\n]*\nCannot write a\.csv /,
  ],
  [
    "ro",
    `"$@" ${RECORDS} --output=a.csv`,
    /^Cannot open a\.csv\.part \(EROFS\): the file system is read-only: [^\n]*\n$/,
  ],
  [
    "size=4k",
    'cat /dev/zero 2>&- > filler; "$@" records --sandbox --quiet --limit=1 --cite=c.txt',
    new RegExp(`its citations are not \\(Cannot write c\\.txt ${NO_SPACE}`),
  ],
  [
    "size=4k",
    `"$@" ${RECORDS} > /dev/full`,
    new RegExp(`^Cannot write standard output ${NO_SPACE}\n$`),
  ],
];

for (const runtime of ["Deno", "Node", "Bun"] as const) {
  Deno.test(needing(
    { [runtime]: PROGRAMS[runtime], "unshare with the right to mount": canMount },
    `weir names the file and its disk when the disk is full or read-only in ${runtime}`,
    () =>
      withFiles(async () => {
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
      }),
  ));
}
