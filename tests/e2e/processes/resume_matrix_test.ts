// --resume completes only a download of the same query. Each end of a download leaves only files that the next run
// can use.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { createSandbox } from "../../../src/sandbox/service.ts";
import { fileNames, readFile, runToEnd, serving, start } from "../command_line.ts";
import { readParquet } from "../../helpers/parquet.ts";
import { type RunResult, weir } from "../../helpers/run_weir.ts";
import { BASE_URL, Download } from "./download.ts";

/** Locations of the sandbox, and others between them, for a filter that is split into two groups. */
const LOCATIONS = Array.from(
  { length: 1_800 },
  (_, index) => index % 300 === 0 ? 1001 + 7 * (index / 300) : 5_000 + index,
);
const BY_LOCATION = `--filter=LocationId in (${LOCATIONS}) --limit=250`;
const OTHER_URL = BASE_URL.replace("service", "other");

/** Pairs of downloads whose files differ. */
const DIFFERENT: readonly (readonly [one: string, other: string])[] = [
  ["", `--base-url=${OTHER_URL}`],
  ["", `!base-url DATASTREAM_BASE_URL=${OTHER_URL}`],
  ["", "!base-url --sandbox"],
  ["", "observations"],
  ["", "--select=DOI,Id,ResultValue"],
  ["--doi=10.25976/weir-aa00", "--doi=10.25976/weir-bb00"],
  ["", "--characteristic=pH"],
  ["", "--from=2013"],
  ["--bbox=-68,44,-59,48", "--bbox=-68,44,-59,49"],
  ["", "--limit=13"],
  ["--format=ndjson", "--format=json"],
  ["--separator=tab", "--separator=;"],
  ["", "--no-header"],
  ["", "--bom"],
  ["", "--escape-formulas"],
];

for (const [one, other] of DIFFERENT) {
  Deno.test(`weir --resume refuses a part of "${one}", and keeps it, when given "${other}"`, async () => {
    for (const [before, after] of [[one, other], [other, one]] as const) {
      // The sandbox of --sandbox cannot be made to fail.
      if (before.includes("--sandbox")) continue;
      await using download = await Download.create();
      await download.break(before);
      const files = await download.files();
      const { code, output, errors } = await download.run(after, ["--resume"]);
      assertEquals([code, output, download.pages], [1, "", 0]);
      assertEquals(errors.length, 1);
      assertStringIncludes(errors[0]!, `${download.folder}/a.csv.part`);
      assertStringIncludes(errors[0]!, "--force");
      assertEquals(await download.files(), files);
      // The part can still be resumed with the original flags.
      assertEquals((await download.run(before, ["--resume"])).code, 0);
      assertEquals(await download.names(), ["a.csv"]);
      // The finished file is refused too, and what differs is named.
      const finished = await download.run(after, ["--resume"]);
      assertEquals([finished.code, await download.names()], [1, ["a.csv"]]);
      assertStringIncludes(finished.errors[0]!, "a.csv is the result of another query (");
      const [flag = "resource"] = /--(?!base-url|sandbox)[a-z-]+(?!.*--)/.exec(other) ?? [];
      const name = /base-url/.test(other) ? "service" : flag;
      assertStringIncludes(finished.errors[0]!, `${name} was`);
    }
  });
}

/** Changes of a command line that do not change the file. */
const SAME: readonly (readonly [one: string, other: string])[] = [
  ["", ""],
  ["", "--top=3"],
  ["", "!quiet"],
  ["", "--unchecked"],
  ["", "--allow-incomplete"],
  ["", "DATASTREAM_API_KEY=another"],
  ["", `!base-url DATASTREAM_BASE_URL=${BASE_URL}`],
  ["", `--base-url=${BASE_URL.replace("service", "SERVICE")}`],
  ["", "--select=Id, DOI, ResultValue"],
  ["--doi=10.25976/weir-aa00", "--doi=https://doi.org/10.25976/weir-aa00"],
  ["--characteristic=pH", "--filter=CharacteristicName eq 'pH'"],
];

