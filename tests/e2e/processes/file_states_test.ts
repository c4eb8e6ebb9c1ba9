// The same command makes a file right, whatever an earlier run left. Flags change that as the table says.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { sealPackage } from "../../../src/formats/data_package.ts";
import { readParquet } from "../../helpers/parquet.ts";
import { weir } from "../../helpers/run_weir.ts";
import { BASE_URL, Download } from "./download.ts";

const FILE = ["a.csv"];
const PART = ["a.csv.part", "a.csv.part.json"];

/** What a run does, and what it requests. */
const OUTCOMES = {
  "download": { pages: 3, metadata: 2, files: FILE },
  "continue": { pages: 2, metadata: 2, files: FILE },
  "start again": { pages: 3, metadata: 2, files: FILE, says: ["a.csv is downloaded again"] },
  "replace": { pages: 3, metadata: 2, files: FILE },
  "replace, keep the old one": {
    pages: 3,
    metadata: 2,
    files: [...FILE, "a.csv.changed"],
    says: ["a.csv was changed since weir wrote it: ", "a.csv.changed is the earlier file"],
  },
  "complete": { pages: 0, metadata: 0, files: FILE, says: ["a.csv is complete"] },
  "unchanged": { pages: 0, metadata: 1, files: FILE, says: ["a.csv is unchanged"] },
  "refuse": { code: 1, pages: 0, says: [": pass --force"] },
  "refuse, naming --update": { code: 1, pages: 0, says: [": pass --update"] },
  "refuse, naming the run": {
    code: 1,
    pages: 0,
    metadata: 0,
    says: ["another run (process 1 on far, last seen 30 s ago): wait for it, or take over with"],
  },
  "keep": {
    code: 3,
    pages: 0,
    metadata: 1,
    says: ["a.csv stays as it is", "10.25976/weir-aa00", "pass --update --remove-missing"],
  },
};
type Outcome = keyof typeof OUTCOMES;

const editState = async (download: Download, changes: object) => {
  const state = JSON.parse(await download.text("a.csv.part.json"));
  await download.write("a.csv.part.json", JSON.stringify({ ...state, ...changes }));
};
const edit = async (download: Download, name = "a.csv") =>
  await download.write(name, (await download.text(name)).replace("DOI", "doi"));
const publish = (download: Download) => Promise.resolve(download.publish({ Version: "9.0.0" }));
const remove = (download: Download) =>
  Promise.resolve(void (download.edit = ([, ...others]) => others));

/** States of the file, what leads to them, and the outcomes without a flag, with `--update` and with `--force`. */
const TABLE: Record<
  string,
  [prepare: ((download: Download) => Promise<unknown>)[], ...Outcome[]]
> = {
  "nothing": [[], "download", "download", "download"],
  "an intact part": [[(download) => download.break()], "continue", "continue", "replace"],
  "a damaged part": [
    [(download) => download.break(), (download) => edit(download, "a.csv.part")],
    "refuse, naming --update",
    "start again",
    "replace",
  ],
  "a part of other versions": [
    [(download) => download.break(), publish],
    "refuse, naming --update",
    "start again",
    "replace",
  ],
  "a complete file": [[(download) => download.run()], "complete", "unchanged", "replace"],
  "a complete file of earlier versions": [
    [(download) => download.run(), publish],
    "complete",
    "start again",
    "replace",
  ],
  "an edited file": [
    [(download) => download.run(), edit],
    "refuse, naming --update",
    "replace, keep the old one",
    "replace",
  ],
  "a file of which a dataset is gone": [
    [(download) => download.run(), remove],
    "complete",
    "keep",
    "replace",
  ],
  "an edited file of which a dataset is gone": [
    [(download) => download.run(), edit, remove],
    "refuse, naming --update",
    "keep",
    "replace",
  ],
  "a file of another query": [
    [(download) => download.run("--limit=13")],
    "refuse",
    "refuse",
    "replace",
  ],
  "a file without a package": [
    [(download) => download.write("a.csv", "of another program")],
    "refuse",
    "refuse",
    "replace",
  ],
  "a part that another run writes": [
    [
      (download) => download.break(),
      (download) =>
        editState(download, {
          owner: { run: "r", process: 1, computer: "far", renewedAt: Date.now() - 30_000 },
        }),
    ],
    "refuse, naming the run",
    "refuse, naming the run",
    "replace",
  ],
};

