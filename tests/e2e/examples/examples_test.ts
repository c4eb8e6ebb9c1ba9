// Runs each example with the commands of examples/README.md, in a copy of the clone.
import "../../helpers/task_permissions.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { Hono } from "hono";
import { createApp, signUrl } from "../../../edge/app.ts";
import { and, DataStream, eq, type Filter, isIn, type Query } from "../../../mod.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";
import { runProgram } from "../../helpers/programs.ts";
import { PROJECT } from "../../helpers/project.ts";
import { readCsv } from "../../helpers/rfc4180.ts";
import { waitFor } from "../../helpers/wait_for.ts";
import { inBrowser, isInstalled as hasChromium } from "../browser/chromium.ts";
import { provideClone, runCommand, startCommand } from "./clone.ts";
import { commandsFor, type Example, EXAMPLES } from "./readme.ts";

/** The newest and the oldest supported TypeScript, by the names under which they are installed. */
const COMPILERS = { newest: "typescript@7", oldest: "typescript@~5.7" };
/** Python with pandas: Debian installs pandas only for its own Python. */
const python = await findPython();
const hasR = (await runProgram("Rscript", "--version"))?.success ?? false;
if (!python) console.warn("The tests of Python are skipped: pandas is not installed");
if (!hasR) console.warn("The tests of R are skipped: Rscript is not installed");

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

/** Registers a test of an example. */
function testExample(
  path: string,
  fn: (example: Example) => Promise<void>,
  isPossible = true,
): void {
  tested.add(path);
  const example = EXAMPLES.find((example) => example.path === path);
  assert(example, `examples/README.md does not list ${path}`);
  Deno.test({ name: `examples/${path} runs`, ignore: !isPossible, fn: () => fn(example) });
}

testExample("deno/download.ts", async (example) => {
  const folder = clone();
  const check = async (stdout: string) => {
    assertStringIncludes(stdout, `${example.result}\n`);
    assertStringIncludes(stdout, "https://doi.org/10.25976/weir-aa00\n");
    await assertCsv(
      `${folder}ph.csv`,
      client.records({
        select: ["DOI", "MonitoringLocationName", "ActivityStartDate", "ResultValue"],
        filter: "CharacteristicName eq 'pH' and ActivityStartYear gte 2015",
      }),
    );
  };
  const [command] = example.commands;
  await check((await runCommand(folder, command!)).stdout);

  await Deno.remove(`${folder}ph.csv`);
  await check((await runCommand(folder, await realCommand(example), KEY)).stdout);
});

testExample("deno/weekly_update.ts", async (example) => {
  const folder = clone();
  const csv = `${folder}nutrients.csv`;
  const query = client.records({
    select: ["DOI", "ActivityStartDate", "CharacteristicName", "ResultValue"],
    filter:
      "CharacteristicName in ('Nitrate','Total Phosphorus, mixed forms','Dissolved oxygen (DO)')",
  });
  const [command] = example.commands;
  assertEquals((await runCommand(folder, command!)).stdout, `${example.result}\n`);
  await assertCsv(csv, query);
  for (const name of ["csv", "json"]) await Deno.remove(`${folder}nutrients.${name}`);

  await using service = serveSandbox();
  const real = await realCommand(example, LOOPBACK);
  const run = async () => {
    service.requests.length = 0;
    const { stdout } = await runCommand(folder, real, service.environment);
    return stdout;
  };
  const failsAt = async (request: string) => {
    service.refused = request;
    await assertRejects(run, Error, "status 400");
    service.refused = "";
    assertEquals(service.requests.at(-1), request);
    await assertRejects(() => Deno.stat(csv), Deno.errors.NotFound);
  };
  await failsAt("Records after");
  // Bytes that were written before an interruption, but after the last saved cursor.
  await Deno.writeTextFile(`${csv}.part`, "incomplete row", { append: true });
  await failsAt("Metadata 2");
  assert(!service.requests.includes("Records"), "requested the first page again");
  assert(service.requests.includes("Records after"));
  assertEquals(await run(), `${example.result}\n`);
  assertEquals(service.requests.filter((request) => request === "Records"), []);
  await assertCsv(csv, query);

  await Deno.writeTextFile(csv, "unchanged");
  assertEquals(await run(), "nutrients.csv is up to date\n");
  assertEquals(service.requests, ["Metadata"]);
  assertEquals(await Deno.readTextFile(csv), "unchanged");

  service.version = "1.0.1";
  assertEquals(await run(), `${example.result}\n`);
  await assertCsv(csv, query);
});

