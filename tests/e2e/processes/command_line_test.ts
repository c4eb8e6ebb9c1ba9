// The command line uses pipes, files, permissions and exit codes as documented, in a process.
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Download } from "./download.ts";
import {
  type CommandLine,
  denoArguments,
  FOLDER,
  readFile,
  runToEnd,
  serving,
  start,
  withFiles,
} from "../command_line.ts";
import { childCommand } from "../../helpers/programs.ts";
import { readCsv } from "../../helpers/rfc4180.ts";
import { weir } from "../../helpers/run_weir.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";

const toFile: CommandLine = {
  hasFiles: true,
  environment: { WEIR_REQUESTS_PER_SECOND: "Infinity" },
};

Deno.test("weir writes to standard output with only the permission to read the key", () =>
  withFiles(async () => {
    const line = ["records", "--sandbox", "--select=Id", "--filter=LocationId eq 1015", "--quiet"];
    const { code, stdout, stderr } = await runToEnd({}, ...line);
    assertEquals([code, stderr, readCsv(stdout, "\n").length], [0, "", 1 + 450]);
  }));

Deno.test("weir exits with 0 when the reader closes the pipe", () =>
  withFiles(async () => {
    const child = start({}, "records", "--sandbox", "--top=1000", "--quiet");
    const reader = child.stdout.getReader();
    const { value } = await reader.read();
    assert(new TextDecoder().decode(value).startsWith("Id,DOI,"));
    await reader.cancel();
    const { code } = await child.status;
    assertEquals([code, await new Response(child.stderr).text()], [0, ""]);
  }));

Deno.test("weir takes the format from the extension of the file", async () => {
  await using download = await Download.create();
  const texts = {
    "a.csv": "Id\r\n500003\r\n",
    "a.JSON": '{"value":[{"Id":500003}]}\n',
    "a.jsonl": '{"Id":500003}\n',
    "a.ndjson": '{"Id":500003}\n',
  };
  for (const [name, text] of Object.entries(texts)) {
    const path = `${download.folder}/${name}`;
    assertEquals((await download.run("--select=Id --limit=1", [`--output=${path}`])).code, 0);
    assertEquals(await Deno.readTextFile(path), text);
  }
});

Deno.test("weir keeps the complete file and says so when the citations cannot be requested", async () => {
  await using download = await Download.create();
  download.metadataError = () => new Response("", { status: 404 });
  const line = "!quiet --limit=1 --select=Id";
  const { code, errors } = await download.run(line);
  assertEquals(code, 0);
  assertMatch(
    errors.join("\n"),
    /a\.csv: 1 row, 1 kB, 1 s\n.*a\.csv is complete, but its citations are not/,
  );
  const cite = `--cite=${download.folder}/c.txt`;
  const withCite = await download.run(line, [cite, "--force"]);
  assertEquals([withCite.code, await download.names()], [1, ["a.csv"]]);
  assertMatch(withCite.errors.at(-1)!, /To print them: weir cite --base-url https:\S+$/);
});

Deno.test("weir names the permission when Deno may not read a variable", () =>
  withFiles(async () => {
    const args = denoArguments({}, ["records"]).filter((arg) => !arg.startsWith("--allow-env"));
    const env = { DATASTREAM_API_KEY: "k" };
    const { stderr } = await childCommand(Deno.execPath(), { args, env, cwd: FOLDER }).output();
    assertStringIncludes(
      new TextDecoder().decode(stderr),
      "permit reading it (--allow-env=DATASTREAM_API_KEY)",
    );
  }));

/** Links in the file of citations. */
const citedIn = async (download: Download) =>
  (await download.files())["cite.txt"]?.match(/10\.\d+\/weir-.*$/gm);

