// `weir verify` finds damages, and says what a file has instead.
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { gunzipSync, gzipSync } from "node:zlib";
import { concatBytes } from "../../../src/bytes.ts";
import { sealPackage } from "../../../src/formats/data_package.ts";
import { FORMAT_NAMES } from "../../../src/formats/formats.ts";
import type { FilePackage } from "../../../src/files/part_file.ts";
import { overSandbox } from "../../helpers/edge.ts";
import { runProgram } from "../../helpers/programs.ts";
import { weir } from "../../helpers/run_weir.ts";
import { Random } from "../../properties/random.ts";
import { Download } from "./download.ts";

/** Runs a download, and returns its folder. */
async function downloadTo(line: string): Promise<Download> {
  const download = await Download.create();
  await download.expect(line);
  return download;
}

const LOCATIONS = "locations --select=Id,DOI --limit=9";

const environment = { DATASTREAM_API_KEY: "key-of-a-test" };
const verify = (download: Download, name?: string, ...flags: string[]) =>
  weir(["verify", download.path(name), ...flags], { environment });

/** Asserts that `verify` prints one message, which contains a text. */
async function verifyFails(download: Download, name: string, message: string): Promise<void> {
  const { code, errors } = await verify(download, name);
  assertEquals([code, errors.length], [1, 1]);
  assertStringIncludes(errors[0]!, message);
}

/** Changes a package, and its own hash. */
async function editPackage(
  download: Download,
  edit: (found: FilePackage) => unknown,
  name = "a.csv",
): Promise<void> {
  const found = await download.package(name);
  edit(found);
  await download.write(`${name}.datapackage.json`, JSON.stringify(await sealPackage(found)));
}

const FILES: readonly (readonly [name: string, rows: number, line: string])[] = [
  ["a.csv", 40, "!select --limit=40 --tidy"],
  ["a.tsv", 40, "--limit=40 --no-header --eol=lf"],
  ["a.csv", 9, "locations --limit=9 --bom --select=Name"],
  ["a.csv", 0, "--filter=CharacteristicName eq 'nothing'"],
  ["a.csv", 0, "locations --bom --no-header --select=Name --filter=Name eq 'nothing'"],
  ["a.csv", 9, "!select --limit=9 --tidy --separator=_"],
  ["a.jsonl", 30, "--limit=30"],
  ["a.JSON", 30, "observations --limit=30"],
];
for (const [name, rows, line] of FILES) {
  Deno.test(`weir verify accepts ${name} of ${line}, and counts its rows`, async () => {
    await using download = await downloadTo(`${line} --output=${name}`);
    const { code, output, errors } = await verify(download, name);
    assertEquals([code, errors], [0, []]);
    assertMatch(output, new RegExp(`is intact: ${rows} rows, \\d+ bytes, sha256:[0-9a-f]{64}\n$`));
    // The rows are counted, and not copied from the package.
    await editPackage(download, ({ resources: [resource] }) => resource.rows = rows + 1, name);
    const wrong = await verify(download, name);
    assertEquals([wrong.code, wrong.errors.length], [1, 2]);
    assertStringIncludes(wrong.errors[0]!, `${name}.datapackage.json was changed: `);
    assertEquals(wrong.errors[1], `  rows: ${rows} instead of ${rows + 1}`);
  });
}

/** Kinds of damage of a file; a row is that of CSV in which no cell has quotes. */
const DAMAGES: Record<string, (bytes: Uint8Array, random: Random) => Uint8Array> = {
  "a flipped bit"(bytes, random) {
    const damaged = bytes.slice();
    damaged[random.int(0, bytes.length - 1)]! ^= 1 << random.int(0, 7);
    return damaged;
  },
  "a missing row"(bytes, random) {
    const lines = new TextDecoder().decode(bytes).split("\r\n");
    lines.splice(random.int(1, lines.length - 2), 1);
    return new TextEncoder().encode(lines.join("\r\n"));
  },
  "a cut": (bytes, random) => bytes.slice(0, random.int(0, bytes.length - 1)),
};

