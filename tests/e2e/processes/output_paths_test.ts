// --output and --cite write to devices, pipes and symbolic links, and keep the permissions of files.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  commandOf,
  fileNames,
  FOLDER,
  inShell,
  MAIN,
  readFile,
  runToEnd,
  testWithFiles,
  writeFile,
} from "../command_line.ts";
import { testNeeding } from "../needs.ts";
import { runProgram } from "../../helpers/programs.ts";
import { weir } from "../../helpers/run_weir.ts";
import { Download } from "./download.ts";

const isRoot = (await runProgram("id", "-u"))?.stdout === "0\n";
const LOCATIONS = ["locations", "--sandbox", "--select=Id", "--limit=3", "--quiet"];
const ROWS = '"Id"\r\n1001\r\n1008\r\n1015\r\n';

Deno.test("weir --update exits with 2 when the output is a pipe or standard output", async () => {
  await using download = await Download.create();
  await runProgram("mkfifo", download.path("pipe.csv"));
  for (const output of ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "pipe.csv"]) {
    const end = { code: 2, says: ["--update needs"] };
    assertEquals((await download.expect(`--output=${output} --update`, end)).output, "");
  }
});

testWithFiles("weir writes to open file descriptors and devices directly", async () => {
  const toFile = '{ echo one >&3; "$@"; } 3> fd.csv';
  // Deno requires all permissions for most files in /dev.
  const weir = [Deno.execPath(), "run", "--allow-all", MAIN];
  const direct = await inShell(toFile, [...weir, ...LOCATIONS, "--output=/dev/fd/3"]);
  assertEquals([direct.stderr, await readFile("fd.csv")], ["", `one\n${ROWS}`]);
  // The rows are appended, as `echo` does.
  const appended = '{ echo one; "$@"; echo two; } > out.csv';
  await inShell(appended, commandOf({}, ...LOCATIONS, "--output=/dev/stdout", "--force"));
  assertEquals(await readFile("out.csv"), `one\n${ROWS.replaceAll("\r", "")}two\n`);
  assertEquals(await fileNames(), ["fd.csv", "out.csv"]);
  // It could not replace the device: the permissions do not allow that.
  const flags = ["--allow-read", "--allow-write=/dev/null,.", "--allow-env=DATASTREAM_API_KEY"];
  const toDevice = [Deno.execPath(), "run", ...flags, MAIN, ...LOCATIONS, "--output=/dev/null"];
  assertEquals((await inShell('"$@"', [...toDevice, "--force"])).code, 0);
});

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
  await download.expect("--output=data/2026.csv", { pages: 2 });
  assertEquals((await download.text("again.csv")).split("\r\n").length, 14);
  for (const name of ["again.csv", "latest.csv"]) {
    assert((await Deno.lstat(download.path(name))).isSymlink);
  }
  const data = Array.from(Deno.readDirSync(download.path("data")), ({ name }) => name);
  assertEquals(data.sort(), ["2026.csv", "2026.csv.datapackage.json"]);
});

Deno.test("weir refuses a symbolic link that leads to no file", async () => {
  await using download = await Download.create();
  await download.link("none.csv", "missing.csv");
  await download.link("loop.csv", "loop.csv");
  const messages = {
    "missing.csv": "missing.csv is a symbolic link to a missing file: name the file itself",
    "loop.csv": "loop.csv (ELOOP): it is a loop of symbolic links: name a file",
  };
  for (const [name, message] of Object.entries(messages)) {
    for (const flag of ["--output", "--cite"]) {
      const end = { code: 1, files: ["loop.csv", "missing.csv"], messages: 1, says: [message] };
      await download.expect(`--force ${flag}=${name}`, end);
    }
  }
});

Deno.test("weir --force keeps the permissions of a file, and gives the part no more", async () => {
  await using download = await Download.create();
  const modeOf = (name: string) => Deno.statSync(download.path(name)).mode! & 0o777;
  for (const mode of [0o640, 0o755, 0o200]) {
    const modes: number[] = [];
    download.onPage = () => void modes.push(modeOf("a.csv.part"));
    await download.write("a.csv", "of old");
    await Deno.chmod(download.path(), mode);
    await download.expect("--force");
    // The owner can read and write the part, because a later run must.
    assertEquals([modes[0], modes[2], modeOf("a.csv")], [mode | 0o600, mode | 0o600, mode]);
    await Deno.chmod(download.path(), 0o600);
    assertEquals((await download.text()).split("\r\n").length, 14);
  }
});

testNeeding(
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
);

Deno.test("weir refuses a read-only file for --output and --cite, also with --force", async () => {
  await using download = await Download.create();
  await download.write("old.csv", "of old");
  await Deno.chmod(download.path("old.csv"), 0o444);
  await download.link("old.csv", "link.csv");
  for (
    const flags of [
      "--output=old.csv --force",
      "--output=link.csv --force",
      "--cite=link.csv --force",
    ]
  ) {
    await download.expect(flags, {
      code: 1,
      files: ["link.csv", "old.csv"],
      says: ["old.csv is read-only: "],
    });
  }
  assertEquals(await download.text("old.csv"), "of old");
});

Deno.test("weir does not replace a file that became read-only during the download", async () => {
  await using download = await Download.create();
  await download.write("a.csv", "of old");
  download.onPage = () => Deno.chmodSync(download.path(), 0o400);
  await download.expect("--force", { code: 1, says: ["a.csv is read-only"] });
  assertEquals(await download.text(), "of old");
});

testWithFiles("weir --cite writes to a pipe or standard output directly", async () => {
  await runProgram("mkfifo", `${FOLDER}/cite.txt`);
  const reader = runProgram("timeout", "20", "cat", `${FOLDER}/cite.txt`);
  const args = [...LOCATIONS, "--doi=10.25976/weir-aa00"];
  const toPipe = await runToEnd({ hasFiles: true }, ...args, "--cite=cite.txt");
  assertEquals([toPipe.code, toPipe.stderr, await fileNames()], [0, "", ["cite.txt"]]);
  const cited = (await reader)!.stdout;
  assertStringIncludes(cited, "https://doi.org/10.25976/weir-aa00\n");
  const both = [...args, "--cite=/dev/stdout", "--output=a.csv"];
  assertEquals((await runToEnd({ hasFiles: true }, ...both)).stdout, cited);
  assertEquals(await fileNames(), ["a.csv", "cite.txt"]);
});

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

testWithFiles("weir reads lists from files, also in the UTF-16 of Windows PowerShell", async () => {
  const text = "\uFEFFId,Name\r\n1001,a\r\n1008,b\r\n";
  const bytes = new Uint8Array(Uint16Array.from(text, (unit) => unit.charCodeAt(0)).buffer);
  await Deno.writeFile(`${FOLDER}/sites.csv`, bytes);
  await writeFile("units.txt", "Nitrate=ug/L\n");
  const lists = [`--location=@${FOLDER}/sites.csv`, `--unit=@${FOLDER}/units.txt`, "--tidy"];
  const fields = ["--quiet", "--select=LocationId", "--limit=3", "--no-header"];
  const { code, output } = await weir(["observations", "--sandbox", ...lists, ...fields]);
  assertEquals([code, /^1001,/.test(output)], [0, true]);
});
