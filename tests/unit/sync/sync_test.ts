// A mirror has every row of its datasets once, requests only what changed, and each of its files is wholly old or wholly
// new at every moment, also when a run is killed.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { DataStreamError, ValidationError } from "../../../mod.ts";
import { sync, type SyncOptions, type SyncQuery, type SyncReport } from "../../../src/sync/sync.ts";
import { MemoryFolder } from "../../helpers/memory_folder.ts";
import { MirroredService, NOW } from "../../helpers/mirrored_service.ts";
import { readParquet } from "../../helpers/parquet.ts";

const [AA, BB] = ["10.25976/weir-aa00", "10.25976/weir-bb00"];
const [FILE_AA, FILE_BB] = ["observations/10.25976-weir-aa00", "observations/10.25976-weir-bb00"];
/** An hour before the time of the service. */
const PUBLISHED = new Date(NOW - 3_600_000).toISOString();
const FORMATS = ["parquet", "csv", "delta"] as const;

/** Runs `sync()`, and returns what is asserted most. */
async function run(
  service: MirroredService,
  folder: MemoryFolder,
  query: SyncQuery = {},
  options: SyncOptions = {},
): Promise<Omit<SyncReport, "requests"> & { sent: string[]; outcomes: Record<string, string> }> {
  service.requests.length = 0;
  const report = await sync(service.client(), query, folder, {
    now: () => service.now,
    ...options,
  });
  const outcomes = report.datasets.map(({ doi, outcome }) => [doi.slice(-4), outcome]);
  return { ...report, sent: [...service.requests], outcomes: Object.fromEntries(outcomes) };
}

/** Returns the Ids of the rows in the mirror, sorted: of Parquet and Delta what a reader of the folder or log sees. */
async function idsIn(folder: MemoryFolder, name = "observations"): Promise<number[]> {
  const logs = folder.names.filter((path) => path.startsWith(`${name}/_delta_log/`));
  const live = new Set<string>();
  for (const line of logs.flatMap((path) => folder.text(path).trim().split("\n"))) {
    const { add, remove } = JSON.parse(line);
    if (add) live.add(`${name}/${add.path}`);
    if (remove) live.delete(`${name}/${remove.path}`);
  }
  const paths = folder.names.filter((path) => path.startsWith(`${name}/`) && !path.includes("/_"));
  const ids: number[] = [];
  for (const path of logs.length > 0 ? live : paths) {
    if (path.endsWith(".csv")) {
      ids.push(...folder.text(path).split("\r\n").slice(1, -1).map((line) => parseInt(line)));
    } else {
      const { buffer } = folder.files.get(path)!.slice();
      ids.push(...(await readParquet(buffer as ArrayBuffer)).rows.map(({ Id }) => Number(Id)));
    }
  }
  return ids.sort((a, b) => a - b);
}

/** Returns the Ids that the service has now. */
async function idsOf(service: MirroredService): Promise<number[]> {
  const metadata = await service.client().metadata().toArray();
  const ids: number[] = [];
  for (const { DOI } of metadata) {
    const filter = `DOI eq '${DOI}'`;
    const rows = await service.client().observations({ filter, select: ["Id"] }).toArray();
    ids.push(...rows.map(({ Id }) => Id));
  }
  return ids.sort((a, b) => a - b);
}

Deno.test("the first run fetches each dataset, and compares the versions of several in one request", async () => {
  const [service, folder] = [new MirroredService(), new MemoryFolder()];
  const { sent, outcomes, rows } = await run(service, folder);
  assertEquals(sent, [
    "Metadata",
    "count",
    ...["aa00", "bb00", "cc00", "dd00", "ee00"].flatMap((doi) => [
      `Observations ${doi}`,
      `Locations ${doi}`,
    ]),
    "Metadata",
  ]);
  assertEquals(new Set(Object.values(outcomes)), new Set(["fetched"]));
  assertEquals(rows, 500);
  assertEquals(await idsIn(folder), await idsOf(service));
  const names = folder.names.filter((path) => !path.includes("/"));
  assertEquals(names, ["CITATIONS.txt", "changes.atom", "datapackage.json", "datasets.parquet"]);
  const { resources, weir } = JSON.parse(folder.text("datapackage.json"));
  assertEquals(resources.length, 11);
  assertEquals(weir.datasets[0].slice(0, 2), [AA, "1.0.0"]);
  for (const { path, bytes, hash } of resources) {
    const content = folder.files.get(path)!;
    const digest = await crypto.subtle.digest("SHA-256", content as Uint8Array<ArrayBuffer>);
    assertEquals([content.length, `sha256:${new Uint8Array(digest).toHex()}`], [bytes, hash]);
  }
});

