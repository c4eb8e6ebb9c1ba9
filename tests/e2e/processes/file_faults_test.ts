// Invalid file names, lost states, and interruptions outside of requests for rows.
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import {
  type CommandLine,
  fileNames,
  FOLDER,
  MAIN,
  readFile,
  runToEnd,
  serving,
  start,
  withFiles,
  writeFile,
} from "../command_line.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";

const toFile: CommandLine = {
  hasFiles: true,
  environment: { WEIR_REQUESTS_PER_SECOND: "Infinity" },
};
const LOCATIONS = ["locations", "--sandbox", "--select=Id", "--quiet"];

for (const length of [252, 300]) {
  Deno.test(`weir exits with 1 when the file name has ${length} characters, too many for a part`, () =>
    withFiles(async () => {
      const name = "a".repeat(length);
      const baseArgs = [...LOCATIONS, "--format=csv", `--output=${name}`];
      for (const more of [[], ["--resume"]]) {
        const { code, stderr } = await runToEnd(toFile, ...baseArgs, ...more);
        assertEquals([code, await fileNames()], [1, []]);
        assertMatch(stderr, /^[^\n]*too long[^\n]*\n$/);
      }
    }));
}

for (const name of ["a.csv.part", "a.csv.part.json", "a.csv.datapackage.json"]) {
  for (const more of [[], ["--force"], ["--resume"], ["--no-package"]]) {
    const flags = more.map((flag) => ` with ${flag}`);
    Deno.test(`weir exits with 1 and writes nothing when ${name} is a directory${flags}`, () =>
      withFiles(async () => {
        await Deno.mkdir(`${FOLDER}/${name}`);
        const { code, stderr } = await runToEnd(toFile, ...LOCATIONS, "--output=a.csv", ...more);
        const others = (await fileNames()).filter((other) => other !== name);
        assertEquals([code, others], [1, []]);
        assertMatch(stderr, /^[^\n]* is a directory: [^\n]*\n$/);
        assert(stderr.startsWith(`${name} `), stderr);
      }));
  }
}

Deno.test("weir --resume exits with 1 and keeps the part when the state cannot be read", () =>
  withFiles(async () => {
    await writeFile("a.csv.part", "Id\r\n1001\r\n");
    await Deno.mkdir(`${FOLDER}/a.csv.part.json`);
    const { code, stderr } = await runToEnd(toFile, ...LOCATIONS, "--output=a.csv", "--resume");
    assertEquals([code, await readFile("a.csv.part")], [1, "Id\r\n1001\r\n"]);
    assertMatch(stderr, /^[^\n]*directory[^\n]*\n$/);
  }));

Deno.test("weir does not overwrite a file that was created during the download, and keeps the part", () => {
  const sandbox = createSandbox({ hostileNames: true, requestsPerSecond: Infinity });
  let requestCount = 0;
  return serving(async (request) => {
    if (++requestCount === 2) await writeFile("a.csv", "of another");
    return await sandbox.fetch(request);
  }, async (line, baseUrl) => {
    const baseArgs = ["locations", baseUrl, "--select=Id", "--top=20", "--output=a.csv"];
    const { code, stderr } = await runToEnd(line, ...baseArgs);
    assertEquals([code, await readFile("a.csv")], [1, "of another"]);
    assertStringIncludes(stderr, "a.csv already exists: move it, then resume");
    await Deno.remove(`${FOLDER}/a.csv`);
    requestCount = 9;
    assertEquals((await runToEnd(line, ...baseArgs, "--resume")).code, 0);
    assertEquals((await readFile("a.csv")).split("\r\n").length, 62);
  });
});

Deno.test("weir does not report a directory as missing when it may not be read", () =>
  withFiles(async () => {
    const line = ["records", "--sandbox", "--limit=1", "--output=a.csv"];
    const { code, stderr } = await runToEnd({}, ...line);
    assertEquals([code, await fileNames()], [1, []]);
    assertMatch(stderr, /^Requires read access to ".", run again with the --allow-read flag\n$/);
  }));

Deno.test("weir says how to permit reading the saved key", () =>
  withFiles(async () => {
    const environment = { XDG_CONFIG_HOME: "config", DATASTREAM_API_KEY: "" };
    const { code, stderr } = await runToEnd({ environment }, "records", "--limit=1");
    assertEquals(code, 2);
    assertMatch(
      stderr,
      /setup \(its file cannot be read: .*"config.weir.key", .* --allow-read flag\); request a key/,
    );
    const allowed = await runToEnd({ environment, hasFiles: true }, "records", "--limit=1");
    assertMatch(allowed.stderr, /run weir setup; request a key/);
  }));

Deno.test("weir setup prints one line when its folder cannot be created", () =>
  withFiles(async () => {
    await writeFile("config", "a file");
    const environment = { XDG_CONFIG_HOME: "config", HOME: "", USERPROFILE: "" };
    const child = new Deno.Command("bash", {
      args: [
        ...["-c", 'echo key-of-a-test | "$@"', "bash", Deno.execPath(), "run", "--quiet"],
        ...["--no-prompt", "--allow-env", "--allow-read=.", "--allow-write=."],
        ...[MAIN, "setup"],
      ],
      ...{ cwd: FOLDER, env: environment },
    });
    const { code, stderr } = await child.output();
    const errors = new TextDecoder().decode(stderr);
    assertEquals([code, errors.includes("key-of-a-test"), await fileNames()], [1, false, [
      "config",
    ]]);
    assertMatch(errors, /\n[^\n]*directory[^\n]*\n$/);
    assertEquals(errors.includes("    at "), false);
  }));

Deno.test("weir exits with 130 and a complete file on Ctrl-C during the request of citations", () => {
  const sandbox = createSandbox({ hostileNames: true, requestsPerSecond: Infinity });
  const { promise: isAsked, resolve: tell } = Promise.withResolvers<void>();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  let requests = 0;
  return serving(async (request) => {
    // The first request is for the package of the file.
    if (request.url.includes("/Metadata") && ++requests === 2) {
      tell();
      await ended;
      return new Response(null, { status: 503 });
    }
    return await sandbox.fetch(request);
  }, async (line, baseUrl) => {
    const child = start(line, "records", baseUrl, "--limit=2", "--select=Id", "--output=a.csv");
    await isAsked;
    child.kill("SIGINT");
    const { code, stderr } = await child.output();
    end();
    assertEquals([code, await fileNames()], [130, ["a.csv"]]);
    assertMatch(new TextDecoder().decode(stderr), /a\.csv: 2 rows[^\n]*\nInterrupted\n$/);
    assertEquals((await readFile("a.csv")).split("\r\n").length, 4);
  });
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
      const deadline = setTimeout(() => child.kill("SIGKILL"), 100_000);
      const { code } = await child.status;
      clearTimeout(deadline);
      assertEquals(code, 130);
      await reader.cancel();
      await child.stderr.cancel();
    },
  );
});
