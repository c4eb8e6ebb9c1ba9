// Runs each example with the commands of examples/README.md, in a copy of the clone.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { createApp } from "../../../edge/app.ts";
import { DataStream, isIn, type Query } from "../../../mod.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";
import { runProgram } from "../../helpers/programs.ts";
import { PROJECT } from "../../helpers/project.ts";
import { readCsv } from "../../helpers/rfc4180.ts";
import { inBrowser, isInstalled as hasChromium } from "../browser/chromium.ts";
import { testNeeding } from "../needs.ts";
import { provideClone, runCommand, startCommand } from "./clone.ts";
import { hasNanoparquet, hasPyarrow, hasR, python } from "./interpreters.ts";
import { commandsFor, type Example, EXAMPLES } from "./readme.ts";

const sandbox = createSandbox({ requestsPerSecond: Infinity });
const client = new DataStream({
  apiKey: sandbox.apiKey,
  baseUrl: sandbox.url,
  fetch: sandbox.fetch,
  requestsPerSecond: Infinity,
});

/** Returns the path of a copy of the clone with a trailing slash. */
const clone = provideClone();

/** Examples that `testExample()` or another file tests, or that no test runs. */
const tested = new Set(["cloudflare", "excel/yearly_ph.pq"]);

function testExample(
  path: string,
  fn: (example: Example) => Promise<void>,
  needs: Record<string, unknown> = {},
): void {
  tested.add(path);
  const example = EXAMPLES.find((example) => example.path === path);
  assert(example, `examples/README.md does not list ${path}`);
  testNeeding(needs, `examples/${path} runs`, () => fn(example));
}

testExample("deno/download.ts", (example) =>
  testInDeno(example, async (stdout) => {
    assertStringIncludes(stdout, `${example.result}\n`);
    assertStringIncludes(stdout, "https://doi.org/10.25976/weir-aa00\n");
    await assertCsv(
      `${clone()}ph.csv`,
      client.records({
        select: ["DOI", "MonitoringLocationName", "ActivityStartDate", "ResultValue"],
        filter: "CharacteristicName eq 'pH' and ActivityStartYear gte 2015",
      }),
    );
    await Deno.remove(`${clone()}ph.csv`);
  }));

testExample("deno/weekly_update.ts", async (example) => {
  const folder = clone();
  const [command] = example.commands;
  const query = client.records({
    select: ["DOI", "ActivityStartDate", "CharacteristicName", "ResultValue"],
    filter:
      "CharacteristicName in ('Nitrate','Total Phosphorus, mixed forms','Dissolved oxygen (DO)')",
  });
  const run = async (command: string) => (await runCommand(folder, command, KEY)).stdout;
  assertEquals(await run(command!), `${example.result}\n`);
  await assertCsv(`${folder}nutrients.csv`, query);
  assertEquals(await run(command!), "nutrients.csv is up to date\n");

  // As after a new version of a dataset.
  const state = await Deno.readTextFile(`${folder}nutrients.json`);
  await Deno.writeTextFile(`${folder}nutrients.json`, state.replace("1.0.0", "0.9.0"));
  await Deno.writeTextFile(`${folder}nutrients.csv`, "old");
  assertEquals(await run(await realCommand(example)), `${example.result}\n`);
  await assertCsv(`${folder}nutrients.csv`, query);
});

testExample("deno/dashboard.ts", async (example) => {
  const select = ["LocationId", "ActivityStartDate", "ResultValue", "ResultUnit"] as const;
  // More than one URL of DataStream can contain.
  const many = Array.from({ length: 2_500 }, (_, index) => index + 1);
  const check = async (command: string) => {
    await using server = await startCommand(clone(), command, KEY);
    const request = async (search: string) => {
      const response = await fetch(server.root + search);
      return { status: response.status, body: await response.json() };
    };
    const filters = {
      [new URL(example.result!).search]:
        "LocationId in (1064,1155) and CharacteristicName eq 'pH' and " +
        "ActivityStartYear gte 2020 and ActivityStartYear lte 2022",
      [`?locations=${many}`]: isIn("LocationId", many),
    };
    for (const [search, filter] of Object.entries(filters)) {
      const body = await client.observations({ select, filter }).toArray();
      assert(body.length > 2);
      assertEquals(await request(search), { status: 200, body });
    }
    assertEquals(await request(""), { status: 200, body: [] });
    const invalid = await request("?locations=x");
    assertEquals(invalid.status, 400);
    assertStringIncludes(invalid.body.error, "LocationId");
  };
  await check(example.commands[0]!);
  await check(await realCommand(example));
});

