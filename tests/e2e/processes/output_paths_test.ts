// --output and --cite write to devices, pipes and symbolic links, and keep the permissions of files.
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import {
  type CommandLine,
  fileNames,
  FOLDER,
  inShell,
  MAIN,
  readFile,
  runToEnd,
  start,
  withFiles,
  writeFile,
} from "../command_line.ts";
import { needing } from "../needs.ts";
import { runProgram } from "../../helpers/programs.ts";
import { weir } from "../../helpers/run_weir.ts";
import { Download } from "./download.ts";

const isRoot = (await runProgram("id", "-u"))?.stdout === "0\n";
const toFile: CommandLine = {
  hasFiles: true,
  environment: { WEIR_REQUESTS_PER_SECOND: "Infinity" },
};
const LOCATIONS = ["locations", "--sandbox", "--select=Id", "--limit=3", "--quiet"];
const ROWS = "Id\r\n1001\r\n1008\r\n1015\r\n";
const RECORDS = ["records", "--sandbox", "--select=Id", "--limit=1", "--quiet"];

/** Reads a named pipe to its end, with a time limit. */
const readPipe = (name: string, ...reader: string[]) =>
  runProgram("timeout", "20", ...(reader.length ? reader : ["cat"]), `${FOLDER}/${name}`);

/**
 * Runs a line of bash, in which "$@" is weir with arguments.
 *
 * Deno requires all permissions for most files in /dev. A command line that writes to /dev/null has only
 * the permissions that it needs, so that a fault cannot replace the device.
 */
function weirInShell(line: string, ...args: string[]) {
  const permissions = args.some((arg) => arg.endsWith("/dev/null"))
    ? ["--allow-read", "--allow-write=/dev/null,.", "--allow-env=DATASTREAM_API_KEY"]
    : ["--allow-all"];
  return inShell(line, ["run", ...permissions, MAIN, ...args]);
}

Deno.test("weir writes to a named pipe directly", () =>
  withFiles(async () => {
    await runProgram("mkfifo", `${FOLDER}/a.csv`);
    const reader = readPipe("a.csv");
    const { code, stderr } = await runToEnd(toFile, ...LOCATIONS, "--output=a.csv", "--force");
    assertEquals([code, stderr, await fileNames()], [0, "", ["a.csv"]]);
    assertEquals((await reader)?.stdout, ROWS);
    assert((await Deno.lstat(`${FOLDER}/a.csv`)).isFifo);
  }));

Deno.test("weir exits on Ctrl-C while no process reads the named pipe", () =>
  withFiles(async () => {
    await runProgram("mkfifo", `${FOLDER}/a.csv`);
    const child = start(toFile, "records", "--sandbox", "--output=a.csv");
    // Only the kernel shows that the process waits in open().
    const wchan = `/proc/${child.pid}/task`;
    await runProgram(
      "bash",
      "-c",
      `for i in {1..1000}; do grep -qs wait_for_partner ${wchan}/*/wchan && break; sleep 0.05; done`,
    );
    child.kill("SIGINT");
    const { code, stderr } = await child.output();
    assertEquals([code, new TextDecoder().decode(stderr)], [130, "Interrupted\n"]);
    assertEquals(await fileNames(), ["a.csv"]);
  }));

Deno.test("weir fails and names the pipe when its reader closes it", () =>
  withFiles(async () => {
    await runProgram("mkfifo", `${FOLDER}/a.csv`);
    const reader = readPipe("a.csv", "head", "-c", "5");
    const line = ["records", "--sandbox", "--quiet", "--output=a.csv"];
    const { code, stderr } = await runToEnd(toFile, ...line);
    await reader;
    assertEquals(code, 1);
    assertMatch(stderr, /^Cannot write a\.csv: [^\n]*\n$/);
  }));

Deno.test("weir --resume exits with 2 when the output is a pipe or standard output", async () => {
  await using download = await Download.create();
  await runProgram("mkfifo", download.path("pipe.csv"));
  for (const output of ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "pipe.csv"]) {
    const end = { code: 2, says: ["--resume"] };
    assertEquals((await download.expect(`--output=${output} --resume`, end)).output, "");
  }
});

