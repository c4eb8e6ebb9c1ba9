// `weir sync` says what it does, ends with the exit code of the documents, and leaves whole files when it is killed while
// an engine reads the folder.
import { assert, assertEquals, assertMatch } from "@std/assert";
import { MirroredService, NOW } from "../../helpers/mirrored_service.ts";
import { childCommand, runProgram } from "../../helpers/programs.ts";
import { weir } from "../../helpers/run_weir.ts";
import { Random } from "../../properties/random.ts";
import { FOLDER, killIfRunning, runToEnd, serving, start, testWithFiles } from "../command_line.ts";
import { testNeeding } from "../needs.ts";
import { versionedService } from "./versioned_service.ts";

const MIRROR = `${FOLDER}/mirror`;
const BB = "10.25976/weir-bb00";
const DAY_AGO = new Date(NOW - 86_400_000).toISOString();

/** Runs `weir sync` in this process against a service. */
async function sync(service: MirroredService, ...flags: string[]) {
  const { fetch } = globalThis;
  globalThis.fetch = (input, init) => {
    const request = new Request(input, init);
    request.headers.set("x-api-key", "sandbox");
    return service.fetch(request);
  };
  try {
    const line = ["sync", MIRROR, "--base-url=https://service.example/v1/odata/v4", ...flags];
    const environment = { DATASTREAM_API_KEY: "key" };
    return await weir(line, { environment });
  } finally {
    globalThis.fetch = fetch;
  }
}

testWithFiles("weir sync prints what changed, and exits with 0, 1 or 3", async () => {
  const service = new MirroredService(60, 5);
  const plan = await sync(service, "--check");
  assertEquals(plan.code, 0);
  assertMatch(plan.output, /^10\.25976\/weir-aa00: version 1\.0\.0 \(new\)\n/);
  assertMatch(plan.output, /To fetch: 5 datasets, 60 rows, about 12 requests, 12 s\n$/);
  const first = await sync(service);
  assertEquals([first.code, first.output, first.errors.length], [0, "", 6]);
  assertMatch(first.errors[1]!, /^10\.25976\/weir-bb00: version 2\.1\.0, \d+ rows \(new\)$/);
  assertEquals(first.errors.at(-1), `${MIRROR}: 5 datasets fetched, 60 rows`);
  const unchanged = await sync(service);
  assertEquals([unchanged.code, unchanged.errors], [
    0,
    [`${MIRROR}: 5 datasets unchanged, 60 rows`],
  ]);
  assertEquals((await sync(service, "--quiet")).errors, []);

  service.publish(BB, "3.0.0", DAY_AGO);
  const { onRows } = service;
  service.onRows = (doi, rows) => doi === BB ? new Response("", { status: 404 }) : rows;
  const failed = await sync(service, "--quiet");
  assertEquals(failed.code, 1);
  assertMatch(failed.errors.join("\n"), /^10\.25976\/weir-bb00: failed, its files stay: .*404/);
  service.onRows = onRows;
  const changed = await sync(service, "--quiet");
  assertEquals(changed.code, 0);
  assertMatch(changed.errors.join("\n"), /^\S+ version 3\.0\.0, \d+ rows \(before: \d+ rows\)$/);

  service.edit = (rows) => rows.filter(({ DOI }) => DOI !== BB);
  assertEquals((await sync(service, "--quiet")).code, 3);
  const removed = await sync(service, "--quiet", "--remove-missing");
  const said = `${BB}: DataStream does not have it any more, its files were removed`;
  assertEquals([removed.code, removed.errors], [0, [said]]);
});

testWithFiles(
  "weir verify compares the files of a mirror, and weir sync fetches what was lost",
  async () => {
    const service = new MirroredService(60, 5);
    await sync(service, "--format=csv");
    const verify = () => weir(["verify", MIRROR]);
    const intact = await verify();
    assertEquals([intact.code, intact.output], [
      0,
      `${MIRROR} is intact: 5 datasets, 11 files, 60 rows\n`,
    ]);
    const file = `${MIRROR}/observations/10.25976-weir-aa00.csv`;
    const text = await Deno.readTextFile(file);
    await Deno.writeTextFile(file, text.replace("pH", "Ph"));
    await Deno.writeTextFile(`${MIRROR}/observations/mine.csv`, "1\n");
    await Deno.remove(`${MIRROR}/locations/10.25976-weir-bb00.csv`);
    const { code, errors } = await verify();
    assertEquals(code, 1);
    assertEquals(errors.slice(0, 3), [
      "observations/10.25976-weir-aa00.csv: its content was changed",
      "locations/10.25976-weir-bb00.csv: is missing",
      "observations/mine.csv: is not in datapackage.json",
    ]);
    await Deno.remove(`${MIRROR}/observations/mine.csv`);
    await Deno.remove(file);
    assertEquals((await sync(service, "--format=csv")).code, 0);
    assertEquals((await verify()).code, 0);
  },
);