testExample("deno/dashboard.ts", async (example) => {
  const folder = clone();
  const [command] = example.commands;
  const select = ["LocationId", "ActivityStartDate", "ResultValue", "ResultUnit"] as const;
  const locations = await client.locations({ select: ["Id"] }).toArray();
  const some = locations.slice(0, 3).map(({ Id }) => Id).join();
  // More than one URL of DataStream can contain.
  const many = Array.from({ length: 2_500 }, (_, index) => index + 1);
  const request = async (url: string) => {
    const response = await fetch(url);
    return { status: response.status, body: await response.json() };
  };
  const results = (filter: Filter | string) => client.observations({ select, filter }).toArray();
  {
    await using server = await startCommand(folder, command!);
    const filter = `LocationId in (${some})`;
    const pH = "CharacteristicName eq 'pH' and ActivityStartYear gte 2020";
    for (
      const [parameters, expected] of [
        [`locations=${some}`, filter],
        [`locations=${some}&characteristic=pH&from=2020`, `${filter} and ${pH}`],
        [`locations=${some}&to=2015&characteristic=`, `${filter} and ActivityStartYear lte 2015`],
        [
          `locations=${many}&characteristic=pH`,
          and(isIn("LocationId", many), eq("CharacteristicName", "pH")),
        ],
      ] as const
    ) {
      const body = await results(expected);
      assert(body.length > 2);
      assertEquals(await request(`${server.root}/?${parameters}`), { status: 200, body });
    }
    const address = new URL(example.result!);
    const { status, body } = await request(server.root + address.pathname + address.search);
    assertEquals([status, body.length > 2], [200, true]);
    assertEquals(await request(server.root), { status: 200, body: [] });
    const invalid = await request(`${server.root}/?locations=x`);
    assertEquals(invalid.status, 400);
    assertStringIncludes(invalid.body.error, "LocationId");
  }
  await using service = serveSandbox();
  const real = await realCommand(example, LOOPBACK);
  await using server = await startCommand(folder, real, service.environment);
  service.refused = "Observations";
  const failed = await request(`${server.root}/?locations=${some}`);
  assertEquals(failed.status, 502);
  assertStringIncludes(failed.body.error, "status 400");
  assert(failed.body.hint.length > 10);

  service.refused = "";
  service.held = "Observations";
  service.requests.length = 0;
  const leaving = new AbortController();
  const left = fetch(`${server.root}/?locations=${many}`, leaving).catch(() => "left");
  await waitFor(() => service.requests.length === 1, "the request to the service");
  leaving.abort();
  assertEquals(await left, "left");
  await waitFor(() => service.stopped === 1, "the end of the request to the service");
  service.held = "";
  const after = await request(`${server.root}/?locations=${some}&characteristic=pH`);
  const body = await results(`LocationId in (${some}) and CharacteristicName eq 'pH'`);
  assertEquals(after, { status: 200, body });
  assertEquals(service.requests, ["Observations", "Observations"]);
});