for (const format of FORMATS) {
  Deno.test(`an unchanged mirror takes one request, and a changed dataset its own: ${format}`, async () => {
    const [service, folder] = [new MirroredService(), new MemoryFolder()];
    await run(service, folder, { format });
    const before = new Map(folder.files);
    const unchanged = await run(service, folder, { format });
    assertEquals(unchanged.sent, ["Metadata"]);
    assertEquals(folder.files, before);
    service.publish(BB, "2.0.0", PUBLISHED);
    const changed = await run(service, folder, { format });
    const expected = ["Metadata", "Observations bb00", "Locations bb00", "Metadata bb00"];
    assertEquals(changed.sent, expected);
    assertEquals(changed.outcomes.aa00, "unchanged");
    const found = changed.datasets.find(({ doi }) => doi === BB)!;
    assertEquals([found.outcome, found.version, found.rows], [
      "fetched",
      "2.0.0",
      found.before! - 1,
    ]);
    assertEquals(await idsIn(folder), await idsOf(service));
    const others = folder.names.filter((path) => /-[acde]+00/.test(path));
    for (const path of others) assert(folder.files.get(path) === before.get(path), path);
    const feed = folder.text("changes.atom");
    assert(feed.includes(`<title>${BB}, version 2.0.0</title>`), feed);
    assert(feed.includes(`Rows: ${found.rows} (before: ${found.before}).`), feed);
  });

  Deno.test(`a run that is killed at any moment leaves whole files, and the next one completes: ${format}`, async () => {
    const service = new MirroredService(60, 5);
    const start = new MemoryFolder();
    const query = { format };
    await run(service, start, query);
    service.publish(AA, "2.0.0", PUBLISHED);
    service.publish(BB, "2.0.0", PUBLISHED);
    const whole = new MemoryFolder();
    for (const [path, bytes] of start.files) whole.files.set(path, bytes);
    await run(service, whole, query);
    const truth = await idsOf(service);
    let kills = 0;
    for (let changes = 0;; changes++) {
      const folder = new MemoryFolder();
      for (const [path, bytes] of start.files) folder.files.set(path, bytes);
      folder.changesLeft = changes;
      const isWhole = (path: string) =>
        [start, whole].some(({ files }) => sameBytes(files.get(path), folder.files.get(path)));
      folder.onChange = () => {
        const parts = folder.names.filter((path) => path.includes("/") && !isWhole(path));
        assertEquals(parts, []);
      };
      await run(service, folder, query).catch(() => {});
      const isKilled = folder.changesLeft < 0;
      folder.changesLeft = Infinity;
      folder.isLocked = false;
      await run(service, folder, query);
      assertEquals(await idsIn(folder), truth, `killed after ${changes} changes`);
      assertEquals((await run(service, folder, query)).sent, ["Metadata"]);
      const { weir } = JSON.parse(folder.text("datapackage.json"));
      assertEquals(weir.datasets[0].slice(0, 2), [AA, "2.0.0"]);
      if (!isKilled) break;
      kills++;
    }
    assert(kills >= 14, `${kills} kills`);
  });

  Deno.test(`a manifest that is lost is made again from the files: ${format}`, async () => {
    const [service, folder] = [new MirroredService(60, 5), new MemoryFolder()];
    await run(service, folder, { format });
    const { resources, weir } = JSON.parse(folder.text("datapackage.json"));
    folder.files.delete("datapackage.json");
    assertEquals((await run(service, folder, { format })).sent, ["Metadata"]);
    const again = JSON.parse(folder.text("datapackage.json"));
    assertEquals([again.resources, again.weir], [resources, weir]);
    if (format === "csv") return;
    // Parquet files contain their packages.
    for (const path of folder.files.keys()) {
      if (/^\.weir|^datapackage/.test(path)) folder.files.delete(path);
    }
    assertEquals((await run(service, folder, { format })).sent, ["Metadata"]);
    const { weir: { datasets }, ...others } = JSON.parse(folder.text("datapackage.json"));
    assertEquals(datasets, weir.datasets);
    const hashes = (list: { path: string; hash: string; rows: number; dataset: string }[]) =>
      list.map(({ path, hash, rows, dataset }) => ({ path, hash, rows, dataset }));
    assertEquals(hashes(others.resources), hashes(resources));
  });
}