testExample("deno/phosphorus_medians.ts", (example) =>
  testInDeno(example, (stdout) => {
    assertStringIncludes(stdout, example.result!);
    assert(stdout.split("\n").filter((line) => /^│ +\d/.test(line)).length > 5, stdout);
  }));

testExample("node/download.mjs", (example) =>
  testInNode(example, async (folder, stdout) => {
    assertEquals(stdout, `${example.result}\n`);
    const query = client.locations({ filter: "RegionId eq 'admin.4.ca.pe'" });
    await assertCsv(`${folder}locations.csv`, query);
  }));

testExample("node/minimum_ph.cjs", (example) =>
  testInNode(example, (_folder, stdout) => {
    const lines = stdout.trim().split("\n");
    assertEquals([lines.length, lines[0]], [5, example.result]);
  }));

for (const name of ["join", "wide_table", "parquet"]) {
  testExample(`duckdb/${name}.mjs`, (example) =>
    testInNode(example, (_folder, stdout) => {
      const lines = stdout.trim().split("\n");
      assert(lines.includes(example.result!) && lines.length > 3, stdout);
    }));
}

testExample("typescript", (example) =>
  testInNode(example, async (folder, stdout) => {
    const query = client.observations({
      select: ["LocationId", "ResultValue", "ResultUnit"],
      filter: "CharacteristicName eq 'Nitrate' and ActivityStartYear eq 2020",
    });
    const rows = (await query.toArray()).filter((row) => row.ResultValue !== null);
    const lines = stdout.trim().split("\n");
    const locations = new Set(rows.map((row) => row.LocationId));
    assertEquals([lines.length, lines[0]], [locations.size, example.result]);
    await assertCsv(`${folder}nitrate.csv`, query);
  }));

for (
  const [path, program, needs] of [
    ["r/yearly_ph.R", "Rscript", { "R with the package survival": hasR }],
    ["r/tidy_chloride.R", "Rscript", { "R with the package survival": hasR }],
    ["python/yearly_ph.py", python ?? "python3", { "Python with pandas": python }],
    ["python/tidy_chloride.py", python ?? "python3", { "Python with pandas": python }],
    ["r/parquet_ph.R", "Rscript", { "R with the package nanoparquet": hasNanoparquet }],
    ["python/parquet_ph.py", python ?? "python3", { "Python with pandas and pyarrow": hasPyarrow }],
  ] as const
) {
  testExample(path, async ({ commands: [command], result }) => {
    const [demo] = commandsFor("demo");
    await using server = await startCommand(clone(), demo!);
    const line = command!.replace("http://127.0.0.1:8000", server.root)
      .replace(/^\S+/, program);
    const { stdout, stderr } = await runCommand(clone(), line);
    assertEquals(stderr, "");
    assertStringIncludes(stdout, `${result}\n`);
  }, needs);
}

Deno.test("the URL of examples/excel/yearly_ph.pq is a download", async () => {
  const code = await Deno.readTextFile(`${PROJECT}examples/excel/yearly_ph.pq`);
  const [, path] = /RelativePath = "([^"]+)"/.exec(code)!;
  const query = new URLSearchParams(
    [...code.matchAll(/#"(\$\w+)" = "([^"]+)"/g)].map(([, name, value]) => [name!, value!]),
  );
  const { apiKey, url: baseUrl, fetch } = sandbox;
  const app = createApp({ access: "public", apiKey, baseUrl, fetch, requestsPerSecond: Infinity });
  const response = await app.request(`/${path}?${query}`);
  const [header, ...rows] = readCsv(await response.text());
  assertEquals(header, ["ActivityStartDate", "ResultValue"]);
  const columns = [...code.matchAll(/\{"(\w+)", type/g)].map(([, name]) => name);
  assertEquals(columns.slice(0, 2), header);
  assertEquals(rows.length, await client.records({ filter: query.get("$filter")! }).count());
});

testExample("browser", async ({ commands: [command] }) => {
  for (const line of commandsFor("bundle")) await runCommand(clone(), line);
  await using server = await startCommand(clone(), command!);
  await inBrowser(async (browser, folder) => {
    const page = await browser.newPage();
    await page.goto(`${server.root}/`);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Download" }).click(),
    ]);
    assertEquals(await download.failure(), null);
    assertEquals(download.suggestedFilename(), "ph.csv");
    await download.saveAs(`${folder}/ph.csv`);
    await assertCsv(
      `${folder}/ph.csv`,
      client.records({
        select: ["MonitoringLocationName", "ActivityStartDate", "ResultValue"],
        filter: "CharacteristicName eq 'pH'",
      }),
    );
  });
}, { Chromium: hasChromium });