testExample("deno/phosphorus_medians.ts", async (example) => {
  const folder = clone();
  const inBox = new Set<number>();
  for await (const { Id, Latitude, Longitude } of client.locations()) {
    if (Latitude > 45.9 && Latitude < 47.1 && Longitude > -64.5 && Longitude < -62) inBox.add(Id);
  }
  const expected = new Map<string, { values: number[]; conditions: Map<string, number> }>();
  for await (const row of client.observations()) {
    if (!inBox.has(row.LocationId) || row.CharacteristicName !== "Total Phosphorus, mixed forms") {
      continue;
    }
    if (row.ActivityType.startsWith("Quality Control")) continue;
    const key = `${row.LocationId} ${row.ActivityStartDate?.slice(0, 4) ?? "none"}`;
    const { values, conditions } = expected.get(key) ??
      { values: new Array<number>(), conditions: new Map<string, number>() };
    expected.set(key, { values, conditions });
    if (row.ResultValue !== null) values.push(row.ResultValue);
    else {
      const condition = row.ResultDetectionCondition!;
      conditions.set(condition, (conditions.get(condition) ?? 0) + 1);
    }
  }
  const lines = [...expected].sort().map(([key, { values, conditions }]) => {
    // As many values are below the median as above it.
    while (values.length > 2) {
      values.splice(values.indexOf(Math.min(...values)), 1);
      values.splice(values.indexOf(Math.max(...values)), 1);
    }
    const sum = values.reduce((sum, value) => sum + value, 0);
    const median = values.length === 0 ? "" : (sum / values.length).toFixed(4);
    return [
      ...key.split(" "),
      median,
      [...conditions].map(([name, count]) => `${count} ${name}`).sort(),
    ];
  });
  assert(lines.some(([, , median]) => median === ""), "each location has values in each year");
  assert(lines.some(([, , , conditions]) => conditions!.length > 1), "no year has two conditions");
  const check = (stdout: string) => {
    assertStringIncludes(stdout, example.result!);
    const printed = stdout.split("\n").filter((line) => /^│ +\d/.test(line)).map((line) => {
      const [, , location, year, , median, other] = line.split("│").map((cell) =>
        cell.trim().replaceAll('"', "")
      );
      return [location, year, median, other === "" ? [] : other!.split(", ").sort()];
    });
    assertEquals(printed, lines);
  };
  check((await runCommand(folder, example.commands[0]!)).stdout);
  check((await runCommand(folder, await realCommand(example), KEY)).stdout);
});

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

testExample("duckdb/join.mjs", (example) =>
  testInNode(example, async (folder, stdout) => {
    const lines = stdout.trim().split("\n");
    assertEquals(lines[0], example.result);
    const counts = lines.map((line) => Number(/: (\d+) values/.exec(line)![1]));
    const query = client.observations({
      select: ["LocationId", "ActivityStartDate", "ResultValue"],
      filter: "CharacteristicName eq 'Temperature, water'",
    });
    assertEquals(counts.reduce((sum, count) => sum + count), await query.count());
    await assertCsv(`${folder}observations.csv`, query);
  }));

testExample("typescript", async (example) => {
  const folder = await installPackage(example);
  const check = async (stdout: string) => {
    const query = client.observations({
      select: ["LocationId", "ResultValue", "ResultUnit"],
      filter: "CharacteristicName eq 'Nitrate' and ActivityStartYear eq 2020",
    });
    const rows = await query.toArray();
    const locations = new Set(
      rows.filter((row) => row.ResultValue !== null).map((row) => row.LocationId),
    );
    const lines = stdout.trim().split("\n");
    assertEquals([lines.length, lines[0]], [locations.size, example.result]);
    await assertCsv(`${folder}nitrate.csv`, query);
  };
  const [compile, run] = example.commands;
  await runCommand(folder, compile!);
  await check((await runCommand(folder, run!)).stdout);

  const packages = Object.entries(COMPILERS).map(([name, version]) => `${name}@npm:${version}`);
  const [install] = commandsFor("package").slice(-1);
  await runCommand(folder, `${install} ${packages.join(" ")}`);
  await useRealData(`${folder}main.ts`);
  for (const name of Object.keys(COMPILERS)) {
    await Deno.remove(`${folder}dist`, { recursive: true });
    await runCommand(folder, `node node_modules/${name}/bin/tsc`);
    await check((await runCommand(folder, withService(run!), KEY)).stdout);
  }
});