for (const [one, other] of SAME) {
  Deno.test(`weir --resume completes a part of "${one}" when given "${other}"`, async () => {
    for (const [before, after] of [[one, other], [other, one]] as const) {
      await using download = await Download.create();
      await download.run(one);
      const whole = await download.files();
      assertEquals(Object.keys(whole), ["a.csv"]);
      await Deno.remove(`${download.folder}/a.csv`);
      await download.break(before);
      const { code, errors } = await download.run(after, ["--resume"]);
      assertEquals(code, 0, errors.join("\n"));
      if (after === "!quiet") assertStringIncludes(errors[0]!, "Continuing after 5 rows");
      assertEquals(await download.files(), whole);
      const finished = await download.run(before, ["--resume"]);
      assertEquals([finished.code, download.pages], [0, 0]);
      const isQuiet = before !== "!quiet";
      assertEquals(finished.errors.join().includes("a.csv is complete"), !isQuiet);
    }
  });
}

Deno.test("weir --resume completes a part when its path is written in another way", async () => {
  await using download = await Download.create();
  await download.break();
  const output = `--output=${download.folder}/../${download.folder.split("/").at(-1)}/./a.csv`;
  assertEquals((await download.run("", ["--resume", output])).code, 0);
  assertEquals(await download.names(), ["a.csv"]);
});

const PART = ["a.csv.part", "a.csv.part.json"];
const FILE = ["a.csv"];

/** Ways in which a download ends, with the exit code and the names of the remaining files. */
const ENDS: readonly (readonly [
  name: string,
  code: number,
  files: readonly string[],
  end: (download: Download) => Promise<RunResult>,
])[] = [
  ["finishes", 0, FILE, (download) => download.run()],
  ["finishes without rows", 0, FILE, (download) => download.run("--filter=DOI eq 'none'")],
  [
    "finishes with citations",
    0,
    ["a.csv", "b.txt"],
    (download) => download.run("", [`--cite=${download.folder}/b.txt`]),
  ],
  ["resumes where there is nothing", 0, FILE, (download) => download.run("", ["--resume"])],
  ["is interrupted at its first page", 130, [], (download) => download.interrupt(1)],
  ["is interrupted at its second page", 130, PART, (download) => download.interrupt(2)],
  ["fails at its first page", 1, [], (download) => {
    download.failAt(1);
    return download.run();
  }],
  ["fails at its second page", 1, PART, (download) => {
    download.failAt(2);
    return download.run();
  }],
  ["fails at its first page and replaces a file", 1, FILE, async (download) => {
    await download.write("a.csv", "old");
    download.failAt(1);
    return await download.run("", ["--force"]);
  }],
  ["ends where another file was created", 1, [...FILE, ...PART], (download) => {
    download.onPage = (number) => {
      if (number === 2) Deno.writeTextFileSync(`${download.folder}/a.csv`, "of another");
    };
    return download.run();
  }],
  ["is interrupted at its citations", 130, FILE, (download) => {
    const stop = new AbortController();
    // The first request is for the package of the file.
    download.metadataError = () => void (download.metadata.length === 2 && stop.abort());
    return download.run("!quiet --limit=4", [], stop.signal);
  }],
  ["is refused because a file exists", 1, FILE, async (download) => {
    await download.write("a.csv", "old");
    return await download.run();
  }],
  ["is refused because a part exists", 1, PART, async (download) => {
    await download.break();
    return await download.run();
  }],
  ["resumes a part where a file exists", 1, [...FILE, ...PART], async (download) => {
    await download.break();
    await download.write("a.csv", "of another");
    return await download.run("", ["--resume"]);
  }],
  ["starts again over a part", 0, FILE, async (download) => {
    await download.break(BY_LOCATION);
    return await download.run("", ["--force"]);
  }],
  ["resumes a part and fails", 1, PART, async (download) => {
    await download.break();
    download.failAt(1);
    return await download.run("", ["--resume"]);
  }],
  ["resumes a part and is interrupted", 130, PART, async (download) => {
    await download.break();
    return await download.interrupt(1, ["--resume"]);
  }],
];

for (const [name, code, files, end] of ENDS) {
  Deno.test(`weir leaves ${files.join(", ") || "no file"} when a download ${name}`, async () => {
    await using download = await Download.create();
    const ended = await end(download);
    assertEquals(ended.code, code, ended.errors.join("\n"));
    assertEquals(await download.names(), files);
  });
}