function sameBytes(one: Uint8Array | undefined, other: Uint8Array | undefined): boolean {
  if (one === other || one === undefined || other === undefined) return one === other;
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}

/** Asserts that the manifest lists what is there: each file with its size, and no other one that an engine would read. */
function assertWhole(folder: MemoryFolder, state: string): void {
  const { resources } = JSON.parse(folder.text("datapackage.json"));
  const listed = resources.map(({ path, bytes }: Record<string, unknown>) => [path, bytes]);
  const found = listed.map(([path]: [string]) => [path, folder.files.get(path)?.length]);
  assertEquals(found, listed, state);
  if (folder.names.some((path) => path.includes("_delta_log"))) return;
  const data = folder.names.filter((path) => path.includes("/"));
  const paths = listed.map(([path]: [string]) => path).filter((path: string) => path.includes("/"));
  assertEquals(data, paths.sort(), state);
}

/** Runs a function again and again, and kills it after 0, 1, 2… changes, until one is not killed. */
async function killAtEach(
  start: MemoryFolder,
  work: (folder: MemoryFolder) => Promise<unknown>,
  then: (folder: MemoryFolder, changes: number) => Promise<void>,
): Promise<void> {
  for (let changes = 0, isKilled = true; isKilled; changes++) {
    const folder = new MemoryFolder();
    for (const [path, bytes] of start.files) folder.files.set(path, bytes);
    folder.changesLeft = changes;
    await work(folder).catch(() => {});
    isKilled = folder.changesLeft < 0;
    folder.changesLeft = Infinity;
    folder.isLocked = false;
    await then(folder, changes);
  }
}

Deno.test("a removal that is killed is completed by the next run, and so is a mirror with another query", async () => {
  const [service, start] = [new MirroredService(60, 5), new MemoryFolder()];
  await run(service, start);
  const { edit } = service;
  service.edit = (rows) => rows.filter(({ DOI }) => DOI !== BB);
  const remove = (folder: MemoryFolder) => run(service, folder, {}, { removeMissing: true });
  await killAtEach(start, remove, async (folder, changes) => {
    await remove(folder);
    assertWhole(folder, `${changes} changes`);
    assertEquals(folder.names.filter((path) => path.includes("bb00")), []);
  });
  service.edit = edit;
  const narrow = { filter: `DOI eq '${AA}'`, tidy: true };
  const replace = (folder: MemoryFolder) => run(service, folder, narrow, { force: true });
  await killAtEach(start, replace, async (folder, changes) => {
    await run(service, folder, narrow).catch(() => replace(folder));
    assertWhole(folder, `${changes} changes`);
    assertEquals(folder.names.filter((path) => path.startsWith("observations/")).length, 1);
  });
});

Deno.test("a mirror whose manifest is lost after a kill lists only files that are there", async () => {
  const [service, start] = [new MirroredService(60, 5), new MemoryFolder()];
  for (const format of FORMATS) {
    start.files.clear();
    service.now = NOW;
    await run(service, start, { format });
    service.publish(BB, `2.0.0 ${format}`, PUBLISHED);
    const update = (folder: MemoryFolder) => run(service, folder, { format });
    const { edit, onRows } = service;
    await killAtEach(start, update, async (folder, changes) => {
      folder.files.delete("datapackage.json");
      // It waits, so that the run fetches nothing.
      service.publish(BB, "3.0.0", new Date(NOW).toISOString());
      await update(folder);
      Object.assign(service, { edit, onRows });
      assertWhole(folder, `${format}, ${changes} changes`);
      await update(folder);
      assertEquals(await idsIn(folder), await idsOf(service), `${format}, ${changes} changes`);
    });
  }
});

