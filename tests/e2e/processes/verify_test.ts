// `weir verify` finds damages, and says what a file has instead.
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { gunzipSync, gzipSync } from "node:zlib";
import { concatBytes } from "../../../src/bytes.ts";
import { FORMAT_NAMES } from "../../../src/formats/formats.ts";
import type { FilePackage } from "../../../src/cli/part_file.ts";
import { overSandbox } from "../../helpers/edge.ts";
import { runProgram } from "../../helpers/programs.ts";
import { weir } from "../../helpers/run_weir.ts";
import { Random } from "../../properties/random.ts";

/** A downloaded file of the sandbox in a temporary folder. */
class Downloaded implements AsyncDisposable {
  private constructor(readonly folder: string, readonly path: string) {}

  static async create(name: string, ...line: string[]): Promise<Downloaded> {
    await Deno.mkdir("tests/tmp", { recursive: true });
    const folder = await Deno.makeTempDir({ dir: "tests/tmp", prefix: "verify_" });
    const path = `${folder}/${name}`;
    const { code, errors } = await weir([...line, "--sandbox", "--quiet", `--output=${path}`]);
    assertEquals(code, 0, errors.join("\n"));
    return new Downloaded(folder, path);
  }

  verify(...flags: string[]) {
    return weir(["verify", this.path, ...flags]);
  }

  async editPackage(edit: (found: FilePackage) => void): Promise<void> {
    const path = `${this.path}.datapackage.json`;
    const found = JSON.parse(await Deno.readTextFile(path));
    edit(found);
    await Deno.writeTextFile(path, JSON.stringify(found));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Deno.remove(this.folder, { recursive: true });
  }
}