/** Files that a run writes before it renames them, left by a run that was killed in between. */
const UNRENAMED = ["a.csv.part.json.new", "a.csv.datapackage.json.new"];

for (const more of ["--resume", "--force"]) {
  Deno.test(`weir ${more} removes files that a killed run did not rename`, async () => {
    for (const line of ["", BY_LOCATION]) {
      await using download = await Download.create();
      await download.run(line);
      const whole = await download.files();
      await Deno.remove(`${download.folder}/a.csv`);
      await download.break(line);
      for (const name of UNRENAMED) await Deno.writeTextFile(`${download.folder}/${name}`, "{");
      const { code, errors } = await download.run(line, [more]);
      assertEquals(code, 0, errors.join("\n"));
      assertEquals(await download.files(), whole);
    }
  });
}

Deno.test("weir --resume completes a run that was killed while it named its file or its package", async () => {
  await using download = await Download.create();
  const path = `${download.folder}/a.csv`;
  const readPackage = async () => JSON.parse(await Deno.readTextFile(`${path}.datapackage.json`));
  await download.run(BY_LOCATION);
  const [whole, dataPackage] = [await download.files(), await readPackage()];
  // Killed after FILE had its name: the state is left.
  await download.write("a.csv.part.json", "{}");
  assertEquals((await download.run(BY_LOCATION, ["--resume"])).code, 0);
  assertEquals([await download.files(), download.pages], [whole, 0]);
  // Killed before FILE had its name: its package and its part are beside an earlier FILE.
  for (const flag of ["--resume", "--update"]) {
    await download.break(`${BY_LOCATION} --force`);
    await download.write("a.csv", "old");
    await download.write("a.csv.datapackage.json", JSON.stringify(dataPackage));
    const { errors } = await weir(["verify", path]);
    assertStringIncludes(errors.at(-1)!, "a.csv.part is left of a download");
    assertEquals((await download.run(BY_LOCATION, [flag])).code, 0);
    assertEquals(await download.files(), whole);
    assertEquals({ ...await readPackage(), created: dataPackage.created }, dataPackage);
  }
});

Deno.test("weir writes no file without its package", async () => {
  await using download = await Download.create();
  const path = `${download.folder}/a.csv`;
  // The package cannot be written, as if the run were killed before.
  download.onPage = () => Deno.mkdirSync(`${path}.datapackage.json.new`, { recursive: true });
  assertEquals((await download.run()).code, 1);
  const names = [...Deno.readDirSync(download.folder)].map(({ name }) => name).sort();
  assertEquals(names, ["a.csv.datapackage.json.new", ...PART]);
  await Deno.remove(`${path}.datapackage.json.new`);
  download.onPage = () => {};
  const { code, errors } = await download.run("", ["--resume"]);
  assertEquals([code, download.pages, await download.names()], [0, 0, ["a.csv"]], errors.join());
  const { resources: [{ rows }] } = JSON.parse(await Deno.readTextFile(`${path}.datapackage.json`));
  assertEquals(rows, 12);
});

Deno.test("weir --no-package writes no package, and removes that of the file that it replaces", async () => {
  await using download = await Download.create();
  const exists = async () => (await Array.fromAsync(Deno.readDir(download.folder))).length > 1;
  assertEquals([(await download.run("", ["--no-package"])).code, await exists()], [0, false]);
  assertEquals([(await download.run("", ["--force"])).code, await exists()], [0, true]);
  assertEquals([(await download.run("", ["--force", "--no-package"])).code, await exists()], [
    0,
    false,
  ]);
  assertEquals((await download.run("", ["--update", "--no-package"])).code, 2);
});

const edit = async (path: string, change: (text: string) => string) =>
  await Deno.writeTextFile(path, change(await Deno.readTextFile(path)));

/** Changes of a finished file, which --resume and --update refuse, and of a part, which --resume refuses. */
const REFUSED: Record<
  string,
  [change: (path: string) => Promise<unknown>, reason: string, isPart?: true]
