// --resume completes only a download of the same query. However a download ends, the next run can use the files that
// it leaves.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { createSandbox } from "../../../src/sandbox/service.ts";
import { fileNames, readFile, runToEnd, serving, start } from "../command_line.ts";
import { readParquet } from "../../helpers/parquet.ts";
import { runProgram } from "../../helpers/programs.ts";
import { weir } from "../../helpers/run_weir.ts";
import { BASE_URL, Download } from "./download.ts";

const OTHER_URL = BASE_URL.replace("service", "other");

const FILE = ["a.csv"];
const PART = ["a.csv.part", "a.csv.part.json"];

/** Pairs of command lines whose files differ, and the option that the message names. */
const DIFFERENT: readonly (readonly [one: string, other: string, name: string])[] = [
  ["", `--base-url=${OTHER_URL}`, "service"],
  ["", `!base-url DATASTREAM_BASE_URL=${OTHER_URL}`, "service"],
  ["", "!base-url --sandbox", "service"],
  ["", "observations", "resource"],
  ["", "--select=DOI,Id,ResultValue", "select"],
  ["--doi=10.25976/weir-aa00", "--doi=10.25976/weir-bb00", "doi"],
  ["--bbox=-68,44,-59,48", "--bbox=-68,44,-59,49", "bbox"],
  ["", "--limit=13", "limit"],
  ["--format=ndjson", "--format=json", "format"],
  ["--separator=tab", "--separator=;", "separator"],
  ["", "--no-header", "no-header"],
];

for (const [one, other, name] of DIFFERENT) {
  Deno.test(`weir --resume keeps a part, and names ${name}, when "${one}" and "${other}" follow each other`, async () => {
    for (const [before, after] of [[one, other], [other, one]]) {
      // The sandbox of --sandbox cannot be made to fail.
      if (before!.includes("--sandbox")) continue;
      await using download = await Download.create();
      await download.break(before);
      const files = await download.files();
      const says = [
        `${download.path("a.csv.part")} belongs to another query (`,
        `${name} was`,
        "--force",
      ];
      const refused = await download.expect(`${after} --resume`, { code: 1, messages: 1, says });
      assertEquals([refused.output, download.pages], ["", 0]);
      assertEquals(await download.files(), files);
      await download.expect(`${before} --resume`, { files: FILE });
      await download.expect(`${after} --resume`, {
        code: 1,
        files: FILE,
        says: ["a.csv is the result of another query (", `${name} was`],
      });
    }
  });
}

/** Pairs of command lines with the same file, and what differs. */
const SAME: readonly (readonly [name: string, one: string, other: string])[] = [
  ["nothing", "", ""],
  ["the size of pages", "", "--top=3"],
  ["the messages", "", "!quiet"],
  ["the checks", "", "--unchecked"],
  ["--allow-incomplete", "", "--allow-incomplete"],
  ["the key", "", "DATASTREAM_API_KEY=another"],
  ["the way to set the service", "", `!base-url DATASTREAM_BASE_URL=${BASE_URL}`],
  ["the spelling of the service", "", `--base-url=${BASE_URL.replace("service", "SERVICE")}`],
  ["spaces", "", "--select=Id, DOI, ResultValue"],
  ["the form of a DOI", "--doi=10.25976/weir-aa00", "--doi=https://doi.org/10.25976/weir-aa00"],
  ["the form of a filter", "--characteristic=pH", "--filter=CharacteristicName eq 'pH'"],
  ["the path", "", "--output=./a.csv"],
];

for (const [name, one, other] of SAME) {
  Deno.test(`weir --resume completes a part when its line differs in ${name}`, async () => {
    for (const [before, after] of [[one, other], [other, one]]) {
      await using download = await Download.create();
      await download.expect(one, { files: FILE });
      const whole = await download.text();
      await Deno.remove(download.path());
      await download.break(before);
      const says = after === "!quiet" ? ["Continuing after 5 rows"] : [];
      await download.expect(`${after} --resume`, { files: FILE, says });
      assertEquals(await download.text(), whole);
      const { errors } = await download.expect(`${before} --resume`, { pages: 0 });
      assertEquals(errors.join().includes("a.csv is complete"), before === "!quiet");
    }
  });
}

interface Start {
  /** Whether a part exists. */
  hasPart?: true;
  /** Whether the file exists. */
  hasFile?: true;
  /** Faults at a request of rows. */
  faults?: Partial<Pick<Download, "failAt" | "interruptAt">>;
}

