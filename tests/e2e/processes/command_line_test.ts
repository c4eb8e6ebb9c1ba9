// The command line as a process: pipes, files, signals and exit codes.
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
} from "../command_line.ts";
import { childCommand } from "../../helpers/programs.ts";
import { readCsv } from "../../helpers/rfc4180.ts";
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

Deno.test("weir renames a file when it is complete, and takes the format from its extension", () =>
  withFiles(async () => {
    const baseArgs = [
      "observations",
      "--sandbox",
      "--select=Id",
      "--limit=200",
      "--top=100",
      "--quiet",
    ];
    for (const [name, rows] of [["a.csv", 202], ["a.ndjson", 201], ["a.jsonl", 201]] as const) {
      assertEquals((await runToEnd(toFile, ...baseArgs, "--output", name)).code, 0);
      assertEquals((await readFile(name)).split("\n").length, rows);
    }
    await runToEnd(toFile, ...baseArgs, "--output=a.json");
    assertEquals(JSON.parse(await readFile("a.json")).value.length, 200);
    await runToEnd(toFile, "locations", "--sandbox", "--output=a.geojson");
    assertEquals(JSON.parse(await readFile("a.geojson")).features.length, 60);
    assertEquals(await fileNames(), ["a.csv", "a.geojson", "a.json", "a.jsonl", "a.ndjson"]);
  }));

Deno.test("weir rejects an invalid file name before the first request", () =>
  withFiles(async () => {
    await Deno.mkdir(`${FOLDER}/folder`);
    for (const flag of ["--output", "--cite"]) {
      for (
        const [name, expected] of [["none/a.csv", "There is no directory none"], [
          "folder",
          "is a directory",
        ]]
      ) {
        const line = ["records", "--sandbox", "--limit=1", "--format=csv", flag, name!, "--force"];
        const { code, stderr } = await runToEnd(toFile, ...line);
        assertEquals([code, await fileNames()], [1, ["folder"]]);
        assertStringIncludes(stderr, expected!);
      }
    }
  }));