testWithFiles(
  "weir sync names what prevents it: flags, another query, another run, the file system",
  async () => {
    const service = new MirroredService(60, 5);
    for (
      const [flag, pattern] of [
        ["--until=6", /^--until must be a time of the day, such as 06:00, got "6"$/],
        ["--keep=7d", /^--keep is for --format delta/],
        ["--resource=locations", /^--resource must be one of observations, records/],
      ] as const
    ) {
      const { code, errors } = await sync(service, flag);
      assertEquals(code, 2);
      assertMatch(errors[0]!, pattern);
    }
    await sync(service, "--characteristic=pH");
    const { code, errors } = await sync(service);
    assertEquals(code, 2);
    assertMatch(
      errors[0]!,
      /^--force is needed for files of another query \(filter was "CharacteristicName eq 'pH'", is not given\)/,
    );
    const now = Date.now();
    const owner = { run: "other", process: 1, hasLock: false, renewedAt: now };
    await Deno.writeTextFile(`${MIRROR}/.weir/lock`, JSON.stringify(owner));
    const running = await sync(service, "--characteristic=pH");
    assertEquals(running.code, 1);
    assertMatch(
      running.errors[0]!,
      /mirror is written by another run \(process 1, last seen 0 s ago\)/,
    );
    // A run that was killed does not renew its time.
    const old = JSON.stringify({ ...owner, renewedAt: now - 600_000 });
    await Deno.writeTextFile(`${MIRROR}/.weir/lock`, old);
    assertEquals((await sync(service, "--characteristic=pH")).code, 0);
    await Deno.remove(MIRROR, { recursive: true });
    await Deno.writeTextFile(MIRROR, "a file");
    const file = await sync(service);
    assertEquals(file.code, 1);
    assertMatch(file.errors[0]!, /mirror/);
  },
);

/** Requests of a run that fetches four datasets of two pages. */
const REQUESTS = 1 + 4 * (2 + 1 + 1) + 1;
/** Number of kills per format, and seed: `deno task test FILE -- COUNT SEED`. */
const [KILLS, SEED] = [Number(Deno.args[0] ?? 4), Number(Deno.args[1] ?? 1)];
const hasDuckdb = (await runProgram("node", "-e", 'require("@duckdb/node-api")'))?.success;

/**
 * Reads the rows of all datasets in a loop, until its input ends. Each dataset must have its number of rows, each row
 * once and all of one version; prints the number of readings.
 */
const READER = `
const { DuckDBInstance } = require("@duckdb/node-api");
const { readdirSync, readFileSync } = require("node:fs");
const [folder, format, datasets, rows] = process.argv.slice(1);
const table = folder + "/observations";
/** What an engine reads: all files of the folder, or those that the log of Delta names. */
function source() {
  if (format === "csv") return "read_csv('" + table + "/*.csv')";
  if (format === "parquet") return "read_parquet('" + table + "/*.parquet')";
  const live = new Set();
  for (const name of readdirSync(table + "/_delta_log").sort()) {
    for (const line of readFileSync(table + "/_delta_log/" + name, "utf8").trim().split("\\n")) {
      const { add, remove } = JSON.parse(line);
      if (add) live.add(add.path);
      if (remove) live.delete(remove.path);
    }
  }
  return "read_parquet([" + [...live].map((path) => "'" + table + "/" + path + "'") + "])";
}
let isEnd = false;
process.stdin.on("end", () => isEnd = true).resume();
(async () => {
  const connection = await (await DuckDBInstance.create()).connect();
  let readings = 0;
  while (!isEnd) {
    const found = (await connection.runAndReadAll(
      "SELECT DOI, count(*)::INT, count(DISTINCT Id)::INT, count(DISTINCT ResultValue)::INT, max(ResultValue)::INT FROM " +
      source() + " GROUP BY DOI")).getRows();
    const isWhole = found.length === +datasets &&
      found.every(([, all, ids, versions]) => all === +rows && ids === +rows && versions === 1);
    // All datasets of a Delta table are of one moment.
    const isOne = format !== "delta" || new Set(found.map((row) => row[4])).size === 1;
    if (!isWhole || !isOne) throw new Error(JSON.stringify(found));
    readings++;
    await new Promise(setImmediate);
  }
  console.log(readings);
})().catch((error) => { console.error(error.message); process.exit(1); });
`;

for (const format of ["parquet", "csv", "delta"]) {
  testNeeding(
    { "@duckdb/node-api": hasDuckdb },
    `DuckDB reads whole datasets while weir sync is killed: ${format}`,
    () => {
      const service = versionedService({ datasets: 4, rows: 20_000, top: 10_000 });
      let onRequest = () => {};
      return serving(
        (request) => (onRequest(), service.fetch(request)),
        async (command, baseUrl) => {
          const line = ["sync", "mirror", `--format=${format}`, "--quiet", baseUrl];
          await runToEnd(command, ...line);
          const reader = childCommand("node", {
            args: ["-e", READER, MIRROR, format, "4", "20000"],
            stdin: "piped",
            stdout: "piped",
            stderr: "piped",
          }).spawn();
          const random = new Random(SEED);
          let killed = 0;
          for (let kill = 0; kill < KILLS; kill++) {
            service.publish();
            const child = start(command, ...line);
            // Files get their names after the last request.
            let left = random.int(0, 1) === 0 ? REQUESTS : random.int(1, REQUESTS);
            const delay = random.int(0, 60);
            onRequest = () => {
              if (--left === 0) setTimeout(() => killIfRunning(child), delay);
            };
            if ((await child.output()).signal === "SIGKILL") killed++;
          }
          onRequest = () => {};
          const { code, stderr } = await runToEnd(command, ...line);
          assertEquals(code, 0, stderr);
          await reader.stdin.close();
          const output = await reader.output();
          const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
          assert(output.success, text(output.stderr));
          assert(Number(text(output.stdout)) > 0);
          console.log(
            `${format}: ${killed} of ${KILLS} killed, ${text(output.stdout).trim()} readings`,
          );
          const verified = await runToEnd(command, "verify", "mirror");
          assertEquals(verified.code, 0, verified.stderr);
          const { weir } = JSON.parse(await Deno.readTextFile(`${MIRROR}/datapackage.json`));
          const versions = weir.datasets.map(([, version]: string[]) => version);
          assertEquals(new Set(versions), new Set([service.version]));
        },
      );
    },
  );
}
