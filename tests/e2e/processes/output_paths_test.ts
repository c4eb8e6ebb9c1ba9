// --output and --cite write to devices, pipes and symbolic links, and keep the permissions of files.
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import {
  type CommandLine,
  denoArguments,
  fileNames,
  FOLDER,
  readFile,
  runToEnd,
  serving,
  start,
  withFiles,
  writeFile,
} from "../command_line.ts";
import { needing } from "../needs.ts";
import { runProgram } from "../../helpers/programs.ts";
import { weir } from "../../helpers/run_weir.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";
import { Download } from "./download.ts";

const isRoot = (await runProgram("id", "-u"))?.stdout === "0\n";
const toFile: CommandLine = {
  hasFiles: true,
  environment: { WEIR_REQUESTS_PER_SECOND: "Infinity" },
};
const LOCATIONS = ["locations", "--sandbox", "--select=Id", "--limit=3", "--quiet"];
const ROWS = "Id\r\n1001\r\n1008\r\n1015\r\n";
const RECORDS = ["records", "--sandbox", "--select=Id", "--limit=1", "--quiet"];

const isLink = async (name: string) => (await Deno.lstat(`${FOLDER}/${name}`)).isSymlink;
const link = (target: string, name: string) => runProgram("ln", "-s", target, `${FOLDER}/${name}`);

/** Reads a named pipe to its end, with a time limit. */
const readPipe = (name: string, ...reader: string[]) =>
  runProgram("timeout", "20", ...(reader.length ? reader : ["cat"]), `${FOLDER}/${name}`);

/**
 * Runs a line of bash, in which "$@" is weir with permissions and arguments.
 *
 * Deno requires all permissions for most files in /dev. A command line that writes to /dev/null has only
 * the permissions that it needs, so that a fault cannot replace the device.
 */