Deno.test("weir --output=/dev/stdout --force writes to standard output, without any permission", () =>
  withFiles(async () => {
    const rows = ROWS.replaceAll("\r", "");
    const args = [...LOCATIONS, "--output=/dev/stdout"];
    const piped = await runToEnd({}, ...args, "--force");
    assertEquals([piped.code, piped.stdout, piped.stderr], [0, rows, ""]);
    // Appended, as `echo` does.
    const { code } = await weirInShell('{ echo one; "$@"; echo two; } > out.csv', ...args);
    assertEquals([code, await readFile("out.csv")], [0, `one\n${rows}two\n`]);
    assertEquals(await fileNames(), ["out.csv"]);
  }));

Deno.test("weir writes to devices and open file descriptors directly", () =>
  withFiles(async () => {
    const none = await weirInShell('"$@"', ...LOCATIONS, "--output=/dev/null", "--force");
    assertEquals([none.code, none.stdout, none.stderr], [0, "", ""]);
    assert((await runProgram("test", "-c", "/dev/null"))?.success);
    const full = await weirInShell('"$@"', ...LOCATIONS, "--output=/dev/full");
    assertEquals(full.code, 1);
    assertMatch(full.stderr, /^Cannot write \/dev\/full: .*(ENOSPC|No space left).*\n$/);
    const line = '{ echo one >&3; "$@"; } 3> out.csv';
    const { code, stderr } = await weirInShell(line, ...LOCATIONS, "--output=/dev/fd/3");
    assertEquals([code, stderr, await readFile("out.csv")], [0, "", `one\n${ROWS}`]);
    assertEquals(await fileNames(), ["out.csv"]);
  }));

Deno.test("weir replaces the target of a symbolic link, with the part beside the target", async () => {
  await using download = await Download.create();
  await Deno.mkdir(download.path("data"));
  await download.write("data/2026.csv", "of old");
  await download.link("data/2026.csv", "latest.csv");
  await download.link("latest.csv", "again.csv");
  const says = ["data/2026.csv already exists"];
  await download.expect("--output=again.csv", { code: 1, says });
  assertEquals(await download.text("data/2026.csv"), "of old");
  download.failAt = 2;
  await download.expect("--output=again.csv --force", {
    code: 1,
    files: ["again.csv", "data", "latest.csv"],
    says: ["data/2026.csv.part has 5 rows"],
  });
  download.failAt = 0;
  // Both names refer to one file.
  await download.expect("--output=data/2026.csv --resume", { pages: 2 });
  assertEquals((await download.text("again.csv")).split("\r\n").length, 14);
  for (const name of ["again.csv", "latest.csv"]) {
    assert((await Deno.lstat(download.path(name))).isSymlink);
  }
  const data = Array.from(Deno.readDirSync(download.path("data")), ({ name }) => name);
  assertEquals(data.sort(), ["2026.csv", "2026.csv.datapackage.json"]);
});

for (
  const [target, message] of [
    ["none.csv", /link\.csv is a symbolic link to a missing file: name the file itself$/],
    [
      "link.csv",
      /^Cannot stat \S+link\.csv \(ELOOP\): it is a loop of symbolic links: name a file$/,
    ],
  ] as const
) {
  Deno.test(`weir refuses a symbolic link to ${target}`, async () => {
    await using download = await Download.create();
    await download.link(target, "link.csv");
    for (const flag of ["--output", "--cite"]) {
      const { errors } = await download.expect(`--format=csv --force ${flag}=link.csv`, {
        code: 1,
        files: ["link.csv"],
        messages: 1,
      });
      assertMatch(errors[0]!, message);
    }
  });
}

Deno.test("weir --force keeps the permissions of a file, and gives the part no more", async () => {
  await using download = await Download.create();
  const modeOf = (name: string) => Deno.statSync(download.path(name)).mode! & 0o777;
  for (const mode of [0o640, 0o755, 0o200]) {
    const modes: number[] = [];
    download.onPage = () => void modes.push(modeOf("a.csv.part"));
    await download.write("a.csv", "of old");
    await Deno.chmod(download.path(), mode);
    await download.expect("--force");
    // The owner can read and write the part, because --resume must.
    assertEquals([modes[0], modes[2], modeOf("a.csv")], [mode | 0o600, mode | 0o600, mode]);
    await Deno.chmod(download.path(), 0o600);
    assertEquals((await download.text()).split("\r\n").length, 14);
  }
});