> = {
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
  "a part with a byte order mark before it": [
    (path) => edit(`${path}.part`, (text) => `\ufeff${text}`),
    ...["a.csv.part was changed", true] as const,
  ],
  "a part with a byte overwritten": [
    (path) => edit(`${path}.part`, (text) => `${text.slice(0, 20)}X${text.slice(21)}`),
    ...["a.csv.part was changed", true] as const,
  ],
  "a part with its last byte missing": [
    (path) => edit(`${path}.part`, (text) => text.slice(0, -1)),
    ...["a.csv.part was changed", true] as const,
  ],
};
for (const [name, [change, reason, isPart]] of Object.entries(REFUSED)) {
  Deno.test(`weir --resume refuses ${name}, and does not change it`, async () => {
    await using download = await Download.create();
    await (isPart ? download.break() : download.run());
    await change(`${download.folder}/a.csv`);
    const text = async () => (await download.files())[isPart ? "a.csv.part" : "a.csv"];
    const before = await text();
    for (const flag of isPart ? ["--resume"] : ["--resume", "--update"]) {
      const { code, errors } = await download.run("", [flag]);
      assertEquals([code, errors.length, download.pages, await text()], [1, 1, 0, before]);
      assertStringIncludes(errors[0]!, reason);
      assertStringIncludes(errors[0]!, "--force");
    }
  });
}

Deno.test("weir --update replaces a file only if its datasets have new versions", async () => {
  await using download = await Download.create();
  const path = `${download.folder}/a.csv`;
  assertEquals((await download.run("", ["--update"])).code, 0);
  const whole = await Deno.readTextFile(path);
  download.metadata = [];
  assertEquals((await download.run("", ["--update"])).errors, []);
  download.metadata = [];
  const same = await download.run("!quiet", ["--update"]);
  assertEquals([same.code, download.pages, download.metadata.length], [0, 0, 1]);
  assertEquals(same.errors, [`${path} is unchanged: its datasets have no new versions`]);

  download.version = "9.0.0";
  download.failAt(2);
  assertEquals((await download.run("", ["--update"])).code, 1);
  assertEquals([await Deno.readTextFile(path), await download.names()], [whole, [
    "a.csv",
    ...PART,
  ]]);
  // A newer version than that of the part.
  download.version = "9.1.0";
  download.onPage = () => {};
  assertEquals((await download.run("", ["--resume"])).code, 1);
  const { code, errors } = await download.run("", ["--update"]);
  assertEquals([code, download.pages], [0, 3], errors.join());
  assertEquals([await Deno.readTextFile(path), await download.names()], [whole, ["a.csv"]]);
  const record = JSON.parse(await Deno.readTextFile(`${path}.datapackage.json`));
  assertEquals(record.weir.datasets[0][1], "9.1.0");
});

/** Parts that cannot be continued, and what the message says. */
const UNUSABLE: Record<string, [change: (path: string) => Promise<void>, reason: string]> = {
  "is damaged": [(path) => Deno.writeTextFile(`${path}.part`, "X"), "part was changed"],
  "has no state": [(path) => Deno.remove(`${path}.part.json`), "part.json is missing"],
  "is of another version": [
    (path) => Deno.writeTextFile(`${path}.part.json`, '{"version":1}'),
    "part.json is missing, damaged or of another version",
  ],
};
for (const [name, [change, reason]] of Object.entries(UNUSABLE)) {
  for (const isFirst of [true, false]) {
    const which = isFirst ? "the first download" : "a replacement";
    Deno.test(`weir --update starts again when the part of ${which} ${name}`, async () => {
      await using download = await Download.create();
      const path = `${download.folder}/a.csv`;
      if (!isFirst) assertEquals((await download.run("", ["--update"])).code, 0);
      download.version = "9.0.0";
      download.failAt(2);
      assertEquals((await download.run("", ["--update"])).code, 1);
      await change(path);
      download.onPage = () => {};
      const { code, errors } = await download.run("", ["--update"]);
      assertEquals([code, download.pages], [0, 3], errors.join());
      assertStringIncludes(errors[0]!, reason);
      assertStringIncludes(errors[0]!, `: ${path} is downloaded from its start`);
      assertEquals((await Deno.readTextFile(path)).split("\r\n").length, 14);
      assertEquals((await download.run("", ["--update"])).code, 0);
      assertEquals(download.pages, 0);
    });
  }
}

