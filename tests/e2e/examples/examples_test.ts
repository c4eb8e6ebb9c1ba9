// Runs each example with the commands of examples/README.md, in a copy of the clone.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { overSandbox } from "../../helpers/edge.ts";
import { runProgram } from "../../helpers/programs.ts";
import { PROJECT } from "../../helpers/project.ts";
import { readCsv } from "../../helpers/rfc4180.ts";
import { inBrowser, isInstalled as hasChromium } from "../browser/chromium.ts";
import { testNeeding } from "../needs.ts";
import { provideClone, runCommand, startCommand } from "./clone.ts";
import { hasNanoparquet, hasPyarrow, hasR, python } from "./interpreters.ts";
import { commandsFor, type Example, EXAMPLES } from "./readme.ts";

/** Returns the path, with a trailing slash, of a copy of the clone. */
const clone = provideClone();

/** Examples with a test: of `testExample()`, of `cloudflare_test.ts`, and of the URL for Excel below. */
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

for (const path of ["deno/download.ts", "deno/phosphorus_medians.ts"]) {
  testExample(path, async (example) => {
    await assertPrints(example, example.commands[0]!);
    await assertPrints(example, await realCommand(example));
  });
}

testExample("deno/weekly_update.ts", async (example) => {
  const [command] = example.commands;
  await assertPrints(example, command!);
  assertEquals((await runCommand(clone(), command!)).stdout, "nutrients.csv is up to date\n");
  // As if a dataset had a new version.
  const path = `${clone()}nutrients.json`;
  await Deno.writeTextFile(path, (await Deno.readTextFile(path)).replace("1.0.0", "0.9.0"));
  await assertPrints(example, await realCommand(example));
});

testExample("deno/dashboard.ts", async (example) => {
  const check = async (command: string) => {
    await using server = await startCommand(clone(), command, KEY);
    const response = await fetch(server.root + new URL(example.result!).search);
    const rows: Record<string, string | number>[] = await response.json();
    const yearOf = (row: typeof rows[number]) => String(row.ActivityStartDate).slice(0, 4);
    assert(rows.every((row) => yearOf(row) >= "2020" && yearOf(row) <= "2022"));
    assertEquals(Object.keys(rows[0]!), [
      "LocationId",
      "ActivityStartDate",
      "ResultValue",
      "ResultUnit",
    ]);
    const invalid = await fetch(`${server.root}?locations=x`);
    assertEquals(invalid.status, 400);
    assertStringIncludes((await invalid.json()).error, "LocationId");
  };
  await check(example.commands[0]!);
  await check(await realCommand(example));
});

for (
  const path of [
    "node/download.mjs",
    "node/minimum_ph.cjs",
    "duckdb/join.mjs",
    "duckdb/wide_table.mjs",
    "duckdb/parquet.mjs",
    "typescript",
  ]
) {
  testExample(path, async (example) => {
    const folder = await installPackage(example);
    const runAll = async (node: string) => {
      const commands = example.commands.map((command) => command.replace("node ", `${node} `));
      for (const command of commands.slice(0, -1)) await runCommand(folder, command);
      await assertPrints(example, commands.at(-1)!, folder);
    };
    await runAll("node");
    await useRealData(example);
    await runAll("node --import ./service.mjs");
  });
}

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

Deno.test("the URL of examples/excel/yearly_ph.pq returns the columns of its query", async () => {
  const code = await Deno.readTextFile(`${PROJECT}examples/excel/yearly_ph.pq`);
  const [, path] = /RelativePath = "([^"]+)"/.exec(code)!;
  const query = new URLSearchParams(
    [...code.matchAll(/#"(\$\w+)" = "([^"]+)"/g)].map(([, name, value]) => [name!, value!]),
  );
  const response = await overSandbox().app.request(`/${path}?${query}`);
  const [header, ...rows] = readCsv(await response.text());
  assertEquals(header, ["ActivityStartDate", "ResultValue"]);
  const columns = [...code.matchAll(/\{"(\w+)", type/g)].map(([, name]) => name);
  assertEquals(columns.slice(0, 2), header);
  assert(rows.length > 2);
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
    const [header, ...rows] = readCsv(await Deno.readTextFile(`${folder}/ph.csv`));
    assertEquals(header, ["MonitoringLocationName", "ActivityStartDate", "ResultValue"]);
    assert(rows.length > 2);
  });
}, { Chromium: hasChromium });

testExample("hono/main.ts", async (example) => {
  const [command] = example.commands;
  { // Stops the first server before its file changes.
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

/** Environment of programs for the real service, which the sandbox replaces. */
const KEY = { DATASTREAM_API_KEY: "sandbox" };

/** Installs the package in the example's folder as the README says. Returns the folder. */
async function installPackage({ path }: Example): Promise<string> {
  const folder = `${clone()}examples/${path.split("/")[0]}/`;
  const [, change, install] = commandsFor("package");
  assertEquals(change, "cd examples/node");
  await runCommand(folder, install!);
  return folder;
}

/** Runs a command of an example, and asserts that it prints the result and writes the file that it names. */
async function assertPrints(
  { result }: Example,
  command: string,
  folder: string = clone(),
): Promise<void> {
  const { stdout } = await runCommand(folder, command, KEY);
  assertStringIncludes(stdout, result!);
  const [file] = /^\w+\.csv(?= )/.exec(result!) ?? [];
  if (file) assert((await Deno.readTextFile(folder + file)).split("\r\n").length > 3);
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