/** Whether `verify` finds damaged bytes, and says what the file has instead. */
async function isFound(download: Download, name: string, bytes: Uint8Array): Promise<boolean> {
  await Deno.writeFile(download.path(name), bytes);
  const { code, errors } = await verify(download, name);
  return code === 1 && errors.length >= 2;
}

for (const [kind, damage] of Object.entries(DAMAGES)) {
  Deno.test(`weir verify finds 200 of 200 random files with ${kind}`, async () => {
    await using download = await downloadTo("observations --limit=100 --select=Id,ResultValue");
    const bytes = await Deno.readFile(download.path());
    const random = new Random(kind.length);
    for (let tried = 0; tried < 200; tried++) {
      assert(await isFound(download, "a.csv", damage(bytes, random)));
    }
  });
}

Deno.test("weir verify finds a file in gzip that was cut at each of its flushes, or has a flipped bit, other rows or more bytes", async () => {
  const name = "a.csv.gz";
  await using download = await downloadTo(
    `observations !base-url --sandbox !select --limit=10000 --top=1000 --output=${name}`,
  );
  const bytes = await Deno.readFile(download.path(name));
  const random = new Random(1);
  const csv = new Uint8Array(gunzipSync(bytes));
  const damaged = [
    ...Array.from({ length: 10 }, () => DAMAGES["a flipped bit"]!(bytes, random)),
    gzipSync(DAMAGES["a missing row"]!(csv, random)),
    concatBytes([bytes, gzipSync("a,second,member\r\n")]),
    concatBytes([bytes, new TextEncoder().encode("\n")]),
  ];
  const flush = "0000ffff";
  const hex = bytes.toHex();
  const others = damaged.length;
  for (let at = hex.indexOf(flush); at >= 0; at = hex.indexOf(flush, at + 1)) {
    if (at % 2 === 0) damaged.push(bytes.slice(0, (at + flush.length) / 2));
  }
  assert(damaged.length >= others + 2, `${damaged.length - others} flushes`);
  for (const [index, bytes] of damaged.entries()) {
    assert(await isFound(download, name, bytes), `file ${index}`);
  }
  await Deno.writeFile(download.path(name), bytes);
  assertMatch((await verify(download, name)).output, /is intact: 10,000 rows/);
});

/** Returns a package once without each of its members, and once with each of its values changed. */
function damagesOf(value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) {
    return [typeof value === "number" ? value + 1 : `${value}x`];
  }
  return Object.entries(value).flatMap(([name, member]) => {
    const replace = (other: unknown) =>
      Array.isArray(value) ? value.with(Number(name), other) : { ...value, [name]: other };
    return [replace(undefined), ...damagesOf(member).map(replace)];
  });
}

Deno.test("weir verify finds each change of a package, also of citations, licences and versions", async () => {
  await using download = await downloadTo("!select --limit=3");
  const damaged = damagesOf(await download.package());
  assert(damaged.length > 500, `${damaged.length} packages`);
  for (const found of damaged) {
    const text = JSON.stringify(found);
    await download.write("a.csv.datapackage.json", text);
    assertEquals((await verify(download)).code, 1, text);
  }
});

Deno.test("weir verify names the error of a file that cannot be read", async () => {
  await using download = await downloadTo(LOCATIONS);
  // A read of this file at 0 is an error of input and output.
  await runProgram("ln", "-sf", "/proc/self/mem", download.path());
  const args = ["run", "--allow-all", "src/cli/main.ts", "verify", download.path()];
  const { code, stderr } = (await runProgram(Deno.execPath(), ...args))!;
  assertEquals(code, 1);
  assertMatch(stderr, /^Cannot read [^\n]*mem: EIO: i\/o error, read\n$/);
});