for (const [state, [prepare, ...outcomes]] of Object.entries(TABLE)) {
  const flags = ["", "--update", "--force"];
  const cells = flags.map((flag, index) => [flag, outcomes[index]!] as const);
  if (outcomes[1] === "keep") {
    const isEdited = state.startsWith("an edited");
    const outcome = isEdited ? "replace, keep the old one" : "start again";
    cells.push(["--update --remove-missing", outcome]);
  }
  for (const [flag, outcome] of cells) {
    Deno.test(`weir ${flag || "without a flag"} does "${outcome}" when there is ${state}`, async () => {
      await using download = await Download.create();
      await download.run();
      const whole = await download.text();
      await Deno.remove(download.path());
      await Deno.remove(download.path("a.csv.datapackage.json"));
      for (const step of prepare) await step(download);
      const before = await download.contents();
      download.metadata = [];
      const { metadata, ...end } = { metadata: undefined, ...OUTCOMES[outcome] };
      await download.expect(`!quiet ${flag}`, end);
      // The citations on standard error are a request too.
      const isRead = end.pages > 0;
      if (metadata !== undefined) {
        assertEquals(download.metadata.length, metadata + Number(isRead));
      }
      if (isRead) {
        assertEquals(await download.text(), whole);
        assertEquals((await weir(["verify", download.path()])).code, 0);
      } else assertEquals(await download.contents(), before);
      if (outcome === "replace, keep the old one") {
        assertEquals(await download.text("a.csv.changed"), before["a.csv"]);
      }
    });
  }
}

/** Arguments that change the file of the download, by the option that the message names. */
const DIFFERENT: Record<string, string> = {
  "service": `--base-url=${BASE_URL.replace("service", "other")}`,
  "resource": "observations",
  "select": "--select=DOI,Id,ResultValue",
  "doi": "--doi=10.25976/weir-aa00",
  "limit": "--limit=13",
  "format": "--format=json",
  "no-header": "--no-header",
};

for (const [name, other] of Object.entries(DIFFERENT)) {
  Deno.test(`weir refuses the part and the file of another query when ${name} differs`, async () => {
    await using download = await Download.create();
    await download.break();
    const state = await download.text("a.csv.part.json");
    await download.expect(other, {
      code: 1,
      pages: 0,
      files: PART,
      messages: 1,
      says: ["a.csv.part belongs to another query (", `${name} was`, "--force"],
    });
    assertEquals(await download.text("a.csv.part.json"), state);
    await download.expect("", { files: FILE });
    await download.expect(other, {
      code: 1,
      pages: 0,
      files: FILE,
      says: ["a.csv is the result of another query (", `${name} was`],
    });
  });
}

/** Command lines with the same file, and what differs. */
const SAME: readonly (readonly [name: string, one: string, other: string])[] = [
  ["the size of pages", "", "--top=3"],
  ["the checks", "", "--unchecked --allow-incomplete"],
  ["the spelling of the service", "", `--base-url=${BASE_URL.replace("service", "SERVICE")}`],
  ["spaces", "", "--select=Id, DOI, ResultValue"],
  ["the form of a filter", "--characteristic=pH", "--filter=CharacteristicName eq 'pH'"],
];

for (const [name, one, other] of SAME) {
  Deno.test(`weir completes a part when the command differs only in ${name}`, async () => {
    await using download = await Download.create();
    await download.expect(one);
    const whole = await download.text();
    await Deno.remove(download.path());
    await download.break(one);
    await download.expect(other, { files: FILE });
    assertEquals(await download.text(), whole);
    await download.expect(one, { pages: 0 });
  });
}

interface Start extends Partial<Pick<Download, "failAt" | "interruptAt">> {
  hasPart?: true;
  hasFile?: true;
}