/** Downloads, with their exit codes and the names of the files that they leave. */
const ENDS: [name: string, start: Start, line: string, code: number, files: string[]][] = [
  ["finishes without rows", {}, "--filter=DOI eq 'none'", 0, FILE],
  ["finishes with citations", {}, "--cite=b.txt", 0, [...FILE, "b.txt"]],
  ["resumes without a part", {}, "--resume", 0, FILE],
  ["is interrupted at its first page", { faults: { interruptAt: 1 } }, "", 130, []],
  ["is interrupted at its second page", { faults: { interruptAt: 2 } }, "", 130, PART],
  ["fails at its first page", { faults: { failAt: 1 } }, "", 1, []],
  ["fails before a row group", { faults: { failAt: 2 } }, "--output=a.parquet", 1, []],
  ["replaces a file and fails", { hasFile: true, faults: { failAt: 1 } }, "--force", 1, FILE],
  ["is refused because a file exists", { hasFile: true }, "", 1, FILE],
  ["is refused because a part exists", { hasPart: true }, "", 1, PART],
  ["resumes a part although the file exists", { hasPart: true, hasFile: true }, "--resume", 1, [
    ...FILE,
    ...PART,
  ]],
  ["replaces a part", { hasPart: true }, "--force", 0, FILE],
  ["resumes and fails", { hasPart: true, faults: { failAt: 1 } }, "--resume", 1, PART],
  ["resumes and is stopped", { hasPart: true, faults: { interruptAt: 1 } }, "--resume", 130, PART],
];

for (const [name, { hasPart, hasFile, faults }, line, code, files] of ENDS) {
  Deno.test(`weir leaves ${files.join(", ") || "no file"} when a download ${name}`, async () => {
    await using download = await Download.create();
    if (hasPart) await download.break();
    if (hasFile) await download.write("a.csv", "of another program");
    Object.assign(download, faults);
    await download.expect(line, { code, files });
  });
}

Deno.test("weir leaves the part and the file when another program created the file", async () => {
  await using download = await Download.create();
  download.onPage = () => Deno.writeTextFileSync(download.path(), "of another program");
  await download.expect("", { code: 1, files: [...FILE, ...PART] });
  assertEquals(await download.text(), "of another program");
});

Deno.test("weir leaves the file when it is interrupted at the citations", async () => {
  await using download = await Download.create();
  download.metadataError = () => {
    // The first request of datasets is for the package, and the second one for the citations.
    if (download.metadata.length === 2) download.interrupt();
    return undefined;
  };
  await download.expect("!quiet --limit=4", { code: 130, files: FILE });
});

for (const flag of ["--resume", "--force"]) {
  Deno.test(`weir ${flag} removes files that a killed run did not rename`, async () => {
    await using download = await Download.create();
    await download.break();
    for (const name of ["part", "datapackage"]) await download.write(`a.csv.${name}.json.new`, "{");
    await download.expect(flag, { files: FILE });
  });
}

Deno.test("weir --resume and --update complete a run that was killed while it renamed its file or its package", async () => {
  await using download = await Download.create();
  await download.run();
  const [whole, dataPackage] = [await download.text(), await download.package()];
  // Killed after it renamed the file: the state remains.
  await download.write("a.csv.part.json", "{}");
  await download.expect("--resume", { pages: 0, files: FILE });
  assertEquals(await download.text(), whole);
  // Killed between the package and the file: the package of the part is beside an earlier file.
  for (const flag of ["--resume", "--update"]) {
    await download.break("--force");
    await download.write("a.csv", "old");
    await download.write("a.csv.datapackage.json", JSON.stringify(dataPackage));
    const { errors } = await weir(["verify", download.path()]);
    assertStringIncludes(errors.at(-1)!, "a.csv.part is left of a download");
    await download.expect(flag, { files: FILE });
    assertEquals(await download.text(), whole);
    assertEquals({ ...await download.package(), created: dataPackage.created }, dataPackage);
  }
});

Deno.test("weir writes no file without its package", async () => {
  await using download = await Download.create();
  const obstacle = download.path("a.csv.datapackage.json.new");
  // The package cannot be written, as if the run were killed before: a directory has its name.
  download.onPage = () => Deno.mkdirSync(obstacle, { recursive: true });
  assertEquals((await download.run()).code, 1);
  assertEquals(await download.names(), ["a.csv.datapackage.json.new", ...PART]);
  await Deno.remove(obstacle);
  await download.expect("--resume", { pages: 0, files: FILE });
  assertEquals((await download.package()).resources[0].rows, 12);
});