testExample("hono/main.ts", async (example) => {
  const [command] = example.commands;
  {
    await using server = await startCommand(clone(), command!);
    const hello = await fetch(`${server.root}/hello`);
    assertEquals([hello.status, await hello.text()], [200, "Hello"]);
    await assertServesApp(server.root);
  }
  await useRealData(example);
  await runCommand(clone(), `deno check examples/${example.path}`);
  await using server = await startCommand(clone(), command!);
  await assertRequiresKey(server.root);
});

testExample("deno-deploy", async ({ commands: [command] }) => {
  await using server = await startCommand(clone(), command!);
  await assertServesApp(server.root);
});

Deno.test("each example of examples/README.md has a test", () => {
  assertEquals(EXAMPLES.map(({ path }) => path).filter((path) => !tested.has(path)), []);
});

/** Environment of a program that uses the service, which the sandbox replaces. */
const KEY = { DATASTREAM_API_KEY: "sandbox" };

/** Installs the package in the example's folder as the README says. Returns the folder. */
async function installPackage({ path }: Example): Promise<string> {
  const folder = `${clone()}examples/${path.split("/")[0]}/`;
  const [, change, install] = commandsFor("package");
  assertEquals(change, "cd examples/node");
  await runCommand(folder, install!);
  return folder;
}

/** Runs an example in Node, then its line for real data with the sandbox as the service. */
async function testInNode(
  example: Example,
  check: (folder: string, stdout: string) => void | Promise<void>,
): Promise<void> {
  const folder = await installPackage(example);
  const run = async (node: string) => {
    let stdout = "";
    for (const command of example.commands) {
      ({ stdout } = await runCommand(folder, command.replace("node ", node), KEY));
    }
    await check(folder, stdout);
  };
  await run("node ");
  await useRealData(example);
  await run("node --import ./service.mjs ");
}

/** Runs an example in Deno, then its line for real data with the sandbox as the service. */
async function testInDeno(
  example: Example,
  check: (stdout: string) => void | Promise<void>,
): Promise<void> {
  await check((await runCommand(clone(), example.commands[0]!)).stdout);
  await check((await runCommand(clone(), await realCommand(example), KEY)).stdout);
}

/** Replaces the statements for synthetic data by the one for real data, and adds `service.mjs` to the folder. */
async function useRealData({ path }: Example): Promise<void> {
  const file = `${clone()}examples/${path}${path.includes(".") ? "" : "/main.ts"}`;
  const code = await Deno.readTextFile(file);
  const synthetic = /^\/\/ Synthetic data[^\n]*:\n(?:[^\n]+\n)+?\/\/ Real data[^\n]*:\n\/\/ /m;
  assert(synthetic.test(code), `${file} has no line for real data`);
  await Deno.writeTextFile(file, code.replace(synthetic, ""));
  const service = `${PROJECT}tests/package/consumer/readme_service.mjs`;
  await Deno.copyFile(service, file.replace(/[^/]+$/, "service.mjs"));
}

/** Replaces the statements for synthetic data. Returns the command with the permissions for real data. */
async function realCommand(example: Example): Promise<string> {
  await useRealData(example);
  const flags = "--check --allow-env=DATASTREAM_API_KEY --allow-net=api.datastream.org";
  return example.commands[0]!.replace(
    "deno run",
    `deno run ${flags} --preload examples/deno/service.mjs`,
  );
}

async function assertCsv(file: string, query: Query<unknown>): Promise<void> {
  const csv = await Deno.readTextFile(file);
  assertEquals(readCsv(csv), readCsv(await new Response(query.csv()).text()));
  assert(readCsv(csv).length > 2);
}

/** Asserts that a server has downloads, the page and its script. */
async function assertServesApp(root: string): Promise<void> {
  const download = await fetch(`${root}/Records.csv?limit=5&$select=Id`);
  assertEquals([download.status, download.headers.get("x-weir-data")], [200, "synthetic"]);
  const [header, ...rows] = readCsv(await download.text());
  assertEquals([header, rows.length], [["Id"], 5]);
  const page = await fetch(`${root}/`);
  const script = /<script src="([^"]+)"/.exec(await page.text())![1]!;
  assertEquals((await runProgram("curl", "-sfo", "/dev/null", root + script))?.code, 0);
}

async function assertRequiresKey(root: string): Promise<void> {
  const { status, body } = await fetch(`${root}/Records.csv?limit=5`);
  assertEquals(status, 401);
  await body?.cancel();
}