/** Returns the number and the mean of the pH values of each year, in the format of the examples. */
async function yearlyPh(): Promise<string> {
  const years = new Map<string, number[]>();
  const filter = "CharacteristicName eq 'pH'";
  const select = ["ActivityStartDate", "ResultValue"] as const;
  for await (const { ActivityStartDate, ResultValue } of client.records({ select, filter })) {
    if (ActivityStartDate === null || ResultValue === null) continue;
    const year = ActivityStartDate.slice(0, 4);
    years.set(year, [...years.get(year) ?? [], ResultValue]);
  }
  return [...years].sort().map(([year, values]) => {
    const mean = values.reduce((sum, value) => sum + value) / values.length;
    return `${year} ${values.length} ${mean.toFixed(2)}\n`;
  }).join("");
}

for (
  const [path, program, isInstalled] of [
    ["r/yearly_ph.R", "Rscript", hasR],
    ["python/yearly_ph.py", python ?? "python3", python !== undefined],
  ] as const
) {
  testExample(path, async ({ commands: [command], result }) => {
    const [demo] = commandsFor("demo");
    await using server = await startCommand(clone(), demo!);
    const line = command!.replace("http://127.0.0.1:8000", server.root)
      .replace(/^\S+/, program);
    const { stdout, stderr } = await runCommand(clone(), line);
    assertEquals([stdout, stderr], [await yearlyPh(), ""]);
    assertStringIncludes(stdout, `${result}\n`);
  }, isInstalled);
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
}, hasChromium);

testExample("hono/main.ts", async ({ commands: [command], path }) => {
  {
    await using server = await startCommand(clone(), command!);
    const hello = await fetch(`${server.root}/hello`);
    assertEquals([hello.status, await hello.text()], [200, "Hello"]);
    await assertServesApp(server.root);
  }
  const file = `${clone()}examples/${path}`;
  await useRealData(file);
  await runCommand(clone(), `deno check examples/${path}`);
  await using server = await startCommand(clone(), command!);
  await assertRequiresKey(server.root);
});

testExample("deno-deploy", async ({ commands: [command] }) => {
  await using server = await startCommand(clone(), command!);
  await assertServesApp(server.root);
});

Deno.test("createApp() serves downloads but no page and no signed URL when it is mounted under a path", async () => {
  const { apiKey, url: baseUrl, fetch } = sandbox;
  const signingSecret = "a secret of at least thirty-two bytes";
  const options = { apiKey, baseUrl, fetch, requestsPerSecond: Infinity };
  const app = new Hono();
  app.mount("/water", createApp({ ...options, access: "public" }).fetch);
  app.mount("/signed", createApp({ ...options, access: "signed", signingSecret }).fetch);
  const download = await app.request("/water/Records.csv?limit=5&$select=Id");
  assertEquals([download.status, (await download.text()).split("\r\n").length], [200, 7]);
  assertStringIncludes(await (await app.request("/water")).text(), 'src="/weir.js"');
  const url = "http://localhost/signed/Records.csv?limit=5&$select=Id";
  const expires = new Date(Date.now() + 60_000);
  const signed = await app.request(await signUrl(url, { secret: signingSecret, expires }));
  assertEquals(signed.status, 403);
  await signed.body?.cancel();
});

Deno.test("each example of examples/README.md has a test", () => {
  assertEquals(EXAMPLES.map(({ path }) => path).filter((path) => !tested.has(path)), []);
});

/** Environment of a program that uses the service, which the sandbox replaces. */
const KEY = { DATASTREAM_API_KEY: "sandbox" };