Deno.test("weir --no-package writes no package, and removes the package of a file that it replaces", async () => {
  await using download = await Download.create();
  for (const flags of ["--no-package", "--force", "--force --no-package"]) {
    await download.expect(flags, { files: FILE });
    const { length } = [...Deno.readDirSync(download.folder)];
    assertEquals(length, flags === "--force" ? 2 : 1);
  }
  await download.expect("--update --no-package", { code: 2 });
});

const edit = async (path: string, change: (text: string) => string) =>
  await Deno.writeTextFile(path, change(await Deno.readTextFile(path)));

/** Changes of a finished file or a part, and the reason for which --resume refuses it. For a file, --update does, too. */
const REFUSED: Record<string, [change: (path: string) => Promise<unknown>, reason: string]> = {
  "a file without a package": [
    (path) => Deno.remove(`${path}.datapackage.json`),
    "a.csv already exists, without ",
  ],
  "a file whose package is not JSON": [
    (path) => Deno.writeTextFile(`${path}.datapackage.json`, "{"),
    "a.csv already exists, without ",
  ],
  "a file with one more byte": [
    (path) => edit(path, (text) => `${text}7`),
    "a.csv.datapackage.json does not belong to this file",
  ],
  "a part with a byte overwritten": [
    (path) => edit(`${path}.part`, (text) => `${text.slice(0, 20)}X${text.slice(21)}`),
    "a.csv.part was changed",
  ],
  "a part with a damaged state": [
    (path) => Deno.writeTextFile(`${path}.part.json`, "null"),
    "a.csv.part.json is missing, damaged or of another version",
  ],
  "a part with a state without its query": [
    (path) => edit(`${path}.part.json`, (text) => text.replace('"query":{', '"other":{')),
    "a.csv.part.json is missing, damaged or of another version",
  ],
  "a part with a state of another version": [
    (path) => edit(`${path}.part.json`, (text) => text.replace('"version":', '"version":1')),
    "a.csv.part.json is missing, damaged or of another version",
  ],
  "a part that is a link": [
    async (path) => {
      await Deno.rename(`${path}.part`, `${path}.rows`);
      await runProgram("ln", "-s", "a.csv.rows", `${path}.part`);
    },
    "a.csv.part is not a regular file",
  ],
  "a part with its last byte missing": [
    (path) => edit(`${path}.part`, (text) => text.slice(0, -1)),
    "a.csv.part was changed",
  ],
};
for (const [name, [change, reason]] of Object.entries(REFUSED)) {
  Deno.test(`weir --resume refuses ${name}, and does not change it`, async () => {
    await using download = await Download.create();
    const isPart = name.startsWith("a part");
    await (isPart ? download.break() : download.run());
    await change(download.path());
    const read = () => download.text(isPart ? "a.csv.part" : "a.csv");
    const before = await read();
    for (const flag of isPart ? ["--resume"] : ["--resume", "--update"]) {
      await download.expect(flag, { code: 1, pages: 0, messages: 1, says: [reason, "--force"] });
      assertEquals(await read(), before);
    }
  });
}

Deno.test("weir --update replaces a file only if its datasets have new versions", async () => {
  await using download = await Download.create();
  await download.expect("--update", { pages: 3 });
  const whole = await download.text();
  await download.expect("--update", { pages: 0, messages: 0 });
  download.metadata = [];
  const says = [`${download.path()} is unchanged: its datasets have no new versions`];
  await download.expect("!quiet --update", { pages: 0, messages: 1, says });
  assertEquals(download.metadata.length, 1);

  download.publish({ Version: "9.0.0" });
  await download.break("--update");
  assertEquals([await download.text(), await download.names()], [whole, [...FILE, ...PART]]);
  // A newer version than that of the part.
  download.publish({ Version: "9.1.0" });
  await download.expect("--resume", { code: 1 });
  await download.expect("--update", { pages: 3, files: FILE });
  assertEquals(await download.text(), whole);
  assertEquals((await download.package()).weir.datasets![0]![1], "9.1.0");
});

/** Parts that cannot be continued, and what the message says. */
const UNUSABLE: Record<string, [change: (download: Download) => Promise<void>, reason: string]> = {
  "is damaged": [(download) => download.write("a.csv.part", "X"), "part was changed"],
  "has no state": [
    (download) => Deno.remove(download.path("a.csv.part.json")),
    "part.json is missing",
  ],
  "is of another version": [
    (download) => download.write("a.csv.part.json", '{"version":1}'),
    "part.json is missing, damaged or of another version",
  ],
};
for (const [name, [change, reason]] of Object.entries(UNUSABLE)) {
  Deno.test(`weir --update starts again when the part of a first download or a replacement ${name}`, async () => {
    for (const isFirst of [true, false]) {
      await using download = await Download.create();
      if (!isFirst) await download.expect("--update");
      download.publish({ Version: "9.0.0" });
      await download.break("--update");
      await change(download);
      const says = [reason, `: ${download.path()} is downloaded from its start`];
      await download.expect("--update", { pages: 3, files: FILE, says });
      // A header, 12 rows, and the empty text after the last line break.
      assertEquals((await download.text()).split("\r\n").length, 14);
      await download.expect("--update", { pages: 0 });
    }
  });
}