Deno.test("files that are lost with the manifest are fetched, and older versions of a Delta table do not count", async () => {
  for (const format of ["parquet", "delta"] as const) {
    for (const lost of [/^datapackage/, /^datapackage|^\.weir/, /^datapackage|^\.weir|bb00/]) {
      const [service, folder] = [new MirroredService(60, 5), new MemoryFolder()];
      await run(service, folder, { format });
      service.publish(AA, "2.0.0", PUBLISHED);
      await run(service, folder, { format });
      for (const path of folder.files.keys()) if (lost.test(path)) folder.files.delete(path);
      const { outcomes } = await run(service, folder, { format });
      assertEquals(outcomes.bb00, lost.test("bb00") ? "fetched" : "unchanged", `${format} ${lost}`);
      assertEquals(await idsIn(folder), await idsOf(service), `${format} ${lost}`);
      assertWhole(folder, `${format} ${lost}`);
    }
  }
});

Deno.test("what describes the files is written again: table, citations, feed and log", async () => {
  for (const lost of [/^datasets/, /^CITATIONS/, /^changes/, /_delta_log/]) {
    const [service, folder] = [new MirroredService(60, 5), new MemoryFolder()];
    await run(service, folder, { format: "delta" });
    const before = folder.names;
    for (const path of folder.files.keys()) if (lost.test(path)) folder.files.delete(path);
    assertEquals((await run(service, folder, { format: "delta" })).sent, ["Metadata"]);
    assertEquals(folder.names, before);
    assertEquals(await idsIn(folder), await idsOf(service));
  }
});

Deno.test("the feed has each version once, also after a kill, and when a lost file is fetched again", async () => {
  const [service, start] = [new MirroredService(60, 5), new MemoryFolder()];
  const update = (folder: MemoryFolder) => run(service, folder);
  const entries = (folder: MemoryFolder) => folder.text("changes.atom").split("<entry>").length - 1;
  await killAtEach(start, update, async (folder, changes) => {
    await update(folder);
    assertEquals(entries(folder), 5, `${changes} changes`);
    folder.files.set(`${FILE_BB}.parquet`, new Uint8Array(1));
    assertEquals((await update(folder)).outcomes.bb00, "fetched");
    assertEquals(entries(folder), 5);
    const ids = folder.text("changes.atom").match(/<id>urn:uuid:[-0-9a-f]{36}<\/id>/g)!;
    assertEquals([ids.length, new Set(ids).size], [6, 6]);
  });
});

Deno.test("a mirror of another query stays until a dataset has arrived, and if none matches", async () => {
  const [service, folder] = [new MirroredService(60, 5), new MemoryFolder()];
  await run(service, folder);
  const before = new Map(folder.files);
  const other = { filter: `DOI in ('${AA}','${BB}')`, tidy: true };
  service.onRows = () => new Response("{}", { status: 503 });
  await run(service, folder, other, { force: true });
  const { edit } = service;
  service.edit = () => [];
  assertEquals((await run(service, folder, other, { force: true })).datasets, []);
  service.edit = edit;
  assertEquals(folder.files, before);
  await run(service, folder);
  folder.files.delete("datapackage.json");
  await assertRejects(() => run(service, folder, other), ValidationError, "whose manifest is lost");
});

Deno.test("a value of Metadata that does not fit its column stops nothing", async () => {
  const [service, folder] = [new MirroredService(60, 5), new MemoryFolder()];
  service.edit = (rows) => rows.map((row) => ({ ...row, TopicCategoryCode: 3 as never }));
  assertEquals((await run(service, folder)).outcomes.bb00, "fetched");
});

Deno.test("a dataset that was published less than ten minutes ago waits, by the clock of the service", async () => {
  const [service, folder] = [new MirroredService(60, 5), new MemoryFolder()];
  await run(service, folder);
  service.publish(BB, "2.0.0", new Date(NOW - 540_000).toISOString());
  for (const day of [-1, 0, 1]) {
    const options = { now: () => NOW + day * 86_400_000 };
    const { outcomes, sent } = await run(service, folder, {}, options);
    assertEquals([outcomes.bb00, outcomes.aa00, sent], ["waiting", "unchanged", ["Metadata"]]);
  }
  service.now += 60_000;
  assertEquals((await run(service, folder)).outcomes.bb00, "fetched");
});