async function inShell(
  line: string,
  ...args: string[]
): Promise<{ code: number; stdout: string; stderr: string }> {
  const allow = args.some((arg) => arg.endsWith("/dev/null"))
    ? ["--allow-read", "--allow-write=/dev/null,.", "--allow-env=DATASTREAM_API_KEY"]
    : ["--allow-all"];
  const [, , ...rest] = denoArguments({}, args);
  const weir = ["run", ...allow, ...rest.filter((arg) => !arg.startsWith("--allow"))];
  const { code, stdout, stderr } = await new Deno.Command("bash", {
    args: ["-c", line, "bash", Deno.execPath(), ...weir],
    cwd: FOLDER,
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: text(stdout), stderr: text(stderr) };
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

Deno.test("weir --resume exits with 2 when the output is a pipe or standard output", () =>
  withFiles(async () => {
    await runProgram("mkfifo", `${FOLDER}/a.csv`);
    const paths = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", `${FOLDER}/a.csv`];
    for (const output of paths) {
      const given = await weir([...LOCATIONS, `--output=${output}`, "--resume"]);
      assertEquals([given.code, given.output], [2, ""], output);
      assertStringIncludes(given.errors[0]!, "--resume");
    }
  }));

for (const output of ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"]) {
  Deno.test(`weir --output=${output} --force writes to standard output, without any permission`, () =>
    withFiles(async () => {
      const rows = ROWS.replaceAll("\r", "");
      const baseArgs = [...LOCATIONS, `--output=${output}`];
      const piped = await runToEnd({}, ...baseArgs, "--force");
      assertEquals([piped.code, piped.stdout, piped.stderr], [0, rows, ""]);
      // Appended, as `echo` does.
      const { code } = await inShell('{ echo one; "$@"; echo two; } > out.csv', ...baseArgs);
      assertEquals([code, await readFile("out.csv")], [0, `one\n${rows}two\n`]);
      assertEquals(await fileNames(), ["out.csv"]);
    }));
}

Deno.test("weir writes to devices and open file descriptors directly", () =>
  withFiles(async () => {
    const none = await inShell('"$@"', ...LOCATIONS, "--output=/dev/null", "--force");
    assertEquals([none.code, none.stdout, none.stderr], [0, "", ""]);
    assert((await runProgram("test", "-c", "/dev/null"))?.success);
    const full = await inShell('"$@"', ...LOCATIONS, "--output=/dev/full");
    assertEquals(full.code, 1);
    assertMatch(full.stderr, /^Cannot write \/dev\/full: .*(ENOSPC|No space left).*\n$/);
    for (const output of ["/dev/fd/3", "/proc/self/fd/3"]) {
      const line = '{ echo one >&3; "$@"; } 3> out.csv';
      const { code, stderr } = await inShell(line, ...LOCATIONS, `--output=${output}`);
      assertEquals([code, stderr], [0, ""]);
      assertEquals(await readFile("out.csv"), `one\n${ROWS}`);
      assertEquals(await fileNames(), ["out.csv"]);
    }
  }));

Deno.test("weir replaces the target of a symbolic link, with the part beside the target", () => {
  const sandbox = createSandbox({ hostileNames: true, requestsPerSecond: Infinity });
  let requestCount = 0;
  return serving(
    (request) => ++requestCount === 3 ? new Response("", { status: 404 }) : sandbox.fetch(request),
    async (line, baseUrl) => {
      await Deno.mkdir(`${FOLDER}/data`);
      await writeFile("data/2026.csv", "of old");
      await link("data/2026.csv", "latest.csv");
      await link("latest.csv", "again.csv");
      const baseArgs = ["locations", baseUrl, "--select=Id", "--top=20", "--output=again.csv"];
      const refused = await runToEnd(line, ...baseArgs);
      assertEquals([refused.code, await readFile("data/2026.csv")], [1, "of old"]);
      assertStringIncludes(refused.stderr, "data/2026.csv already exists");
      const broken = await runToEnd(line, ...baseArgs, "--force");
      assertStringIncludes(broken.stderr, "data/2026.csv.part has 20 rows");
      assertEquals(await fileNames(), ["again.csv", "data", "latest.csv"]);
      // Both names refer to one file.
      const target = baseArgs.map((arg) =>
        arg === "--output=again.csv" ? "--output=data/2026.csv" : arg
      );
      assertEquals((await runToEnd(line, ...target, "--resume")).code, 0);
      assertEquals((await readFile("again.csv")).split("\r\n").length, 62);
      assertEquals([await isLink("again.csv"), await isLink("latest.csv")], [true, true]);
      const data = Array.from(Deno.readDirSync(`${FOLDER}/data`), ({ name }) => name);
      assertEquals(data.sort(), ["2026.csv", "2026.csv.datapackage.json"]);
    },
  );
});

for (
  const [target, message] of [
    ["none.csv", /a\.csv is a symbolic link to a missing file: name the file itself$/],
    ["a.csv", /^Cannot stat \S+a\.csv \(ELOOP\): it is a loop of symbolic links: name a file$/],
  ] as const
) {
  Deno.test(`weir refuses a symbolic link to ${target}`, () =>
    withFiles(async () => {
      await link(target, "a.csv");
      for (const flag of ["--output", "--cite"]) {
        const line = [...RECORDS, "--format=csv", `${flag}=${FOLDER}/a.csv`, "--force"];
        const { code, errors } = await weir(line);
        assertEquals([code, errors.length, await fileNames()], [1, 1, ["a.csv"]]);
        assertMatch(errors[0]!, message);
      }
    }));
}

Deno.test("weir --force keeps the permissions of a file, and gives the part no more", async () => {
  await using download = await Download.create();
  const path = `${download.folder}/a.csv`;
  const modeOf = async (name: string) => (await Deno.stat(name)).mode! & 0o777;
  for (const mode of [0o600, 0o640, 0o755, 0o200]) {
    const modes: number[] = [];
    download.onPage = () => void modes.push(Deno.statSync(`${path}.part`).mode! & 0o777);
    await Deno.writeTextFile(path, "of old");
    await Deno.chmod(path, mode);
    assertEquals((await download.run("", ["--force"])).code, 0);
    // The owner can read and write the part, because --resume must.
    assertEquals([modes[0], modes[2], await modeOf(path)], [mode | 0o600, mode | 0o600, mode]);
    await Deno.chmod(path, 0o600);
    assertEquals((await Deno.readTextFile(path)).split("\r\n").length, 14);
  }
});

Deno.test(needing(
  { "the user root": isRoot },
  "weir --force keeps the owner of a file when it may set the owner",
  () =>
    withFiles(async () => {
      await writeFile("a.csv", "of old");
      await runProgram("chown", "1234:2345", `${FOLDER}/a.csv`);
      assertEquals((await runToEnd(toFile, ...LOCATIONS, "--output=a.csv", "--force")).code, 0);
      const { uid, gid } = await Deno.stat(`${FOLDER}/a.csv`);
      assertEquals([uid, gid], [1234, 2345]);
    }),
));

for (const flag of ["--output", "--cite"]) {
  Deno.test(`weir ${flag} refuses a read-only file, with or without --force`, () =>
    withFiles(async () => {
      await writeFile("a.csv", "of old");
      await Deno.chmod(`${FOLDER}/a.csv`, 0o444);
      await link("a.csv", "link.csv");
      for (const more of [[], ["--force"]]) {
        for (const name of ["a.csv", "link.csv"]) {
          const line = [...RECORDS, "--format=csv", `${flag}=${FOLDER}/${name}`, ...more];
          const { code, output, errors } = await weir(line);
          assertEquals([code, output, await readFile("a.csv")], [1, "", "of old"]);
          assertMatch(errors[0]!, /\ba\.csv is read-only: /);
        }
      }
      assertEquals(await fileNames(), ["a.csv", "link.csv"]);
    }));
}

Deno.test("weir does not replace a file that became read-only during the download", async () => {
  await using download = await Download.create();
  await download.write("a.csv", "of old");
  download.onPage = () => Deno.chmodSync(`${download.folder}/a.csv`, 0o400);
  const { code, errors } = await download.run("", ["--force"]);
  assertEquals([code, (await download.files())["a.csv"]], [1, "of old"]);
  assertStringIncludes(errors.join(), "a.csv is read-only");
});

Deno.test("weir --cite writes to a device, a pipe or standard output directly", () =>
  withFiles(async () => {
    await runProgram("mkfifo", `${FOLDER}/cite.txt`);
    const reader = readPipe("cite.txt");
    const baseArgs = [...RECORDS, "--doi=10.25976/weir-aa00"];
    const { code, stderr } = await runToEnd(toFile, ...baseArgs, "--cite=cite.txt");
    assertEquals([code, stderr, await fileNames()], [0, "", ["cite.txt"]]);
    const cited = (await reader)!.stdout;
    assertStringIncludes(cited, "https://doi.org/10.25976/weir-aa00\n");
    const both = await runToEnd(toFile, ...baseArgs, "--cite=/dev/stdout", "--output=a.csv");
    assertEquals([both.code, both.stdout], [0, cited]);
    const none = await inShell('"$@"', ...baseArgs, "--cite=/dev/null", "--output=b.csv");
    assertEquals([none.code, none.stderr, await fileNames()], [0, "", [
      "a.csv",
      "b.csv",
      "cite.txt",
    ]]);
  }));

Deno.test("weir refuses a --cite that leads to the file or the part of --output", () =>
  withFiles(async () => {
    await writeFile("a.csv", "of old");
    await link("a.csv", "cite.txt");
    await link("a.csv.part.json", "datasets.txt");
    await writeFile("a.csv.part.json", "{}");
    const before = await fileNames();
    for (const name of ["a.csv", "cite.txt", "datasets.txt", "a.csv.part.json"]) {
      const paths = [`--output=${FOLDER}/a.csv`, `--cite=${FOLDER}/${name}`];
      const { code, errors } = await weir([...RECORDS, ...paths, "--force"]);
      assertEquals([code, await fileNames()], [2, before]);
      assertStringIncludes(errors[0]!, "would write to the same file");
    }
  }));

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