async function findPython(): Promise<string | undefined> {
  for (const program of ["python3", "/usr/bin/python3"]) {
    if ((await runProgram(program, "-c", "import pandas"))?.success) return program;
  }
  return undefined;
}

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
  const [command] = example.commands;
  await check(folder, (await runCommand(folder, command!)).stdout);
  await useRealData(`${clone()}examples/${example.path}`);
  await check(folder, (await runCommand(folder, withService(command!), KEY)).stdout);
}

/** Replaces `fetch` by that of the sandbox in a command of Node. */
function withService(command: string): string {
  return command.replace("node ", `node --import ./service.mjs `);
}

/** Replaces the statements for synthetic data of a file by the one for real data. */
async function useRealData(file: string): Promise<void> {
  const code = await Deno.readTextFile(file);
  const synthetic = /^\/\/ Synthetic data[^\n]*:\n(?:[^\n]+\n)+?\/\/ Real data[^\n]*:\n\/\/ /m;
  assert(synthetic.test(code), `${file} has no line for real data`);
  await Deno.writeTextFile(file, code.replace(synthetic, ""));
  const service = `${PROJECT}tests/package/consumer/readme_service.mjs`;
  await Deno.copyFile(service, file.replace(/[^/]+$/, "service.mjs"));
}

/** Flags of Deno for a program that requests the service of `serveSandbox()`. */
const LOOPBACK =
  `--allow-env=SERVICE --allow-net=127.0.0.1 --preload ${PROJECT}tests/e2e/examples/loopback_service.ts`;

/**
 * Replaces the statements for synthetic data of an example in Deno.
 *
 * @param service Flags that replace the service by another one; by default, by the sandbox
 * @returns Returns the command with the permissions for real data
 */
async function realCommand(
  { path, commands: [command] }: Example,
  service = `--preload ${PROJECT}tests/e2e/processes/readme_service.ts`,
): Promise<string> {
  await useRealData(`${clone()}examples/${path}`);
  const flags = "--check --allow-env=DATASTREAM_API_KEY --allow-net=api.datastream.org";
  return command!.replace("deno run", `deno run ${flags} ${service}`);
}

/** Serves the sandbox on loopback, records its requests, and can refuse them. */
function serveSandbox() {
  const { fetch } = createSandbox({ requestsPerSecond: Infinity });
  const state = {
    /** Resource of each request since the list was emptied; see `refused`. */
    requests: [] as string[],
    /** Request to refuse: a resource, with ` after` for a later page or ` 2` for the second request. */
    refused: "",
    /** Request that gets no response. */
    held: "",
    /** Number of held requests that the client has stopped. */
    stopped: 0,
    /** Version of the first dataset. */
    version: "1.0.0",
  };
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname, search, searchParams } = new URL(request.url);
    let name = pathname.split("/").at(-1)!;
    if (searchParams.has("$skiptoken")) name += " after";
    else if (searchParams.get("$count") === "true") name += " count";
    else if (name === "Metadata" && state.requests.includes(name)) name += " 2";
    state.requests.push(name);
    if (name === state.refused) return new Response("refused", { status: 400 });
    if (name === state.held) {
      await new Promise((resolve) => request.signal.addEventListener("abort", resolve));
      state.stopped++;
      return new Response();
    }
    // The links to further pages have the origin of the request.
    const response = await fetch(
      new Request(`https://api.datastream.org${pathname}${search}`, request),
    );
    const text = (await response.text()).replace(
      '"Version":"1.0.0"',
      `"Version":"${state.version}"`,
    );
    return new Response(text, response);
  });
  const environment = { ...KEY, SERVICE: `http://127.0.0.1:${server.addr.port}` };
  return Object.assign(state, {
    environment,
    [Symbol.asyncDispose]: () => server.shutdown(),
  });
}

/** Asserts that a CSV file has the header and the rows of a query. */
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

/** Asserts that a server responds with 401 to a download without a key. */
async function assertRequiresKey(root: string): Promise<void> {
  const { status, body } = await fetch(`${root}/Records.csv?limit=5`);
  assertEquals(status, 401);
  await body?.cancel();
}