Deno.test("a dataset that is published while it is fetched keeps its files", async () => {
  const [service, folder] = [new MirroredService(60, 5), new MemoryFolder()];
  await run(service, folder);
  const before = folder.files.get(`${FILE_BB}.parquet`);
  service.publish(BB, "2.0.0", PUBLISHED);
  const { onRows } = service;
  service.onRows = (doi, rows) => {
    service.publish(BB, "3.0.0", new Date(NOW).toISOString());
    return onRows(doi, rows);
  };
  assertEquals((await run(service, folder)).outcomes.bb00, "waiting");
  assert(folder.files.get(`${FILE_BB}.parquet`) === before);
  assert(!folder.text("datapackage.json").includes("3.0.0"));
  assertEquals([...folder.files.keys()].filter((path) => path.includes("/staged/")), []);
});

Deno.test("a dataset that is gone keeps its files until they are removed, and never all are without force", async () => {
  const [service, folder] = [new MirroredService(60, 5), new MemoryFolder()];
  await run(service, folder);
  const { edit } = service;
  service.edit = (rows) => rows.filter(({ DOI }) => DOI !== BB);
  assertEquals((await run(service, folder)).outcomes.bb00, "gone");
  const { weir } = JSON.parse(folder.text("datapackage.json"));
  assertEquals(weir.gone, { [BB]: new Date(NOW).toISOString() });
  assert(folder.files.has(`${FILE_BB}.parquet`));
  // It is back.
  service.edit = edit;
  assertEquals((await run(service, folder)).outcomes.bb00, "unchanged");
  assertEquals(JSON.parse(folder.text("datapackage.json")).weir.gone, {});
  service.edit = (rows) => rows.filter(({ DOI }) => DOI !== BB);
  assertEquals((await run(service, folder, {}, { removeMissing: true })).outcomes.bb00, "removed");
  assert(!folder.files.has(`${FILE_BB}.parquet`));
  assert(folder.text("changes.atom").includes(`${BB} was removed`));
  service.edit = (rows) => [{ ...rows[0]!, Id: "~", DOI: BB }];
  const all = () => run(service, folder, {}, { removeMissing: true });
  await assertRejects(all, Error, "force is needed to remove all 4 datasets");
  assert(folder.files.has(`${FILE_AA}.parquet`));
  service.edit = () => [];
  assertEquals((await run(service, folder)).outcomes.aa00, "gone");
  const { outcomes } = await run(service, folder, {}, { removeMissing: true, force: true });
  assertEquals(outcomes.aa00, "removed");
});

/** What is wrong with the rows of one dataset, and the kind of the error. */
const FAULTS: Record<string, [fault: (rows: Record<string, unknown>[]) => unknown, kind: string]> =
  {
    "an invalid value": [
      (rows) => [{ ...rows[0], ResultValue: "much" }, ...rows.slice(1)],
      "page",
    ],
    "a refusal": [() => new Response("<html>", { status: 403 }), "refused"],
    "an outage": [() => new Response("{}", { status: 503 }), "status"],
  };
for (const [name, [fault, kind]] of Object.entries(FAULTS)) {
  Deno.test(`a dataset that fails does not stop the others, and the next run fetches it: ${name}`, async () => {
    const [service, folder] = [new MirroredService(60, 5), new MemoryFolder()];
    service.onRows = (doi, rows) => doi === BB ? fault(rows) : rows;
    const { outcomes, datasets } = await run(service, folder);
    const others = { aa00: "fetched", cc00: "fetched", dd00: "fetched", ee00: "fetched" };
    assertEquals(outcomes, { ...others, bb00: "failed" });
    const { error } = datasets.find(({ doi }) => doi === BB)!;
    assert(error instanceof DataStreamError);
    assertEquals(error.kind, kind);
    service.onRows = (_, rows) => rows;
    assertEquals((await run(service, folder)).outcomes.bb00, "fetched");
    assertEquals(await idsIn(folder), await idsOf(service));
  });
}

Deno.test("a new field of one dataset becomes a column of its file, and of a Delta table", async () => {
  const [service, folder] = [new MirroredService(60, 5), new MemoryFolder()];
  service.onRows = (doi, rows) => doi === BB ? rows.map((row) => ({ ...row, Novelty: "x" })) : rows;
  await run(service, folder, { format: "delta" });
  const log = folder.text("observations/_delta_log/00000000000000000000.json").split("\n");
  const { schemaString } = JSON.parse(log.find((line) => line.includes("metaData"))!).metaData;
  const types = JSON.parse(schemaString).fields.map((
    { name, type }: Record<string, string>,
  ) => [name, type]);
  assertEquals([types[0], types.at(-1)], [["Id", "long"], ["Novelty", "string"]]);
});