Deno.test("weir verify says which rows and columns a damaged or an empty file has instead", async () => {
  await using download = await downloadTo(LOCATIONS);
  const text = await download.text();
  await download.write("a.csv", text.replace('"Id","DOI"', '"DOI","Id"').replace(/.*\r\n$/, ""));
  assertEquals((await verify(download)).errors.slice(-2), [
    "  rows: 8 instead of 9",
    '  header: column 1 is "DOI" instead of "Id"',
  ]);
  await download.write("a.csv", "");
  assertEquals((await verify(download)).errors[3], "  rows: 0 instead of 9");
});

Deno.test("weir verify says what the package does not have", async () => {
  await using download = await downloadTo(LOCATIONS);
  await editPackage(download, ({ resources: [resource] }) => delete resource.bytes);
  assertEquals((await verify(download)).code, 0);
  await editPackage(download, ({ resources: [resource] }) => delete resource.hash);
  await verifyFails(download, "a.csv", "a.csv.datapackage.json has no hash: download the");
  await download.write("a.csv.datapackage.json", "{}");
  await verifyFails(download, "a.csv", "a.csv.datapackage.json is not a data package of weir");
  await Deno.remove(download.path("a.csv.datapackage.json"));
  await verifyFails(download, "a.csv", "a.csv.datapackage.json is missing");
  await verifyFails(download, "none.csv", `There is no ${download.path("none.csv")}: name a file`);
  await verifyFails(download, "", `${download.path("")} has no datapackage.json of weir`);
});

Deno.test("weir verify accepts a document of a server in each format, also over a link", async () => {
  await using download = await Download.create();
  const { app } = overSandbox();
  for (const format of FORMAT_NAMES) {
    // The fake clock jumps to the end of the cache's lifetime while a file is written.
    const documents: [ending: string, bytes: Uint8Array][] = [];
    for (const ending of ["", ".datapackage.json"]) {
      const response = await app.request(`/Locations${ending}?limit=12&$format=${format}`);
      documents.push([ending, await response.bytes()]);
    }
    for (const [ending, bytes] of documents) {
      await Deno.writeFile(download.path(`a.${format}${ending}`), bytes);
    }
    await download.link(`a.${format}`, format);
    const rows = format === "parquet" || format === "xlsx" ? "" : "12 rows, ";
    const text = `${download.path(`a.${format}`)} is intact: ${rows}`;
    assertStringIncludes((await verify(download, format)).output, text);
  }
});

Deno.test("weir verify --online exits with 3 when a dataset has another version, or its version is not known", async () => {
  await using download = await downloadTo("!base-url --sandbox --characteristic=pH");
  const verifyOnline = () => verify(download, "a.csv", "--online", "--sandbox");
  const same = await verifyOnline();
  assertEquals([same.code, same.errors], [0, []]);
  assertStringIncludes(same.output, "Its datasets have no new versions\n");

  await editPackage(download, ({ weir }) => weir.datasets = [["10.25976/weir-aa00", "0.9.0", ""]]);
  const { code, errors } = await verifyOnline();
  assertEquals(code, 3);
  assertMatch(errors[0]!, /is outdated: 10\.25976\/weir-aa00 was version 0\.9\.0, .* --update$/);
  assertEquals((await verify(download)).code, 0);

  await editPackage(download, ({ weir }) => delete weir.datasets);
  assertEquals((await verifyOnline()).code, 3);

  await editPackage(download, ({ weir }) => delete (weir as { query?: unknown }).query);
  const { errors: [message] } = await verifyOnline();
  assertStringIncludes(message!, "has no query of weir, such as that of a server: --online needs");
});

Deno.test("weir verify --online sends nothing to a service that only the package names", async () => {
  await using download = await downloadTo("");
  const sent = download.metadata.length;
  for (const flags of [["--sandbox"], ["--qa"], []]) {
    const { code, errors } = await verify(download, "a.csv", "--online", ...flags);
    assertEquals([code, download.metadata.length], [2, sent]);
    assertStringIncludes(errors[0]!, "v4: pass --sandbox, --qa or --base-url");
  }
});