const FILES: readonly (readonly [name: string, rows: number, ...line: string[]])[] = [
  ["a.csv", 40, "records", "--limit=40", "--tidy"],
  ["a.csv", 40, "records", "--limit=40", "--no-header", "--separator=tab", "--eol=lf"],
  ["a.csv", 40, "locations", "--limit=40", "--bom", "--select=Name"],
  ["a.csv", 0, "records", "--filter=CharacteristicName eq 'nothing'"],
  ["a.csv", 0, "locations", "--bom", "--no-header", "--filter=Name eq 'nothing'"],
  ["a.csv", 9, "records", "--limit=9", "--tidy", "--separator=_"],
  ["a.ndjson", 30, "records", "--limit=30"],
  ["a.json", 30, "observations", "--limit=30"],
  ["a.geojson", 30, "locations", "--limit=30"],
];
for (const [name, rows, ...line] of FILES) {
  Deno.test(`weir verify accepts ${name} of weir ${line.join(" ")}, and counts its rows`, async () => {
    await using file = await Downloaded.create(name, ...line);
    const { code, output, errors } = await file.verify();
    assertEquals([code, errors], [0, []]);
    assertMatch(output, new RegExp(`is intact: ${rows} rows, \\d+ bytes, sha256:[0-9a-f]{64}\n$`));
    // The rows are counted, and not copied from the package.
    await file.editPackage(({ resources: [resource] }) => resource.rows!++);
    const wrong = await file.verify();
    assertEquals([wrong.code, wrong.errors.length], [1, 2]);
    assertStringIncludes(wrong.errors[0]!, `${file.path}.datapackage.json was changed: `);
    assertEquals(wrong.errors[1], `  rows: ${rows} instead of ${rows + 1}`);
  });
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Kinds of damage: the damaged bytes of a CSV file in which no cell has quotes. */
const DAMAGES: Record<string, (bytes: Uint8Array, random: Random) => Uint8Array> = {
  "a flipped bit"(bytes, random) {
    const damaged = bytes.slice();
    damaged[random.int(0, bytes.length - 1)]! ^= 1 << random.int(0, 7);
    return damaged;
  },
  "a missing row"(bytes, random) {
    const lines = decoder.decode(bytes).split("\r\n");
    lines.splice(random.int(1, lines.length - 2), 1);
    return encoder.encode(lines.join("\r\n"));
  },
  "a cut": (bytes, random) => bytes.slice(0, random.int(0, bytes.length - 1)),
  "two swapped columns"(bytes, random) {
    const lines = decoder.decode(bytes).split("\r\n").map((line) => line.split(","));
    const [first, second] = [random.int(0, 3), random.int(4, 7)];
    for (const cells of lines) {
      if (cells.length > 1) [cells[first], cells[second]] = [cells[second]!, cells[first]!];
    }
    return encoder.encode(lines.map((cells) => cells.join(",")).join("\r\n"));
  },
  "an appended row"(bytes, random) {
    const lines = decoder.decode(bytes).split("\r\n");
    return encoder.encode(`${lines.join("\r\n")}${lines[random.int(1, lines.length - 2)]}\r\n`);
  },
};
for (const [kind, damage] of Object.entries(DAMAGES)) {
  Deno.test(`weir verify finds 200 of 200 random files with ${kind}`, async () => {
    const select =
      "Id,LocationId,ActivityStartDate,ActivityStartTime,ActivityMediaName,ResultValue," +
      "ResultUnit,ActivityType";
    await using file = await Downloaded.create(
      "a.csv",
      ...["observations", "--limit=100", `--select=${select}`],
    );
    const bytes = await Deno.readFile(file.path);
    const random = new Random(kind.length);
    let found = 0;
    for (let tried = 0; tried < 200; tried++) {
      await Deno.writeFile(file.path, damage(bytes, random));
      const { code, errors } = await file.verify();
      if (code === 1 && errors.length >= 2) found++;
    }
    assertEquals(found, 200);
    await Deno.writeFile(file.path, bytes);
    assertEquals((await file.verify()).code, 0);
  });
}

Deno.test("weir verify finds a file in gzip that was cut at each of its flushes, or has a flipped bit or other rows", async () => {
  await using file = await Downloaded.create("a.csv.gz", "observations", "--limit=10000");
  const bytes = await Deno.readFile(file.path);
  const random = new Random(1);
  const isFound = async (damaged: Uint8Array) => {
    await Deno.writeFile(file.path, damaged);
    const { code, errors } = await file.verify();
    return code === 1 && errors.length >= 2;
  };
  let cuts = 0;
  for (let at = 4; at < bytes.length; at++) {
    if (
      bytes[at - 4] !== 0 || bytes[at - 3] !== 0 || bytes[at - 2] !== 255 || bytes[at - 1] !== 255
    ) continue;
    cuts++;
    assert(await isFound(bytes.slice(0, at)), `cut at ${at}`);
  }
  assert(cuts >= 2, `${cuts} cuts`);
  for (let tried = 0; tried < 40; tried++) {
    assert(await isFound(DAMAGES["a flipped bit"]!(bytes, random)), `flipped bit ${tried}`);
  }
  const csv = new Uint8Array(gunzipSync(bytes));
  for (const kind of ["a missing row", "an appended row"]) {
    assert(await isFound(gzipSync(DAMAGES[kind]!(csv, random))), kind);
  }
  for (const appended of [gzipSync("a,second,member\r\n"), encoder.encode("\n")]) {
    assert(await isFound(concatBytes([bytes, appended])));
  }
  await Deno.writeFile(file.path, bytes);
  assertMatch((await file.verify()).output, /is intact: 10,000 rows/);
});

Deno.test("weir verify names the error of a file that cannot be read", async () => {
  await using file = await Downloaded.create("a.csv.gz", "locations", "--limit=9");
  // A read of this file at 0 is an error of input and output.
  await runProgram("ln", "-sf", "/proc/self/mem", file.path);
  const args = ["run", "--allow-all", "src/cli/main.ts", "verify", file.path];
  const { code, stderr } = (await runProgram(Deno.execPath(), ...args))!;
  assertEquals(code, 1);
  assertMatch(stderr, /^Cannot read [^\n]*mem: EIO: i\/o error, read\n$/);
});

Deno.test("weir verify says which rows and columns a damaged file has instead", async () => {
  await using file = await Downloaded.create("a.csv", "locations", "--limit=9", "--select=Id,DOI");
  const text = await Deno.readTextFile(file.path);
  await Deno.writeTextFile(file.path, text.replace("Id,DOI", "DOI,Id").replace(/.*\r\n$/, ""));
  const { errors } = await file.verify();
  assertEquals(errors.slice(-2), [
    "  rows: 8 instead of 9",
    '  header: column 1 is "DOI" instead of "Id"',
  ]);
});

/** Edits of a package, and the exit code and message of `verify`. */
const EDITS: Record<
  string,
  [edit: (found: FilePackage) => unknown, code: number, message: string, ...flags: string[]]
> = {
  "no schema": [
    ({ resources: [resource] }) => delete (resource as { schema?: unknown }).schema,
    1,
    "is not a data package of weir",
  ],
  "no hash": [({ resources: [resource] }) => delete resource.hash, 1, "has no hash: download the"],
  "no number of bytes": [({ resources: [resource] }) => delete resource.bytes, 0, ""],
  "no query": [
    ({ weir }) => delete (weir as { query?: unknown }).query,
    1,
    "has no query of weir, such as that of a server: --online needs one",
    ...["--online", "--sandbox"],
  ],
};
for (const [name, [edit, code, message, ...flags]] of Object.entries(EDITS)) {
  Deno.test(`weir verify ${flags.join(" ")} exits with ${code} when the package has ${name}`, async () => {
    await using file = await Downloaded.create("a.csv", "locations", "--limit=9");
    await file.editPackage(edit);
    const { code: found, errors } = await file.verify(...flags);
    assertEquals([found, errors.length], [code, code]);
    assertStringIncludes(errors[0] ?? "", message);
    if (code > 0) assertStringIncludes(errors[0]!, `${file.path}.datapackage.json`);
  });
}

for (const format of FORMAT_NAMES) {
  Deno.test(`weir verify accepts a ${format} document of a server, and its package`, async () => {
    await using folder = await Downloaded.create("other.csv", "locations", "--limit=1");
    const { app } = overSandbox();
    const query = `limit=12&$format=${format}`;
    const path = `${folder.folder}/a.${format}`;
    await Deno.writeFile(path, await (await app.request(`/Locations?${query}`)).bytes());
    const found = await (await app.request(`/Locations.datapackage.json?${query}`)).bytes();
    await Deno.writeFile(`${path}.datapackage.json`, found);
    const { code, output, errors } = await weir(["verify", path]);
    assertEquals([code, errors], [0, []]);
    const rows = format === "parquet" ? "" : "12 rows, ";
    assertMatch(output, new RegExp(`a\\.${format} is intact: ${rows}\\d+ bytes, sha256:`));
  });
}

Deno.test("weir verify follows a symbolic link to a file, whose package is next to it", async () => {
  await using file = await Downloaded.create("a.csv", "locations", "--limit=9");
  const args = ["-s", "a.csv", `${file.folder}/link.csv`];
  await new Deno.Command("ln", { args }).output();
  const { code, output } = await weir(["verify", `${file.folder}/link.csv`]);
  assertEquals([code, output.startsWith(`${file.path} is intact: 9 rows`)], [0, true]);
});

Deno.test("weir verify counts no rows in an empty file", async () => {
  await using file = await Downloaded.create("a.csv", "locations", "--limit=9", "--select=Id");
  await Deno.writeFile(file.path, new Uint8Array());
  const { code, errors } = await file.verify();
  assertEquals([code, errors[3]], [1, "  rows: 0 instead of 9"]);
});

Deno.test("weir verify fails when there is no file or no package", async () => {
  await using file = await Downloaded.create("a.csv", "locations", "--limit=1", "--no-package");
  for (const path of [file.path, `${file.folder}/none.csv`, file.folder]) {
    const { code, errors } = await weir(["verify", path]);
    assertEquals([code, errors.length], [1, 1]);
    assertStringIncludes(errors[0]!, path);
  }
  assertEquals((await weir(["verify"])).code, 2);
});

Deno.test("weir verify --online exits with 3 when a dataset has another version, or its version is not known", async () => {
  await using file = await Downloaded.create(
    "a.csv",
    "records",
    "--limit=9",
    "--characteristic=pH",
  );
  const same = await file.verify("--online", "--sandbox");
  assertEquals([same.code, same.errors], [0, []]);
  assertStringIncludes(same.output, "Its datasets have no new versions\n");

  await file.editPackage(({ weir }) => weir.datasets = [["10.25976/weir-aa00", "0.9.0", ""]]);
  const { code, errors } = await file.verify("--online", "--sandbox");
  assertEquals(code, 3);
  assertMatch(errors[0]!, /is outdated: 10\.25976\/weir-aa00 was version 0\.9\.0, .* --update$/);
  assertEquals((await file.verify()).code, 0);

  await file.editPackage(({ weir }) => delete weir.datasets);
  assertEquals((await file.verify("--online", "--sandbox")).code, 3);
});

const OTHER_SERVICE = "http://127.0.0.1:9/v1/odata/v4";

Deno.test("weir verify --online sends nothing to a service that only the package names", async () => {
  await using file = await Downloaded.create("a.csv", "records", "--limit=9");
  await file.editPackage(({ weir }) => weir.query = { ...weir.query, service: OTHER_SERVICE });
  for (const flags of [["--sandbox"], [], ["--qa"]]) {
    const { code, errors } = await weir(["verify", file.path, "--online", ...flags], {
      environment: { DATASTREAM_API_KEY: "key-of-a-test" },
    });
    assertEquals(code, 2);
    assertMatch(
      errors[0]!,
      /is of http:\/\/127\.0\.0\.1:9\/\S*: pass --sandbox, --qa or --base-url/,
    );
  }
});