Deno.test("weir keeps the complete file and says so when the citations cannot be requested", () => {
  const sandbox = createSandbox({ hostileNames: true, requestsPerSecond: Infinity });
  const handler = (request: Request) =>
    request.url.includes("/Metadata") ? new Response("", { status: 404 }) : sandbox.fetch(request);
  return serving(handler, async (line, baseUrl) => {
    const baseArgs = ["records", baseUrl, "--limit=1", "--select=Id"];
    const withoutCite = await runToEnd(line, ...baseArgs, "--output=a.csv");
    assertEquals(withoutCite.code, 0);
    assertMatch(
      withoutCite.stderr,
      /a\.csv: 1 row, 1 kB, 1 s\na\.csv is complete, but its citations are not/,
    );
    const withCite = await runToEnd(line, ...baseArgs, "--output=b.csv", "--cite=c.txt");
    assertEquals([withCite.code, await fileNames()], [1, ["a.csv", "b.csv"]]);
    assertStringIncludes(
      withCite.stderr,
      `To print them: weir cite ${baseUrl.replace("=", " ")}\n`,
    );
  });
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

Deno.test("weir --cite writes the citations to a new file, and does not overwrite an existing one", () =>
  withFiles(async () => {
    const baseArgs = [
      "records",
      "--sandbox",
      "--limit=1",
      "--doi=10.25976/weir-aa00",
      "--output=a.csv",
    ];
    const { code, stderr } = await runToEnd(toFile, ...baseArgs, "--cite=cite.txt");
    assertEquals([code, stderr.includes("requires citing")], [0, false]);
    assertStringIncludes(await readFile("cite.txt"), "https://doi.org/10.25976/weir-aa00\n");
    await Deno.remove(`${FOLDER}/a.csv`);
    const again = await runToEnd(toFile, ...baseArgs, "--cite=cite.txt");
    assertEquals([again.code, await fileNames()], [1, ["cite.txt"]]);
    assertStringIncludes(again.stderr, "cite.txt already exists");
  }));

Deno.test("weir --cite includes the datasets of rows that an interrupted run wrote", () => {
  const sandbox = createSandbox({ hostileNames: true, requestsPerSecond: Infinity });
  let pages = 0;
  const handler = (request: Request) =>
    request.url.includes("/Locations") && ++pages === 2
      ? new Response("", { status: 404 })
      : sandbox.fetch(request);
  return serving(handler, async (line, baseUrl) => {
    // The pages are of different datasets; the third is beyond the limit.
    const baseArgs = ["locations", baseUrl, "--filter=LocationId in (1001,1008,1015)"];
    const cite = ["--top=1", "--limit=2", "--output=a.ndjson", "--cite=cite.txt"];
    assertEquals((await runToEnd(line, ...baseArgs, ...cite)).code, 1);
    assertEquals((await runToEnd(line, ...baseArgs, ...cite, "--resume")).code, 0);
    const cited = await readFile("cite.txt");
    assertEquals(cited.match(/https:\/\/doi\.org\/.*$/gm), [
      "https://doi.org/10.25976/weir-aa00",
      "https://doi.org/10.25976/weir-bb00",
    ]);
  });
});

Deno.test("weir --cite says that citations may be unneeded when DOI is not a column", () =>
  withFiles(async () => {
    const baseArgs = ["locations", "--sandbox", "--limit=1", "--output=a.csv", "--cite=cite.txt"];
    const { code, stderr } = await runToEnd(toFile, ...baseArgs, "--select=Id");
    assertEquals([code, (await readFile("cite.txt")).match(/^Licence/gm)?.length], [0, 5]);
    assertStringIncludes(
      stderr,
      "cite.txt may have unneeded citations: all datasets that match the filter are included, because " +
        "DOI is not a column of the output\n",
    );
    const exact = await runToEnd(toFile, ...baseArgs, "--select=Id,DOI", "--force");
    assertEquals([exact.code, (await readFile("cite.txt")).match(/^Licence/gm)?.length], [0, 1]);
    assertEquals(exact.stderr.includes("too many"), false);
  }));

Deno.test("weir setup saves a key that only its owner can read, weir uses it, and neither prints it", () => {
  const keys: (string | null)[] = [];
  return serving((request) => {
    keys.push(request.headers.get("x-api-key"));
    return Response.json({ message: "key-of-a-test" }, { status: 403 });
  }, async ({ port }, baseUrl) => {
    const environment = { XDG_CONFIG_HOME: "config", HOME: "", USERPROFILE: "" };
    const line = { port: port!, hasFiles: true, environment };
    const setup = async (key: string, ...flags: string[]) => {
      const script = ["-c", `printf '${key}\\n' | "$@"`, "sh", Deno.execPath()];
      const args = [...script, ...denoArguments(line, ["setup", ...flags])];
      const ended = await new Deno.Command("sh", { args, cwd: FOLDER, env: environment }).output();
      const errors = new TextDecoder().decode(ended.stderr);
      assertEquals(errors.includes(key), false);
      return { code: ended.code, errors };
    };
    const saved = await setup("old-key");
    assertEquals(saved.code, 0);
    assertMatch(saved.errors, /^Saved in config.weir.key, which only you can read\. /m);
    const modeOf = async (name: string) =>
      ((await Deno.stat(`${FOLDER}/${name}`)).mode ?? 0) & 0o777;
    assertEquals([await modeOf("config/weir"), await modeOf("config/weir/key")], [0o700, 0o600]);
    // A file that others can read becomes private.
    await Deno.chmod(`${FOLDER}/config/weir/key`, 0o644);
    const kept = await setup("key-of-a-test");
    assertEquals([kept.code, await readFile("config/weir/key")], [1, "old-key\n"]);
    assertMatch(kept.errors, /config.weir.key already has a key: pass --force to replace it\n$/);
    assertEquals((await setup("key-of-a-test", "--force")).code, 0);
    assertEquals(await readFile("config/weir/key"), "key-of-a-test\n");
    assertEquals(await modeOf("config/weir/key"), 0o600);
    const refused = await runToEnd(line, "locations", baseUrl);
    assertEquals([refused.code, keys], [1, ["key-of-a-test"]]);
    const source =
      "request one at https://github.com/datastreamapp/api-docs/blob/main/docs/README.md";
    assertEquals(refused.stderr.split(source).length, 2);
    assertStringIncludes(refused.stderr, "Set DATASTREAM_API_KEY, or save the key with weir setup");
    assertEquals(refused.stderr.includes("key-of-a-test"), false);
  });
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

Deno.test("weir exits on Ctrl-C while the reader of the rows is stalled", () =>
  withFiles(async () => {
    const child = start({}, "records", "--sandbox", "--quiet");
    const reader = child.stdout.getReader();
    await reader.read(); // and no more: the pipe is full by now, or soon
    child.kill("SIGINT");
    assertEquals((await child.status).code, 130);
    await reader.cancel();
    await child.stderr.cancel();
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