for (const flag of ["--resume", "--update"]) {
  Deno.test(`weir ${flag} ignores an empty part beside a finished file`, async () => {
    await using download = await Download.create();
    await download.run();
    await download.write("a.csv.part", "");
    const { code, errors } = await download.run("", [flag]);
    assertEquals([code, errors, download.pages], [0, [], 0]);
    download.version = "9.0.0";
    assertEquals((await download.run("", ["--update"])).code, 0);
    assertEquals([download.pages, await download.names()], [3, ["a.csv"]]);
  });
}

Deno.test("weir replaces the file of citations when it replaces the rows, also after an interruption", async () => {
  await using download = await Download.create();
  const cite = `--cite=${download.folder}/a.BIB`;
  await download.run("", [cite]);
  assertStringIncludes((await download.files())["a.BIB"]!, "@misc{");
  for (const [first, then] of [["--force", "--resume"], ["--update", "--update"]]) {
    await download.write("a.BIB", "old");
    download.version = first;
    download.failAt(2);
    assertEquals((await download.run("", [cite, first!])).code, 1);
    download.onPage = () => {};
    const { code, errors } = await download.run("", [cite, then!]);
    assertEquals([code, download.pages], [0, 2], errors.join());
    assertStringIncludes((await download.files())["a.BIB"]!, "@misc{");
  }
});

Deno.test("weir --resume --allow-invalid continues a Parquet file that broke at a value", async () => {
  await using download = await Download.create();
  const more = [`--output=${download.folder}/a.parquet`];
  const latitude = (number: number) => number < 3 ? 46.5 : "a text";
  download.onPage = (number) =>
    Response.json({
      value: [1, 2, 3, 4, 5].map((id) => ({
        ...{ Id: number * 5 + id, DOI: "10.1/a", MonitoringLocationLatitude: latitude(number) },
        ResultComment: Array.from({ length: 40 }, () => crypto.randomUUID()).join("").repeat(2_600),
      })),
    });
  const line = "--select=Id,DOI,MonitoringLocationLatitude,ResultComment --limit=15";
  const broken = await download.run(line, more);
  assertEquals(broken.code, 1, broken.errors.join());
  assertStringIncludes(broken.errors.join(), "a.parquet.part has 5 rows");
  const { onPage } = download;
  download.onPage = (number) => onPage(number + 1);
  const { code, errors } = await download.run(line, [...more, "--resume", "--allow-invalid"]);
  assertEquals([code, download.pages], [0, 2], errors.join());
  const bytes = await Deno.readFile(`${download.folder}/a.parquet`);
  const { rows } = await readParquet(bytes.buffer);
  assertEquals(
    rows.map(({ Id }) => Number(Id)),
    Array.from({ length: 15 }, (_, index) => index + 6),
  );
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
    await Deno.mkdir(`${download.folder}/folder`);
    await Deno.mkdir(`${download.folder}/b.csv.part.json.new`);
    for (const flag of ["--force", "--resume"]) {
      const { code, errors } = await download.run("", [
        `--output=${download.folder}/${name}`,
        flag,
      ]);
      assertEquals([code, download.pages, errors.length], [1, 0, 1]);
      assertStringIncludes(errors[0]!, message);
    }
  });
}

Deno.test("weir writes path, size, hash, query and versions of a file into its package", async () => {
  await using download = await Download.create();
  const path = `${download.folder}/a.csv`;
  await download.run("--doi=https://doi.org/10.25976/WEIR-aa00");
  const { resources: [resource], weir } = JSON.parse(
    await Deno.readTextFile(`${path}.datapackage.json`),
  );
  const bytes = await Deno.readFile(path);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
  const { schema, ...facts } = resource;
  assertEquals([facts.path, facts.bytes, facts.rows], ["a.csv", bytes.length, 12]);
  assertEquals(facts.hash, `sha256:${digest}`);
  assertEquals(schema.fields.map(({ name }: { name: string }) => name), [
    "Id",
    "DOI",
    "ResultValue",
  ]);
  assertStringIncludes(weir.url, `${BASE_URL}/Records?`);
  assertEquals(weir.query, {
    resource: "Records",
    service: BASE_URL,
    select: "Id,DOI,ResultValue",
    doi: "10.25976/weir-aa00",
    limit: "12",
    format: "csv",
  });
  assertEquals(weir.missingRows, 0);
  assertEquals(weir.datasets, [["10.25976/weir-aa00", "1.0.0", "2020-03-04T08:00:00.000Z"]]);
});