Deno.test("weir --resume and --update ignore an empty part beside a finished file", async () => {
  await using download = await Download.create();
  await download.run();
  await download.write("a.csv.part", "");
  for (const flag of ["--resume", "--update"]) {
    await download.expect(flag, { pages: 0, messages: 0 });
  }
  download.publish({ Version: "9.0.0" });
  await download.expect("--update", { pages: 3, files: FILE });
});

Deno.test("weir replaces the citations when it replaces the rows, also after an interruption", async () => {
  await using download = await Download.create();
  const readCitations = () => download.text("a.BIB");
  await download.run("--cite=a.BIB");
  assertStringIncludes(await readCitations(), "@misc{");
  for (const [flag, nextFlag] of [["--force", "--resume"], ["--update", "--update"]]) {
    await download.write("a.BIB", "old");
    download.publish({ Version: `with ${flag}` });
    await download.break(`--cite=a.BIB ${flag}`);
    await download.expect(`--cite=a.BIB ${nextFlag}`, { pages: 2 });
    assertStringIncludes(await readCitations(), "@misc{");
  }
});

Deno.test("weir --resume --allow-invalid continues a Parquet file that failed at an invalid value", async () => {
  await using download = await Download.create();
  let isResumed = false;
  download.onPage = (number) => {
    // The run that resumes requests the pages from the second one.
    const page = isResumed ? number + 1 : number;
    const value = [1, 2, 3, 4, 5].map((id) => ({
      Id: page * 5 + id,
      DOI: "10.1/a",
      MonitoringLocationLatitude: page < 3 ? 46.5 : "a text",
      // Each page fills a row group.
      ResultComment: Array.from({ length: 40 }, () => crypto.randomUUID()).join("").repeat(2_600),
    }));
    return Response.json({ value });
  };
  const line = "--select=Id,DOI,MonitoringLocationLatitude,ResultComment --limit=15 " +
    "--output=a.parquet";
  await download.expect(line, { code: 1, says: ["a.parquet.part has 5 rows"] });
  isResumed = true;
  await download.expect(`${line} --resume --allow-invalid`, { pages: 2 });
  const { rows } = await readParquet((await Deno.readFile(download.path("a.parquet"))).buffer);
  assertEquals(rows.map(({ Id }) => Number(Id)), Array.from({ length: 15 }, (_, row) => row + 6));
});

for (
  const [name, message] of [
    ["none/a.csv", "There is no directory "],
    ["folder", "/folder is a directory: name a file in it"],
    ["b.csv", "/b.csv.part.json.new is a directory: rename it, or choose another file"],
    [`${"a".repeat(240)}.csv`, "aa.csv.datapackage.json (ENAMETOOLONG): the file name is too long"],
    [`${"a".repeat(300)}.csv`, "aa.csv (ENAMETOOLONG): the file name is too long"],
  ] as const
) {
  const label = name.length > 20 ? `${name.length} characters` : name;
  Deno.test(`weir says "${message}" before its first request when --output is ${label}`, async () => {
    await using download = await Download.create();
    await Deno.mkdir(download.path("folder"));
    await Deno.mkdir(download.path("b.csv.part.json.new"));
    for (const flag of ["--force", "--resume"]) {
      const end = { code: 1, pages: 0, messages: 1, says: [message] };
      await download.expect(`--output=${name} ${flag}`, end);
    }
  });
}

Deno.test("weir writes path, size, hash, query and versions of a file into its package", async () => {
  await using download = await Download.create();
  await download.run("--doi=https://doi.org/10.25976/WEIR-aa00");
  const { resources: [{ path, bytes, hash, rows, schema }], weir } = await download.package();
  const file = await Deno.readFile(download.path());
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", file)).toHex();
  assertEquals({ path, bytes, hash, rows, fields: schema.fields.map(({ name }) => name) }, {
    path: "a.csv",
    bytes: file.length,
    hash: `sha256:${digest}`,
    rows: 12,
    fields: ["Id", "DOI", "ResultValue"],
  });
  const { url, query, missingRows, datasets } = weir;
  assertStringIncludes(url!, `${BASE_URL}/Records?`);
  assertEquals({ query, missingRows, datasets }, {
    query: {
      resource: "Records",
      service: BASE_URL,
      select: "Id,DOI,ResultValue",
      doi: "10.25976/weir-aa00",
      limit: "12",
      format: "csv",
    },
    missingRows: 0,
    datasets: [["10.25976/weir-aa00", "1.0.0", "2020-03-04T08:00:00.000Z"]],
  });
});