Deno.test("weir --cite writes the citations to a new file, and does not overwrite an existing one", async () => {
  await using download = await Download.create();
  const cite = [`--cite=${download.folder}/cite.txt`];
  const { code, errors } = await download.run("!quiet --limit=1", cite);
  assertEquals([code, errors.join().includes("requires citing")], [0, false]);
  assertEquals(await citedIn(download), ["10.25976/weir-aa00"]);
  await Deno.remove(`${download.folder}/a.csv`);
  const again = await download.run("", cite);
  assertEquals([again.code, await download.names()], [1, ["cite.txt"]]);
  assertStringIncludes(again.errors.join(), "cite.txt already exists");
});

Deno.test("weir --cite changes no other file", async () => {
  await using download = await Download.create();
  await download.write("cite.txt.new", "notes");
  assertEquals((await download.run("", [`--cite=${download.folder}/cite.txt`])).code, 0);
  assertEquals(await download.names(), ["a.csv", "cite.txt", "cite.txt.new"]);
  assertEquals((await download.files())["cite.txt.new"], "notes");
});

Deno.test("weir --cite includes the datasets of rows that an interrupted run wrote", async () => {
  await using download = await Download.create();
  // The pages are of different datasets; the third is beyond the limit.
  const line = "locations !select --filter=LocationId in (1001,1008,1015) --top=1 --limit=2";
  const cite = `--cite=${download.folder}/cite.txt`;
  download.failAt(2);
  assertEquals((await download.run(line, [cite])).code, 1);
  download.onPage = () => {};
  assertEquals((await download.run(line, [cite, "--resume"])).code, 0);
  assertEquals(await citedIn(download), ["10.25976/weir-aa00", "10.25976/weir-bb00"]);
});

Deno.test("weir --cite says that citations may be unneeded when DOI is not a column", async () => {
  await using download = await Download.create();
  const cite = `--cite=${download.folder}/cite.txt`;
  const { code, errors } = await download.run("!quiet --limit=1 --select=Id", [cite]);
  assertEquals([code, (await citedIn(download))?.length], [0, 5]);
  assertMatch(errors.at(-1)!, /cite\.txt may have unneeded citations: all datasets that match/);
});

Deno.test("weir setup saves a key that only its owner can read, and weir uses it", async () => {
  await using download = await Download.create();
  const environment = { XDG_CONFIG_HOME: download.folder };
  const path = `${download.folder}/weir/key`;
  const setup = (secret: string, ...flags: string[]) =>
    weir(["setup", ...flags], { environment, secret });
  const modeOf = async (name: string) => ((await Deno.stat(name)).mode ?? 0) & 0o777;
  const saved = await setup("old-key\n");
  assertEquals([saved.code, await Deno.readTextFile(path)], [0, "old-key\n"]);
  assertMatch(saved.errors.at(-1)!, /^Saved in \S+weir.key, which only you can read\. /);
  assertEquals([await modeOf(`${download.folder}/weir`), await modeOf(path)], [0o700, 0o600]);
  // A file that others can read becomes private.
  await Deno.chmod(path, 0o644);
  const kept = await setup("key-of-a-test");
  assertEquals([kept.code, await Deno.readTextFile(path)], [1, "old-key\n"]);
  assertMatch(kept.errors.at(-1)!, /weir.key already has a key: pass --force to replace it$/);
  assertEquals((await setup("key-of-a-test", "--force")).code, 0);
  assertEquals([await Deno.readTextFile(path), await modeOf(path)], ["key-of-a-test\n", 0o600]);
  const failed = await weir(["setup"], { secret: "k", environment: { XDG_CONFIG_HOME: path } });
  assertEquals(failed.code, 1);
  assertMatch(failed.errors.at(-1)!, /^ENOTDIR: not a directory/);
  const line = ["locations", "--base-url=https://service.example/v1/odata/v4", "--count"];
  assertEquals((await weir(line, { environment })).output, "12\n");
});