for (const [name, isPublished] of [["was just published", true], ["cannot be requested", false]]) {
  Deno.test(`weir writes the same datasets into a Parquet file and its package when a dataset ${name}`, async () => {
    await using download = await Download.create();
    if (isPublished) download.published = new Date().toISOString();
    else download.metadataError = () => new Response("", { status: 404 });
    const path = `${download.folder}/a.parquet`;
    const { code, errors } = await download.run("--limit=4", [`--output=${path}`]);
    assertEquals([code, download.metadata.length], [0, 1], errors.join());
    const beside = JSON.parse(await Deno.readTextFile(`${path}.datapackage.json`));
    const bytes = await Deno.readFile(path);
    const { metadata } = await readParquet(bytes.buffer);
    const inside = JSON.parse(metadata.datapackage!);
    assertEquals([beside.weir.datasets, inside.weir.datasets], [undefined, undefined]);
    assertEquals(inside.sources, beside.sources);
    assertEquals(inside.sources?.[0].version, undefined);
    // Another name and page size make the same bytes.
    const other = `${download.folder}/b.parquet`;
    const top = isPublished ? "3" : "4";
    await download.run(`--limit=4 --top=${top}`, [`--output=${other}`]);
    assertEquals(await Deno.readFile(other), bytes);
  });
}

Deno.test("weir leaves no part of a Parquet file that breaks before its first row group", async () => {
  await using download = await Download.create();
  download.failAt(2);
  const { code, errors } = await download.run("", [`--output=${download.folder}/a.parquet`]);
  assertEquals([code, errors.length, await download.names()], [1, 1, []], errors.join());
});

Deno.test("weir describes the geometry of locations, and counts the values that are null, in the package", async () => {
  await using download = await Download.create();
  const place = '"Longitude":-63,"Latitude":46,"HorizontalCoordinateReferenceSystem"';
  const rows = [
    `{"Id":1,${place}:"WGS84"}`,
    `{"Id":2,${place}:"NAD83"}`,
    '{"Id":3,"Longitude":"x"}',
  ];
  download.onPage = () => Response.json({ value: rows.map((row) => JSON.parse(row)) });
  const path = `${download.folder}/a.parquet`;
  const line = "locations !select !limit --allow-invalid";
  const { code, errors } = await download.run(line, [`--output=${path}`]);
  assertEquals(code, 0, errors.join());
  const { resources: [{ schema }], weir: { invalidValues, withoutGeometry } } = JSON.parse(
    await Deno.readTextFile(`${path}.datapackage.json`),
  );
  const { types } = await readParquet((await Deno.readFile(path)).buffer);
  assertEquals(schema.fields.map(({ name }: { name: string }) => name), Object.keys(types));
  assertEquals([invalidValues, withoutGeometry], [1, 2]);
});

Deno.test("weir writes no versions into the package when datasets were published during the download", async () => {
  await using download = await Download.create();
  download.published = new Date().toISOString();
  await download.run();
  const record = JSON.parse(await Deno.readTextFile(`${download.folder}/a.csv.datapackage.json`));
  assertEquals(record.weir.datasets, undefined);
  assertEquals((await download.run("", ["--update"])).code, 0);
  assertEquals(download.pages, 3);
});

Deno.test("weir --resume writes no versions into the package when datasets were published just before the part was started", async () => {
  await using download = await Download.create();
  const minutesAgo = (minutes: number) => Date.now() - minutes * 60_000;
  download.published = new Date(minutesAgo(20)).toISOString();
  await download.break();
  const path = `${download.folder}/a.csv.part.json`;
  const state = JSON.parse(await Deno.readTextFile(path));
  await Deno.writeTextFile(path, JSON.stringify({ ...state, startedAt: minutesAgo(15) }));
  assertEquals((await download.run("", ["--resume"])).code, 0);
  const { weir } = JSON.parse(await Deno.readTextFile(`${download.folder}/a.csv.datapackage.json`));
  assertEquals(weir.datasets, undefined);
});

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  Deno.test(`weir leaves a part that can be resumed when it gets ${signal}`, () => {
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
      assertEquals((await readFile("a.csv")).split("\r\n").length, 62);
    });
  });
}
