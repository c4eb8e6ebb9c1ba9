// The command line uses citations, keys and permissions as documented. runtimes_test.ts has pipes and signals.
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { BASE_URL, Download } from "./download.ts";
import {
  commandOf,
  FOLDER,
  inShell,
  MAIN,
  readFile,
  runToEnd,
  serving,
  start,
  testWithFiles,
} from "../command_line.ts";
import { weir } from "../../helpers/run_weir.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";

Deno.test("weir keeps the complete file and says so when the citations cannot be requested", async () => {
  await using download = await Download.create();
  download.refusesMetadata = true;
  const line = "!quiet --limit=1 --select=Id";
  const { errors } = await download.expect(line);
  assertMatch(
    errors.join("\n"),
    /a\.csv: 1 row, 1 kB, \d+ s\n.*a\.csv is complete, but its citations are not/,
  );
  const withCite = await download.expect(`${line} --cite=c.txt --force`, {
    code: 1,
    files: ["a.csv"],
  });
  assertMatch(withCite.errors.at(-1)!, /To print them: weir cite --base-url https:\S+$/);
});

testWithFiles("weir names the permission that it does not have", async () => {
  const words = commandOf({}, "records").filter((word) => !word.startsWith("--allow-env"));
  const { stderr } = await inShell('"$@"', words);
  assertStringIncludes(stderr, "permit reading it (--allow-env=DATASTREAM_API_KEY)");
  const toFile = await runToEnd({}, "records", "--sandbox", "--limit=1", "--output=a.csv");
  assertEquals(
    toFile.stderr,
    'Requires read access to ".", run again with the --allow-read flag\n',
  );
  const environment = { XDG_CONFIG_HOME: "config", DATASTREAM_API_KEY: "" };
  assertMatch(
    (await runToEnd({ environment }, "records")).stderr,
    /setup \(its file cannot be read: .*"config.weir.key", .* --allow-read flag\); request a key/,
  );
  const allowed = await runToEnd({ environment, hasFiles: true }, "records");
  assertMatch(allowed.stderr, /run weir setup; request a key/);
});

Deno.test("weir exits on a second signal while the reader of a text is stalled", () => {
  const Citation = "c".repeat(1_000_000);
  const dataset = { DOI: "10.25976/weir-aa00", DatasetName: "D", Version: "1", Licence: "L" };
  return serving(
    () => Response.json({ value: [{ ...dataset, Citation }] }),
    async (line, baseUrl) => {
      const child = start(line, "cite", baseUrl);
      const reader = child.stdout.getReader();
      await reader.read(); // and no more: what is left fills the pipe
      child.kill("SIGINT");
      child.kill("SIGTERM"); // two of one kind may come as one
      assertEquals((await child.status).code, 130);
      await reader.cancel();
      await child.stderr.cancel();
    },
  );
});

/** Returns the links in the file of citations. */
const citedIn = async (download: Download) =>
  (await download.text("cite.txt")).match(/10\.\d+\/weir-.*$/gm);

Deno.test("weir --cite writes the citations to a new file, and changes no existing one", async () => {
  await using download = await Download.create();
  await download.write("cite.txt.new", "notes");
  const { errors } = await download.expect("!quiet --limit=1 --cite=cite.txt", {
    files: ["a.csv", "cite.txt", "cite.txt.new"],
  });
  assertEquals(errors.join().includes("requires citing"), false);
  assertEquals(await citedIn(download), ["10.25976/weir-aa00"]);
  assertEquals(await download.text("cite.txt.new"), "notes");
  await Deno.remove(download.path());
  await download.expect("--cite=cite.txt", {
    code: 1,
    files: ["cite.txt", "cite.txt.new"],
    says: ["cite.txt already exists"],
  });
});

Deno.test("weir --cite includes the datasets of rows that an interrupted run wrote", async () => {
  await using download = await Download.create();
  // The pages are of different datasets; the third is beyond the limit.
  const line = "locations !select --filter=LocationId in (1001,1008,1015) --top=1 --limit=2 " +
    "--cite=cite.txt";
  await download.break(line);
  await download.expect(line);
  assertEquals(await citedIn(download), ["10.25976/weir-aa00", "10.25976/weir-bb00"]);
});