for (const [name, isPublished] of [["was just published", true], ["cannot be requested", false]]) {
  Deno.test(`weir writes the same datasets into a Parquet file and its package when a dataset ${name}`, async () => {
    await using download = await Download.create();
    if (isPublished) download.publish({ PublishedTimestamp: new Date().toISOString() });
    else download.metadataError = () => new Response("", { status: 404 });
    await download.expect("--limit=4 --output=a.parquet");
    assertEquals(download.metadata.length, 1);
    const separate = await download.package("a.parquet");
    const bytes = await Deno.readFile(download.path("a.parquet"));
    const { metadata } = await readParquet(bytes.buffer);
    const embedded = JSON.parse(metadata.datapackage!);
    assertEquals([separate.weir.datasets, embedded.weir.datasets], [undefined, undefined]);
    assertEquals(embedded.sources, separate.sources);
    assertEquals(embedded.sources?.[0].version, undefined);
    // The bytes do not depend on the file name and the page size.
    await download.run(`--limit=4 --top=${isPublished ? 3 : 4} --output=b.parquet`);
    assertEquals(await Deno.readFile(download.path("b.parquet")), bytes);
  });
}

Deno.test("weir describes the geometry, and counts invalid values and rows without geometry, in the package of locations", async () => {
  await using download = await Download.create();
  const place = { Longitude: -63, Latitude: 46 };
  const value = [
    { Id: 1, ...place, HorizontalCoordinateReferenceSystem: "WGS84" },
    { Id: 2, ...place, HorizontalCoordinateReferenceSystem: "NAD83" },
    { Id: 3, Longitude: "x" },
  ];
  download.onPage = () => Response.json({ value });
  await download.expect("locations !select !limit --allow-invalid --output=a.parquet");
  const { resources: [{ schema }], weir } = await download.package("a.parquet");
  const { types } = await readParquet((await Deno.readFile(download.path("a.parquet"))).buffer);
  assertEquals(schema.fields.map(({ name }) => name), Object.keys(types));
  assertEquals([weir.invalidValues, weir.withoutGeometry], [1, 2]);
});

Deno.test("weir writes no versions into the package when datasets were published during the download", async () => {
  await using download = await Download.create();
  download.publish({ PublishedTimestamp: new Date().toISOString() });
  await download.run();
  assertEquals((await download.package()).weir.datasets, undefined);
  await download.expect("--update", { pages: 3 });
});

Deno.test("weir --resume writes no versions into the package when datasets were published just before the part was started", async () => {
  await using download = await Download.create();
  const minutesAgo = (minutes: number) => Date.now() - minutes * 60_000;
  download.publish({ PublishedTimestamp: new Date(minutesAgo(20)).toISOString() });
  await download.break();
  const state = JSON.parse(await download.text("a.csv.part.json"));
  await download.write("a.csv.part.json", JSON.stringify({ ...state, startedAt: minutesAgo(15) }));
  await download.expect("--resume", { files: FILE });
  assertEquals((await download.package()).weir.datasets, undefined);
});

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  Deno.test(`weir leaves a part that can be resumed when it receives ${signal}`, () => {
    const sandbox = createSandbox({ hostileNames: true, requestsPerSecond: Infinity });
    let child: Deno.ChildProcess;
    let pages = 0;
    return serving(async (request) => {
      if (!request.url.includes("/Locations") || ++pages !== 2) return await sandbox.fetch(request);
      child.kill(signal);
      await child.status;
      return new Response(null, { status: 503 });
    }, async (line, baseUrl) => {
      const args = ["locations", baseUrl, "--select=Id", "--top=20", "--quiet", "--output=a.csv"];
      child = start(line, ...args);
      assertEquals((await child.output()).code, 130);
      assertEquals(await fileNames(), PART);
      assertEquals((await runToEnd(line, ...args, "--resume")).code, 0);
      // A header, 60 rows, and the empty text after the last line break.
      assertEquals((await readFile("a.csv")).split("\r\n").length, 62);
    });
  });
}
