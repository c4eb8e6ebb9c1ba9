// Files that cannot be written: the message names the file and says what to do.
import { assertEquals, assertMatch } from "@std/assert";
import { bundle } from "../bundle.ts";
import { denoArguments, FOLDER, withFiles, writeFile } from "../command_line.ts";
import { type ProgramResult, runProgram, runProgramWith } from "../../helpers/programs.ts";
import { needing } from "../needs.ts";
import { bun, node } from "../runtime_programs.ts";

const UNSHARE = ["--map-root-user", "--mount", "sh", "-c"];
const canMount = (await runProgram("unshare", ...UNSHARE, "mount -t tmpfs tmpfs /mnt"))?.success ??
  false;

/** The command line's program in each runtime, for a folder that it may read and write. */
const runtimes: [name: string, program: string | undefined, ...args: string[]][] = [
  [
    "Deno",
    Deno.execPath(),
    ...denoArguments({ hasFiles: true, environment: { WEIR_REQUESTS_PER_SECOND: "" } }, []),
  ],
  ["Node", node, "../weir.mjs"],
  ["Bun", bun, "../weir.mjs"],
];
const RECORDS = ["records", "--sandbox", "--quiet", "--limit=2000", "--top=100"];

for (const [name, program, ...args] of runtimes) {
  const needs = { [name]: program, "unshare with the right to mount": canMount };
  /** Runs a command line in a folder that is a separate file system with the given mount options. */
  const weirOn = (options: string, ...line: string[]): Promise<ProgramResult> =>
    withDisk(options, [program!, ...args, ...line], name !== "Deno");

  Deno.test(
    needing(
      needs,
      `weir names the file and its disk when the disk is full in ${name}`,
      async () => {
        const first = await weirOn("size=16k", ...RECORDS, "--output=a.csv");
        assertEquals(first.code, 1);
        assertMatch(
          first.stderr,
          /^Cannot write a\.csv \(ENOSPC\): no space left[^\n]*: free some space,[^\n]*\n$/,
        );
        const later = await weirOn("size=128k", ...RECORDS, "--output=a.csv");
        assertEquals(later.code, 1);
        assertMatch(
          later.stderr,
          /^a\.csv\.part has \d00 rows: [^\n]*--resume[^\n]*\nCannot write a\.csv /,
        );
      },
    ),
  );

  Deno.test(
    needing(needs, `weir names the file when its file system is read-only in ${name}`, async () => {
      const { code, stderr } = await weirOn("ro", ...RECORDS, "--output=a.csv");
      assertEquals(code, 1);
      assertMatch(
        stderr,
        /^Cannot open a\.csv\.part \(EROFS\): the file system is read-only: [^\n]*\n$/,
      );
    }),
  );

  Deno.test(
    needing(needs, `weir names the citations' file when the disk is full in ${name}`, async () => {
      const line = ["records", "--sandbox", "--quiet", "--limit=1", "--select=Id"];
      const { code, stderr } = await weirOn("size=4k,full", ...line, "--cite=c.txt");
      assertEquals(code, 1);
      assertMatch(stderr, /its citations are not \(Cannot write c\.txt \(ENOSPC\): no space left/);
    }),
  );

  Deno.test(needing(
    { [name]: program },
    `weir says that the disk is full when it cannot write to standard output in ${name}`,
    () =>
      withFiles(async () => {
        await writeFile("weir.mjs", await bundle("src/cli/bin.ts", "--platform", "deno"));
        await Deno.mkdir(`${FOLDER}/disk`);
        const command = ["-c", '"$@" > /dev/full', "bash", program!, ...args, ...RECORDS];
        const ended = await runProgramWith({ cwd: `${FOLDER}/disk` }, "bash", ...command);
        assertEquals(ended?.code, 1);
        assertMatch(
          ended!.stderr,
          /^Cannot write standard output \(ENOSPC\): no space left[^\n]*\n$/,
        );
      }),
  ));
}

/** Runs a program in a folder that is a new tmpfs; the option `full` leaves no space there. */
async function withDisk(
  options: string,
  command: string[],
  isBundled: boolean,
): Promise<ProgramResult> {
  const [mounted, isFull] = [options.replace(",full", ""), options.endsWith(",full")];
  const fill = isFull ? "cat /dev/zero 2>&- > filler; " : "";
  const script = `mount -t tmpfs -o ${mounted} tmpfs disk && cd disk && { ${fill}"$@"; }`;
  const env = { WEIR_REQUESTS_PER_SECOND: "Infinity" };
  let ended: ProgramResult | undefined;
  await withFiles(async () => {
    if (isBundled) {
      await writeFile("weir.mjs", await bundle("src/cli/bin.ts", "--platform", "deno"));
    }
    await Deno.mkdir(`${FOLDER}/disk`);
    ended = await runProgramWith(
      { cwd: FOLDER, env },
      "unshare",
      ...UNSHARE,
      script,
      "sh",
      ...command,
    );
  });
  return ended!;
}