Deno.test("after three failures in a row no further dataset is tried, and those that are complete are listed", async () => {
  const [service, folder] = [new MirroredService(60, 5), new MemoryFolder()];
  service.onRows = (doi, rows) => doi === AA ? rows : new Response("{}", { status: 503 });
  const { outcomes, sent } = await run(service, folder);
  const failed = { bb00: "failed", cc00: "failed", dd00: "failed", ee00: "waiting" };
  assertEquals(outcomes, { aa00: "fetched", ...failed });
  assert(!sent.some((request) => request.includes("ee00")));
});

Deno.test("a folder of another query, or with other columns, is refused until all of it is fetched again", async () => {
  const [service, folder] = [new MirroredService(60, 5), new MemoryFolder()];
  await run(service, folder, { filter: `DOI in ('${AA}','https://doi.org/${BB.toUpperCase()}')` });
  const same = {
    filter: `DOI in ('${BB}','${AA}')`,
    incomplete: "warn",
    invalidValues: "null",
  } as const;
  assertEquals((await run(service, folder, same)).sent, ["Metadata"]);
  const other = { ...same, tidy: true };
  const refused = () => run(service, folder, other);
  await assertRejects(refused, Error, "another query (tidy was not given, is true)");
  const text = folder.text("datapackage.json");
  folder.files.set(
    "datapackage.json",
    new TextEncoder().encode(text.replaceAll('"LocationId"', '"Site"')),
  );
  await assertRejects(() => run(service, folder, same), Error, "the column LocationId is new");
  const { outcomes } = await run(service, folder, other, { force: true });
  assertEquals(outcomes, { aa00: "fetched", bb00: "fetched" });
  const newer = text.replace('"mirror": 1', '"mirror": 2');
  folder.files.set("datapackage.json", new TextEncoder().encode(newer));
  await assertRejects(() => run(service, folder, same), Error, "has version 2 of the schema");
});

Deno.test("a folder that is made again with another query has no file of the query before", async () => {
  const [service, folder] = [new MirroredService(60, 5), new MemoryFolder()];
  for (
    const [format, extension] of [["delta", ".parquet"], ["csv", ".csv"], ["delta", ".parquet"]]
  ) {
    const query = { format: format as "csv" | "delta", filter: `DOI in ('${AA}','${BB}')` };
    await run(service, folder, query, { force: true });
    const names = folder.names.filter((path) => path.includes("/") && !path.includes("_delta_log"));
    assert(names.every((path) => path.endsWith(extension)), names.join());
    assertEquals(folder.names.some((path) => path.includes("_delta_log")), format === "delta");
    assertEquals(names.length, 4, names.join());
  }
  // A dataset that fails then is not in the mirror, also if a run with the query before had its files complete.
  service.onRows = (doi, rows) => doi === BB ? new Response("", { status: 404 }) : rows;
  const other = { filter: `DOI in ('${AA}','${BB}')`, tidy: true };
  assertEquals((await run(service, folder, other, { force: true })).outcomes.bb00, "failed");
  assertEquals(folder.names.filter((path) => path.includes("bb00")), []);
  service.onRows = (_, rows) => rows;
  const { sent } = await run(service, folder, other);
  assertEquals(sent, ["Metadata", "count", "Observations bb00", "Locations bb00", "Metadata bb00"]);
});

Deno.test("an invalid query sends nothing and changes nothing", async () => {
  const [service, folder] = [new MirroredService(60, 5), new MemoryFolder()];
  await assertRejects(() => run(service, folder, { filter: "Novelty eq 1" }), ValidationError);
  const csv = { format: "csv", invalidValues: "null" } as const;
  await assertRejects(
    () => run(service, folder, csv),
    ValidationError,
    "applies to Parquet and Excel only",
  );
  assertEquals([service.requests, folder.files.size], [[], 0]);
});