/** Downloads, with their exit codes and the names of the files that they leave. */
const ENDS: [name: string, start: Start, line: string, code: number, files: string[]][] = [
  ["finishes without rows", {}, "--filter=DOI eq 'none' --output=a.parquet", 0, ["a.parquet"]],
  ["is interrupted at its first page", { interruptAt: 1 }, "", 130, []],
  ["is interrupted at its second page", { interruptAt: 2 }, "", 130, PART],
  ["fails at its first page", { failAt: 1 }, "", 1, []],
  ["fails before a row group", { failAt: 2 }, "--output=a.parquet", 1, []],
  ["replaces a file and fails", { hasFile: true, failAt: 1 }, "--force", 1, FILE],
  ["is refused because a file exists", { hasFile: true }, "", 1, FILE],
  ["has a part and a file", { hasPart: true, hasFile: true }, "", 1, [...FILE, ...PART]],
  ["continues and fails", { hasPart: true, failAt: 1 }, "", 1, PART],
];

for (const [name, { hasPart, hasFile, ...faults }, line, code, files] of ENDS) {
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

Deno.test("weir completes a run that was killed while it renamed its file or its package", async () => {
  await using download = await Download.create();
  await download.run();
  const [whole, dataPackage] = [await download.text(), await download.package()];
  // Killed after it renamed the file: the state remains.
  await download.write("a.csv.part.json", "{}");
  await download.expect("", { pages: 0, files: FILE });
  assertEquals(await download.text(), whole);
  // Killed between two renames: the package is the new one, and the file the old one.
  for (const flag of ["", "--update"]) {
    await download.break("--force");
    await download.write("a.csv", "old");
    await download.write("a.csv.datapackage.json", JSON.stringify(dataPackage));
    for (const name of ["part", "datapackage"]) await download.write(`a.csv.${name}.json.new`, "{");
    const { errors } = await weir(["verify", download.path()]);
    assertStringIncludes(errors.at(-1)!, "a.csv.part is left over from a download");
    await download.expect(flag, { files: FILE });
    assertEquals(await download.text(), whole);
    const { created } = dataPackage;
    assertEquals(await sealPackage({ ...await download.package(), created }), dataPackage);
  }
  // The file of before is not kept: weir wrote it, although the package is that of the new one.
  const obstacle = download.path("a.csv.datapackage.json.new");
  download.onPage = () => Deno.mkdirSync(obstacle, { recursive: true });
  download.publish({ Version: "9.0.0" });
  assertEquals((await download.run("--update")).code, 1);
  await Deno.remove(obstacle);
  const resources = [{ ...dataPackage.resources[0], hash: "sha256:new" }];
  const newPackage = { ...await download.package(), resources };
  await download.write("a.csv.datapackage.json", JSON.stringify(newPackage));
  download.onPage = () => {};
  await download.expect("--update", { files: FILE });
});

Deno.test("weir writes no file without its package", async () => {
  await using download = await Download.create();
  const obstacle = download.path("a.csv.datapackage.json.new");
  // The package cannot be written, because a directory has its name.
  download.onPage = () => Deno.mkdirSync(obstacle, { recursive: true });
  assertEquals((await download.run()).code, 1);
  assertEquals(await download.names(), ["a.csv.datapackage.json.new", ...PART]);
  await Deno.remove(obstacle);
  await download.expect("", { pages: 0, files: FILE });
  assertEquals((await download.package()).resources[0].rows, 12);
});

const NO_STATE = "a.csv.part.json is missing, damaged or of another version";
/** Changes of a part, and the reason for which it cannot be continued. */
const CHANGED_PARTS: Record<string, [change: (download: Download) => Promise<void>, string]> = {
  "with another byte": [
    async (download) => {
      const text = await download.text("a.csv.part");
      await download.write("a.csv.part", text.replace("D", "X"));
    },
    "a.csv.part was changed: its first",
  ],
  "with fewer bytes": [
    (download) => download.write("a.csv.part", "X"),
    "it has 1 bytes, weir wrote",
  ],
  "without its state": [(download) => Deno.remove(download.path("a.csv.part.json")), NO_STATE],
  "with an empty state": [(download) => download.write("a.csv.part.json", "{}"), NO_STATE],
  "of another version": [
    async (download) => {
      const state = await download.text("a.csv.part.json");
      await download.write("a.csv.part.json", state.replace('"version":', '"version":1'));
    },
    NO_STATE,
  ],
  "that is a link": [
    async (download) => {
      await Deno.rename(download.path("a.csv.part"), download.path("rows"));
      await download.link("rows", "a.csv.part");
    },
    "a.csv.part is not a regular file",
  ],
};
for (const [name, [change, reason]] of Object.entries(CHANGED_PARTS)) {
  Deno.test(`weir refuses a part ${name}, and --update starts again`, async () => {
    await using download = await Download.create();
    await download.break("--update");
    await change(download);
    const before = await download.text("a.csv.part");
    const says = [reason, "--update"];
    await download.expect("", { code: 1, pages: 0, messages: 1, says });
    assertEquals(await download.text("a.csv.part"), before);
    await download.expect("--update", {
      pages: 3,
      says: [reason, `: ${download.path()} is downloaded again`],
    });
    // A header, 12 rows, and the empty text after the last line break.
    assertEquals((await download.text()).split("\r\n").length, 14);
  });
}

/** Changes of a part by another program while it is written. */
const LATE_CHANGES: Record<string, (path: string) => void> = {
  "edited": (path) => Deno.writeTextFileSync(path, Deno.readTextFileSync(path).replace("D", "X")),
  "cut": (path) => Deno.truncateSync(path, 20),
};
for (const [name, change] of Object.entries(LATE_CHANGES)) {
  Deno.test(`weir writes no file of a part that is ${name} during the download`, async () => {
    await using download = await Download.create();
    download.onPage = (number) => number === 3 && change(download.path("a.csv.part"));
    const says = ["a.csv.part was changed: its first", "pass --update to start again"];
    await download.expect("", { code: 1, files: PART, messages: 1, says });
    download.onPage = () => {};
    await download.expect("", { code: 1, pages: 0, files: PART, says });
    await download.expect("--update", { files: FILE });
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
  await download.expect("--update", { pages: 3, files: FILE });
  assertEquals(await download.text(), whole);
  assertEquals((await download.package()).weir.datasets![0]![1], "9.1.0");
});

for (const line of ["!limit --doi=10.25976/weir-aa00", "!limit --select=Id --top=1000"]) {
  Deno.test(`weir --update ${line} keeps a file when its dataset has no rows for a while`, async () => {
    await using download = await Download.create();
    await download.expect(line);
    const before = await download.contents();
    download.publish({ Version: "9.0.0" });
    download.onPage = () => Response.json({ value: [] });
    const says = ["a.csv stays as it is: DataStream has no rows of 10.25976/weir-aa00"];
    await download.expect(`${line} --update`, { code: 3, pages: 1, says });
    assertEquals(await download.contents(), before);
    await download.expect(`${line} --update --remove-missing`);
    assertEquals((await download.package()).resources[0].rows, 0);
  });
}

Deno.test("weir --strict compares the values before it writes the file, and when nothing has changed", async () => {
  await using download = await Download.create();
  const line = "!limit --top=100 --filter=DOI in ('10.25976/weir-aa00','10.25976/weir-zz99')";
  const says = ['No row matches dataset "10.25976/weir-zz99"'];
  const written = ["a.csv is not written", "without --strict, the same command completes it"];
  await download.expect(`${line} --strict`, { code: 1, files: PART, says: [...says, ...written] });
  await download.expect(line, { pages: 0, files: FILE, says });
  await download.expect(`${line} --strict`, { code: 1, pages: 0, says });
  await download.expect(`${line} --strict --update`, { code: 1, pages: 0, says });
  const before = await download.text();
  download.publish({ Version: "9.0.0" });
  download.onPage = () =>
    Response.json({ value: [{ Id: 1, DOI: "10.25976/weir-aa00", ResultValue: 7 }] });
  const end = { code: 1, files: [...FILE, ...PART], says: [...says, ...written] };
  await download.expect(`${line} --strict --update`, end);
  assertEquals(await download.text(), before);
  await download.expect(`${line} --update`, { pages: 0, files: FILE, says });
  assertStringIncludes(await download.text(), "weir-aa00,7\r\n");
});

Deno.test("weir ignores an empty part beside a finished file", async () => {
  await using download = await Download.create();
  await download.run();
  await download.write("a.csv.part", "");
  for (const flag of ["", "--update"]) {
    await download.expect(flag, { pages: 0, messages: 0 });
  }
  download.publish({ Version: "9.0.0" });
  const says = ["10.25976/weir-aa00 was version 1.0.0", `: ${download.path()} is downloaded again`];
  await download.expect("!quiet --update", { pages: 3, files: FILE, says });
});

Deno.test("weir replaces the citations when it replaces the rows, also after an interruption", async () => {
  await using download = await Download.create();
  const readCitations = () => download.text("a.BIB");
  await download.run("--cite=a.BIB");
  assertStringIncludes(await readCitations(), "@misc{");
  for (const [flag, nextFlag] of [["--force", ""], ["--update", " --update"]]) {
    await download.write("a.BIB", "old");
    download.publish({ Version: `with ${flag}` });
    await download.break(`--cite=a.BIB ${flag}`);
    await download.expect(`--cite=a.BIB${nextFlag}`, { pages: 2 });
    assertStringIncludes(await readCitations(), "@misc{");
  }
});

Deno.test("weir names the problem of --output before its first request", async () => {
  await using download = await Download.create();
  await Deno.mkdir(download.path("folder"));
  await Deno.mkdir(download.path("b.csv.part.json.new"));
  const problems = {
    "none/a.csv": "There is no directory ",
    "folder": "/folder is a directory: name a file in it",
    "b.csv": "/b.csv.part.json.new is a directory: rename it, or choose another file",
    [`${"a".repeat(240)}.csv`]: "datapackage.json (ENAMETOOLONG): the file name is too long",
    [`${"a".repeat(300)}.csv`]: "aa.csv (ENAMETOOLONG): the file name is too long",
  };
  for (const [name, message] of Object.entries(problems)) {
    await download.expect(`--output=${name} --force`, {
      code: 1,
      pages: 0,
      messages: 1,
      says: [message],
    });
  }
});

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

Deno.test("weir writes no versions into a Parquet file and its package when a dataset was just published", async () => {
  await using download = await Download.create();
  download.publish({ PublishedTimestamp: new Date().toISOString() });
  await download.expect("--limit=4 --output=a.parquet");
  assertEquals(download.metadata.length, 1);
  const separate = await download.package("a.parquet");
  const bytes = await Deno.readFile(download.path("a.parquet"));
  const { metadata } = await readParquet(bytes.buffer);
  const embedded = JSON.parse(metadata.datapackage!);
  assertEquals([separate.weir.datasets, embedded.weir.datasets], [undefined, undefined]);
  assertEquals(embedded.sources, separate.sources);
  assertEquals(embedded.sources[0].version, undefined);
  // The bytes do not depend on the file name and the page size.
  download.publish({});
  await download.run("--limit=4 --output=b.parquet");
  await download.run("--limit=4 --top=3 --output=c.parquet");
  const read = (name: string) => Deno.readFile(download.path(name));
  assertEquals(await read("c.parquet"), await read("b.parquet"));
});

Deno.test("weir says and describes in the package how many values are invalid, rows have no geometry, and dates are unreadable", async () => {
  await using download = await Download.create();
  const place = { Longitude: -63, Latitude: 46 };
  const value = [
    { Id: 1, ...place, HorizontalCoordinateReferenceSystem: "WGS84" },
    { Id: 2, ...place, HorizontalCoordinateReferenceSystem: "NAD27" },
    { Id: 3, Longitude: "x" },
    { Id: 4, ...place, HorizontalCoordinateReferenceSystem: "NAD83" },
  ];
  download.onPage = () => Response.json({ value });
  await download.expect("locations !select !limit --allow-invalid --output=a.parquet", {
    says: [
      "1 row with a value that",
      "2 rows without a geometry",
      "1 row with a position in NAD83",
    ],
  });
  const { resources: [{ schema }], weir } = await download.package("a.parquet");
  const { types } = await readParquet((await Deno.readFile(download.path("a.parquet"))).buffer);
  assertEquals(schema.fields.map(({ name }) => name), Object.keys(types));
  assertEquals(weir.notes, { invalidValues: 1, withoutGeometry: 2, nad83: 1 });

  const dates = ["2024-05-16", "16/05/2024", null, "2024-05-14"];
  const dated = dates.map((ActivityStartDate, index) => ({ Id: index + 1, ActivityStartDate }));
  download.onPage = () => Response.json({ value: dated });
  await download.expect("!limit --from=2024-05-15 --output=b.csv", {
    says: [
      "1 row left out: outside of --from and --to",
      "1 row left out: without a start date",
      "1 row left out: with a start date that cannot be read",
    ],
  });
  const { notes } = (await download.package("b.csv")).weir;
  assertEquals(notes, { outsideDays: 1, withoutDate: 1, unreadableDate: 1 });
});