Deno.test(needing(
  { "the user root": isRoot },
  "weir --force keeps the owner of a file when it may set the owner",
  async () => {
    await using download = await Download.create();
    await download.write("a.csv", "of old");
    await runProgram("chown", "1234:2345", download.path());
    await download.expect("--force");
    const { uid, gid } = await Deno.stat(download.path());
    assertEquals([uid, gid], [1234, 2345]);
  },
));

for (const flag of ["--output", "--cite"]) {
  Deno.test(`weir ${flag} refuses a read-only file, with or without --force`, async () => {
    await using download = await Download.create();
    await download.write("old.csv", "of old");
    await Deno.chmod(download.path("old.csv"), 0o444);
    await download.link("old.csv", "link.csv");
    for (const more of ["", "--force"]) {
      for (const name of ["old.csv", "link.csv"]) {
        const { errors } = await download.expect(`${more} ${flag}=${name} --format=csv`, {
          code: 1,
          files: ["link.csv", "old.csv"],
        });
        assertMatch(errors[0]!, /\bold\.csv is read-only: /);
      }
    }
    assertEquals(await download.text("old.csv"), "of old");
  });
}

Deno.test("weir does not replace a file that became read-only during the download", async () => {
  await using download = await Download.create();
  await download.write("a.csv", "of old");
  download.onPage = () => Deno.chmodSync(download.path(), 0o400);
  await download.expect("--force", { code: 1, says: ["a.csv is read-only"] });
  assertEquals(await download.text(), "of old");
});

Deno.test("weir --cite writes to a device, a pipe or standard output directly", () =>
  withFiles(async () => {
    await runProgram("mkfifo", `${FOLDER}/cite.txt`);
    const reader = readPipe("cite.txt");
    const args = [...RECORDS, "--doi=10.25976/weir-aa00"];
    const { code, stderr } = await runToEnd(toFile, ...args, "--cite=cite.txt");
    assertEquals([code, stderr, await fileNames()], [0, "", ["cite.txt"]]);
    const cited = (await reader)!.stdout;
    assertStringIncludes(cited, "https://doi.org/10.25976/weir-aa00\n");
    const both = await runToEnd(toFile, ...args, "--cite=/dev/stdout", "--output=a.csv");
    assertEquals([both.code, both.stdout], [0, cited]);
    const none = await weirInShell('"$@"', ...args, "--cite=/dev/null", "--output=b.csv");
    assertEquals([none.code, none.stderr], [0, ""]);
    assertEquals(await fileNames(), ["a.csv", "b.csv", "cite.txt"]);
  }));

Deno.test("weir refuses a --cite that leads to the file or the part of --output", async () => {
  await using download = await Download.create();
  await download.write("a.csv", "of old");
  await download.write("a.csv.part.json", "{}");
  await download.link("a.csv", "cite.txt");
  await download.link("a.csv.part.json", "datasets.txt");
  const files = ["a.csv", "a.csv.part.json", "cite.txt", "datasets.txt"];
  for (const name of files) {
    const says = ["would write to the same file"];
    await download.expect(`--force --cite=${name}`, { code: 2, files, says });
  }
});

Deno.test("weir reads lists from files, also in the UTF-16 of Windows PowerShell", () =>
  withFiles(async () => {
    const text = "\uFEFFId,Name\r\n1001,a\r\n1008,b\r\n";
    const bytes = new Uint8Array(Uint16Array.from(text, (unit) => unit.charCodeAt(0)).buffer);
    await Deno.writeFile(`${FOLDER}/sites.csv`, bytes);
    await writeFile("units.txt", "Nitrate=ug/L\n");
    const lists = [`--location=@${FOLDER}/sites.csv`, `--unit=@${FOLDER}/units.txt`, "--tidy"];
    const fields = ["--quiet", "--select=LocationId", "--limit=3", "--no-header"];
    const { code, output } = await weir(["observations", "--sandbox", ...lists, ...fields]);
    assertEquals([code, /^1001,/.test(output)], [0, true]);
  }));