Deno.test("a check says what a run would fetch, and changes nothing", async () => {
  const [service, folder] = [new MirroredService(60, 5), new MemoryFolder()];
  const { rows, outcomes, sent } = await run(service, folder, {}, { isCheck: true });
  assertEquals([rows, outcomes.aa00, sent], [60, "fetched", ["Metadata", "count"]]);
  assertEquals(folder.files.size, 0);
});

Deno.test("a disk without room is named before rows are requested", async () => {
  const [service, folder] = [new MirroredService(500, 5), new MemoryFolder()];
  folder.free = 10_000;
  await assertRejects(() => run(service, folder), Error, "The disk has room for 0.0 MB");
  assertEquals(service.requests, ["Metadata", "count"]);
});

Deno.test("after the given time, no other dataset is begun", async () => {
  const [service, folder] = [new MirroredService(60, 5), new MemoryFolder()];
  service.onRows = (_, rows) => {
    service.now += 60_000;
    return rows;
  };
  const { outcomes } = await run(service, folder, {}, { until: NOW + 90_000 });
  const waiting = { cc00: "waiting", dd00: "waiting", ee00: "waiting" };
  assertEquals(outcomes, { aa00: "fetched", bb00: "fetched", ...waiting });
});

Deno.test("two runs do not write one folder, and a run that failed releases it", async () => {
  const [service, folder] = [new MirroredService(60, 5), new MemoryFolder()];
  const first = run(service, folder);
  await assertRejects(() => run(service, folder), Error, "written by another run");
  await first;
  service.edit = () => {
    throw new Error("bug");
  };
  await assertRejects(() => run(service, folder));
  assert(!folder.isLocked);
});

Deno.test("a file that another program holds open is replaced by the next run, without another download", async () => {
  const [service, folder] = [new MirroredService(60, 5), new MemoryFolder()];
  await run(service, folder);
  service.publish(BB, "2.0.0", PUBLISHED);
  const { move } = folder;
  folder.move = (from, to) =>
    to.includes("bb00")
      ? Promise.reject(Object.assign(new Error("busy"), { code: "EBUSY" }))
      : move(from, to);
  assertEquals((await run(service, folder)).outcomes.bb00, "failed");
  folder.move = move;
  const { outcomes, sent } = await run(service, folder);
  assertEquals([outcomes.bb00, sent], ["fetched", ["Metadata", "Metadata bb00"]]);
});

Deno.test("a Delta table keeps the files of older versions for a time", async () => {
  const [service, folder] = [new MirroredService(60, 5), new MemoryFolder()];
  const query = { format: "delta" } as const;
  const options = { keep: 3_600_000 };
  const filesOfBB = () => folder.names.filter((path) => path.startsWith(FILE_BB)).length;
  await run(service, folder, query, options);
  service.publish(BB, "2.0.0", PUBLISHED);
  await run(service, folder, query, options);
  assertEquals(filesOfBB(), 2);
  service.now += 3_600_001;
  service.publish(AA, "2.0.0", new Date(service.now - 3_600_000).toISOString());
  await run(service, folder, query, options);
  assertEquals(filesOfBB(), 1);
  assertEquals(await idsIn(folder), await idsOf(service));
});

Deno.test("datasets whose DOIs differ only in case have files of their own", async () => {
  const [service, folder] = [new MirroredService(60, 5), new MemoryFolder()];
  service.edit = (rows) => [...rows, { ...rows[0]!, Id: "~", DOI: AA.toUpperCase() }];
  await run(service, folder);
  const names = folder.names.filter((path) => path.startsWith(FILE_AA));
  assertEquals(names, [`${FILE_AA}-2.parquet`, `${FILE_AA}.parquet`]);
});

Deno.test("Records have their locations in each row, and no files of locations", async () => {
  const [service, folder] = [new MirroredService(60, 5), new MemoryFolder()];
  const { sent } = await run(service, folder, { resource: "Records", tidy: true });
  assert(sent.includes("Records bb00") && !sent.includes("Locations bb00"));
  assertEquals(await idsIn(folder, "records"), await idsOf(service));
});

Deno.test("texts of the service are escaped in the feed", async () => {
  const [service, folder] = [new MirroredService(60, 5), new MemoryFolder()];
  service.edit = (rows) => rows.map((row) => ({ ...row, Version: '<1&"\u0001' }));
  await run(service, folder);
  assert(folder.text("changes.atom").includes("version &#60;1&#38;&#34; </title>"));
});