Deno.test("weir ignores a closed standard error", () =>
  withFiles(async () => {
    const line = '"$@" --select Id --limit 9 --top 3 --output a.csv 2> >(exec true); echo $?';
    const weir = denoArguments(toFile, ["records", "--sandbox"]);
    const args = ["-c", line, "bash", Deno.execPath(), ...weir];
    const options = { args, cwd: FOLDER, env: toFile.environment! };
    const { stdout } = await new Deno.Command("bash", options).output();
    assertEquals(new TextDecoder().decode(stdout), "0\n");
    assertEquals((await readFile("a.csv")).split("\r\n").length, 11);
  }));

for (
  const [input, code] of [["printf key-of-a-test", 0], ["printf '\\nkey\\n'", 0], [
    "true",
    2,
  ]] as const
) {
  Deno.test(`weir setup exits when the input is: ${input}`, () =>
    withFiles(async () => {
      const environment = { XDG_CONFIG_HOME: "config", HOME: "", USERPROFILE: "" };
      const args = denoArguments({ hasFiles: true, environment }, ["setup"]);
      const line = ["-c", `${input} | "$@"`, "bash", Deno.execPath(), ...args];
      const ended = await new Deno.Command("bash", { args: line, cwd: FOLDER, env: environment })
        .output();
      assertEquals(ended.code, code, new TextDecoder().decode(ended.stderr));
    }));
}

const permissions: [use: string, allow: string[], args: string[]][] = [
  ["fields", [], ["fields", "records"]],
  ["url", [], ["url", "records"]],
  ["help", [], ["records", "--help"]],
  ["the sandbox without a file", [], ["locations", "--sandbox", "--count"]],
  ["standard output", ["--allow-env=DATASTREAM_API_KEY", "NET"], [
    "locations",
    "BASE",
    "--limit=1",
  ]],
  ["a count", ["--allow-env=DATASTREAM_API_KEY", "NET"], ["locations", "BASE", "--count"]],
  ["cite", ["--allow-env=DATASTREAM_API_KEY", "NET"], ["cite", "BASE"]],
  [
    "a file",
    ["--allow-env=DATASTREAM_API_KEY", "NET", "--allow-read=.", "--allow-write=."],
    ["locations", "BASE", "--limit=1", "--output=a.csv"],
  ],
  ["setup", ["--allow-env=XDG_CONFIG_HOME,HOME", "--allow-write=HOME/.config"], ["setup"]],
  [
    "the key of setup",
    [
      "--allow-env=DATASTREAM_API_KEY,XDG_CONFIG_HOME,HOME",
      "--allow-read=HOME/.config/weir/key",
      "NET",
    ],
    ["locations", "BASE", "--count"],
  ],
  ["sign", ["--allow-env=WEIR_SIGNING_SECRET"], ["sign", "https://h.example/Records.csv"]],
];

Deno.test("weir needs only the permissions that the README documents", () => {
  const sandbox = createSandbox({ hostileNames: true, requestsPerSecond: Infinity });
  return serving(sandbox.fetch, async ({ port }, baseUrl) => {
    const home = await Deno.realPath(FOLDER);
    for (const [use, allow, args] of permissions) {
      const hasKey = !["setup", "the key of setup"].includes(use);
      const env = {
        HOME: home,
        WEIR_SIGNING_SECRET: "a secret of a test, of thirty-two bytes",
        ...(hasKey && { DATASTREAM_API_KEY: "sandbox" }),
      };
      const flags = allow.map((flag) =>
        flag === "NET" ? `--allow-net=127.0.0.1:${port}` : flag.replace("HOME/", `${home}/`)
      );
      const [, , ...line] = denoArguments({}, args.map((arg) => arg === "BASE" ? baseUrl : arg));
      const rest = line.filter((arg) => !arg.startsWith("--allow") && arg !== "--no-prompt");
      const command = ["run", "--quiet", "--no-prompt", ...flags, ...rest];
      const ended = await new Deno.Command("bash", {
        args: ["-c", 'echo sandbox | "$@"', "bash", Deno.execPath(), ...command],
        cwd: FOLDER,
        env,
      }).output();
      assertEquals(ended.code, 0, `${use}: ${new TextDecoder().decode(ended.stderr)}`);
    }
  });
});