Deno.test("weir setup saves a key that only its owner can read, and weir uses it", async () => {
  await using download = await Download.create();
  const environment = { XDG_CONFIG_HOME: download.folder };
  const path = download.path("weir/key");
  const modeOf = async (name: string) => (await Deno.stat(name)).mode! & 0o777;
  const setup = async (secret: string, ...flags: string[]) => {
    const { errors } = await weir(["setup", ...flags], { environment, secret });
    return { message: errors.at(-1)!, key: await Deno.readTextFile(path) };
  };
  const first = await setup("old-key\n");
  assertEquals(first.key, "old-key\n");
  assertMatch(first.message, /^Saved in \S+weir.key, which only you can read\. /);
  assertEquals([await modeOf(download.path("weir")), await modeOf(path)], [0o700, 0o600]);
  // A file that others can read becomes private.
  await Deno.chmod(path, 0o644);
  const refused = await setup("key-of-a-test");
  assertEquals(refused.key, "old-key\n");
  assertMatch(refused.message, /weir.key already has a key: pass --force to replace it$/);
  assertEquals((await setup("key-of-a-test", "--force")).key, "key-of-a-test\n");
  assertEquals(await modeOf(path), 0o600);
  const failed = await weir(["setup"], { secret: "k", environment: { XDG_CONFIG_HOME: path } });
  assertEquals(failed.code, 1);
  assertMatch(failed.errors.at(-1)!, /^ENOTDIR: not a directory/);
  const line = ["locations", `--base-url=${BASE_URL}`, "--count"];
  assertEquals((await weir(line, { environment })).output, "12\n");
});

testWithFiles("weir ignores a closed standard error", async () => {
  const line = '"$@" --select Id --limit 9 --top 3 --output a.csv 2> >(exec true); echo $?';
  const weir = commandOf({ hasFiles: true }, "records", "--sandbox");
  assertEquals((await inShell(line, weir)).stdout, "0\n");
  assertEquals((await readFile("a.csv")).split("\r\n").length, 11);
});

const READ_KEY = "--allow-env=DATASTREAM_API_KEY";
const READ_HOME = "--allow-env=DATASTREAM_API_KEY,XDG_CONFIG_HOME,HOME";

/** Command lines, and the permissions that they need; BASE is the service, PORT its port, and HOME the folder of the user. */
const PERMISSIONS: Record<string, string> = {
  "fields records": "",
  "locations --sandbox --count": "",
  "locations BASE --limit=1": `${READ_KEY} --allow-net=127.0.0.1:PORT`,
  "cite BASE": `${READ_KEY} --allow-net=127.0.0.1:PORT`,
  "locations BASE --limit=1 --output=a.csv":
    `${READ_KEY} --allow-net=127.0.0.1:PORT --allow-read=. --allow-write=.`,
  "setup": "--allow-env=XDG_CONFIG_HOME,HOME --allow-write=HOME/.config",
  // With the saved key.
  "locations BASE --count --quiet":
    `${READ_HOME} --allow-read=HOME/.config/weir/key --allow-net=127.0.0.1:PORT`,
  "sign https://h.example/Records.csv": "--allow-env=WEIR_SIGNING_SECRET",
};

Deno.test("weir needs only the permissions that the README documents", () => {
  const sandbox = createSandbox({ hostileNames: true, requestsPerSecond: Infinity });
  return serving(sandbox.fetch, async ({ port }, baseUrl) => {
    const HOME = await Deno.realPath(FOLDER);
    for (const [use, permissions] of Object.entries(PERMISSIONS)) {
      const usesHome = permissions.includes("HOME");
      const environment = {
        HOME,
        WEIR_SIGNING_SECRET: "a secret of a test, of thirty-two bytes",
        ...(!usesHome && { DATASTREAM_API_KEY: "sandbox" }),
      };
      const words = (text: string) =>
        text.replace("BASE", baseUrl).replace("PORT", `${port}`).replace("HOME/", `${HOME}/`)
          .split(" ").filter(Boolean);
      const run = [Deno.execPath(), "run", "--quiet", "--no-prompt"];
      const command = [...run, ...words(permissions), MAIN, ...words(use)];
      const { code, stderr } = await inShell('echo sandbox | "$@"', command, environment);
      assertEquals(code, 0, `${use}: ${stderr}`);
    }
  });
});
