/**
 * A mirror: a folder with a copy of datasets that stays current, for engines such as DuckDB, pandas and Spark. This entry
 * point is apart from the main one, because it needs a file system.
 *
 * ## Use
 *
 * ```ts ignore
 * import { DataStream } from "@weir/datastream";
 * import { openFolder, sync } from "@weir/datastream/sync";
 *
 * const client = new DataStream({ apiKey: "YOUR-KEY" });
 * const { datasets } = await sync(client, { filter: "RegionId eq 'admin.4.ca.pe'" }, openFolder("mirror"));
 * console.log(datasets.filter(({ outcome }) => outcome === "fetched").length, "datasets were fetched");
 * ```
 *
 * The next call requests only the datasets with new versions: one request if there are none.
 *
 * ## Runtimes
 *
 * Node, Deno and Bun. With another {@linkcode Folder}, its own storage.
 *
 * The page `docs/mirror.md` in the repository describes the files.
 *
 * @module
 */
import type { DataStream } from "../client/datastream.ts";
import { DataStreamError, ValidationError } from "../errors.ts";
import { FileError } from "../files/output.ts";
import { MAXIMUM_TOP } from "../odata/resources.ts";
import { loadFormat } from "../formats/load_format.ts";
import { FEED } from "./changes.ts";
import { fetchDataset } from "./dataset.ts";
import { liveFiles } from "./delta.ts";
import { DATA_FOLDERS, type Folder } from "./folder.ts";
import {
  CITATIONS,
  type DatasetRow,
  describeDifference,
  listedFiles,
  type Mirror,
  readManifest,
  rowsIn,
  versionOf,
} from "./manifest.ts";
import type { Outcome, SyncedDataset, SyncOptions, SyncQuery, SyncReport } from "./options.ts";
import { planDatasets, type PlannedDataset } from "./plan.ts";
import { type Finish, type LockedRun, publish, settleGone, type StagedDataset } from "./publish.ts";
import { rebuildMirror } from "./records.ts";
import { createRun, type Run } from "./run.ts";

export { type Folder, type FolderFile, openFolder } from "./folder.ts";
export type {
  Outcome,
  SyncedDataset,
  SyncEvent,
  SyncOptions,
  SyncQuery,
  SyncReport,
} from "./options.ts";

/** Number of rows of complete datasets whose versions are compared in one request. */
const CHECKED_ROWS = 200_000;
/** Number of datasets that may fail one after another. After that, the others wait for the next run. */
const MAX_FAILURES = 3;
/** Bytes of a row, if the mirror has too few rows to measure. */
const ROW_BYTES = { parquet: 40, csv: 400 };
const MEASURED_ROWS = 100_000;

/**
 * Brings a folder up to date: requests the datasets that match the query, and then only those with another version.
 *
 * A dataset is one file of rows and, of Observations, one of locations. Each file is wholly old or wholly new for its
 * readers at every moment. After a run that was killed, the next one completes what is missing.
 *
 * @param client Client of the service
 * @param query Filter, columns and format; another query needs another folder
 * @param folder Folder of the file system, or another storage
 * @param options What to remove, when to stop, progress
 * @returns What happened to each dataset. One that failed is in it, with its error
 * @throws {DataStreamError} If the datasets cannot be requested
 * @throws {ValidationError} If an option is invalid, or files of another query would be replaced, or all removed
 * @throws {FileError} If another run writes the folder, or the disk is too small
 *
 * @example
 * ```ts ignore
 * import { DataStream, eq } from "@weir/datastream";
 * import { openFolder, sync } from "@weir/datastream/sync";
 *
 * const query = { filter: eq("CharacteristicName", "pH"), tidy: true };
 * const report = await sync(new DataStream({ apiKey: "YOUR-KEY" }), query, openFolder("mirror"));
 * for (const { doi, outcome, rows } of report.datasets) console.log(doi, outcome, rows);
 * ```
 */
export async function sync(
  client: DataStream,
  query: SyncQuery,
  folder: Folder,
  options: SyncOptions = {},
): Promise<SyncReport> {
  const run = createRun(client, query, folder, options);
  const { fileFormat, allowInvalid } = run;
  // Rejects an option that the format does not have.
  await loadFormat(fileFormat, { allowInvalid, url: "" });
  if (options.isCheck) return await check(run);
  const { check: checkLock, release } = await folder.lock();
  try {
    return await update({ ...run, checkLock });
  } finally {
    await release();
  }
}

/** What a run does with each dataset. */
interface Plan {
  mirror: Mirror;
  datasets: PlannedDataset[];
  /** Number of rows to fetch: of new datasets what the service counts, else what the mirror has. */
  rows: number;
}

async function makePlan(run: Run): Promise<Plan> {
  const { client, folder, options, mirrorQuery } = run;
  const mirror = await readMirror(run);
  let now = run.now();
  const rows = await client.query("Metadata", {
    filter: run.metadataFilter,
    top: MAXIMUM_TOP,
    signal: options.signal,
    onProgress: ({ responseDate }) => void (now = responseDate ?? now),
  }).toArray() as DatasetRow[];
  const sizes = new Map<string, number>();
  for (const name of ["", ...DATA_FOLDERS]) {
    for (const { path, bytes } of await folder.list(name)) sizes.set(path, bytes);
  }
  if (!await isDescribed(run, mirror, sizes)) mirror.tables = [];
  const datasets = planDatasets(mirror.datasets, rows, sizes, now, options.force === true);
  const fetched = datasets.filter(({ step }) => step === "fetch");
  const isNew = fetched.some(({ mirrored }) => mirrored === undefined);
  return {
    mirror: { ...mirror, ...mirrorQuery },
    datasets,
    rows: isNew || options.isCheck && fetched.length > 0
      ? await countRows(
        run,
        fetched.length === datasets.length ? [] : fetched.map(({ doi }) => doi),
      )
      : fetched.reduce((sum, { mirrored }) => sum + rowsIn(mirrored!), 0),
  };
}

/** Whether what describes the files is there: the table of datasets, citations, feed and logs. */
async function isDescribed(
  { folder, format }: Run,
  mirror: Mirror,
  sizes: ReadonlyMap<string, number>,
): Promise<boolean> {
  const isThere = mirror.tables.every(({ path, bytes }) => sizes.get(path) === bytes) &&
    [CITATIONS, FEED].every((path) => sizes.has(path));
  if (!isThere || format !== "delta") return isThere;
  const listed = listedFiles(mirror).map(({ path }) => path).filter((path) => path.includes("/"));
  const live = new Set<string>();
  for (const name of DATA_FOLDERS) {
    for (const path of await liveFiles(folder, name) ?? []) live.add(path);
  }
  return listed.length === live.size && listed.every((path) => live.has(path));
}

/** Returns 0 if the service refuses to count: the number is for the disk and the progress only. */
async function countRows(run: Run, dois: readonly string[]): Promise<number> {
  try {
    return await run.rowsOf(dois).count();
  } catch (error) {
    if (error instanceof DataStreamError && error.kind === "status" && !error.isTemporary) return 0;
    throw error;
  }
}

/** Reads the manifest, or makes it again from the files. */
async function readMirror({ folder, mirrorQuery, options }: Run): Promise<Mirror> {
  const found = await readManifest(folder);
  const { mirror, isOther } = found === undefined
    ? await rebuildMirror(folder, mirrorQuery)
    : { mirror: found, isOther: false };
  const difference = isOther
    ? "of a run before, whose manifest is lost"
    : describeDifference(mirror, mirrorQuery);
  if (difference === undefined) return mirror;
  if (options.force) {
    const stale = [...mirror.stale, ...listedFiles(mirror).map(({ path }) => path)];
    return { ...mirror, datasets: new Map(), tables: [], stale, found: [] };
  }
  throw new ValidationError("force", `is needed for files of another query (${difference})`, {
    received: options.force,
    hint: "choose another folder, or fetch all datasets again with {force}",
  });
}

/** What a run would do. */
async function check(run: Run): Promise<SyncReport> {
  const { mirror, datasets, rows } = await makePlan(run);
  requireSomeLeft(run, mirror, datasets);
  const outcomes = {
    keep: "unchanged",
    fetch: "fetched",
    wait: "waiting",
    gone: run.options.removeMissing ? "removed" : "gone",
  } as const;
  const described = datasets.map((planned) => describe(planned, outcomes[planned.step]));
  return { datasets: described, rows, requests: estimateRequests(run, datasets, rows) };
}

function estimateRequests({ resource }: Run, datasets: readonly PlannedDataset[], rows: number) {
  const fetched = datasets.filter(({ step }) => step === "fetch").length;
  const files = resource === "Records" ? 1 : 2;
  return 1 + files * fetched + Math.floor(rows / MAXIMUM_TOP) + Math.ceil(rows / CHECKED_ROWS);
}

function describe(
  { doi, row, mirrored }: PlannedDataset,
  outcome: Outcome,
  facts: Partial<SyncedDataset> = {},
): SyncedDataset {
  const before = mirrored && rowsIn(mirrored);
  const [, version] = versionOf(row ?? mirrored!.row);
  return { doi, outcome, version, rows: before, before, ...facts };
}

/** Fetches, names and lists the datasets of a plan. */
async function update(run: LockedRun): Promise<SyncReport> {
  const { options } = run;
  const { mirror, datasets, rows } = await makePlan(run);
  await requireRoom(run, mirror, datasets, rows);
  requireSomeLeft(run, mirror, datasets);
  const done = new Map<string, SyncedDataset>();
  const fetched = datasets.filter(({ step }) => step === "fetch");
  const state = { datasets: 0, allDatasets: fetched.length, rows: 0, allRows: rows };
  const finish: Finish = (planned, outcome, facts) => {
    const dataset = describe(planned, outcome, facts);
    done.set(planned.doi, dataset);
    options.onEvent?.({ ...state, dataset });
  };
  for (const planned of datasets) {
    if (planned.step === "keep") finish(planned, "unchanged");
    if (planned.step === "wait") finish(planned, "waiting");
  }
  try {
    for await (const staged of fetchDatasets(run, mirror, fetched, state, finish)) {
      await publish(run, mirror, staged, finish);
    }
  } catch (thrown) {
    // Datasets that are complete stay, and the next run names them.
    if (!(thrown instanceof DataStreamError) || options.signal?.aborted) throw thrown;
  }
  await settleGone(run, mirror, datasets, finish);
  for (const planned of datasets) {
    if (!done.has(planned.doi)) finish(planned, "waiting");
  }
  const described = datasets.map(({ doi }) => done.get(doi)!);
  return { datasets: described, rows, requests: estimateRequests(run, datasets, rows) };
}

/** Fetches datasets, and returns them in groups whose versions are compared in one request. */
async function* fetchDatasets(
  run: LockedRun,
  mirror: Mirror,
  fetched: readonly PlannedDataset[],
  state: { datasets: number; allDatasets: number; rows: number; allRows: number },
  finish: Finish,
): AsyncGenerator<readonly StagedDataset[]> {
  const { options } = run;
  const names = new Map([...mirror.datasets].map(([doi, { name }]) => [name, doi]));
  let staged: StagedDataset[] = [];
  let failures = 0;
  for (const planned of fetched) {
    options.signal?.throwIfAborted();
    run.checkLock();
    if (run.now() >= (options.until ?? Infinity)) {
      finish(planned, "waiting");
      continue;
    }
    const before = state.rows;
    try {
      const mirrored = await fetchDataset(run, planned, names, (progress) => {
        state.rows = before + progress.rows;
        options.onEvent?.({ ...state, progress });
      });
      state.rows = before + rowsIn(mirrored);
      state.datasets++;
      staged.push({ planned, mirrored });
      failures = 0;
    } catch (error) {
      if (!(error instanceof DataStreamError) || options.signal?.aborted) throw error;
      state.rows = before;
      state.datasets++;
      finish(planned, "failed", { error });
      if (++failures < MAX_FAILURES) continue;
      if (staged.length > 0) yield staged;
      throw error;
    }
    const rows = staged.reduce((sum, { mirrored }) => sum + rowsIn(mirrored), 0);
    // A Delta table has one commit per run, so that all of its datasets are of one moment.
    if (rows < CHECKED_ROWS || run.format === "delta") continue;
    yield staged;
    staged = [];
  }
  if (staged.length > 0) yield staged;
}

/** Throws if the disk has no room for the rows to fetch. */
async function requireRoom(
  { folder, format, fileFormat }: Run,
  mirror: Mirror,
  datasets: readonly PlannedDataset[],
  rows: number,
): Promise<void> {
  const files = [...mirror.datasets.values()].flatMap(({ files: [first] }) => first ?? []);
  const sum = (of: "rows" | "bytes") => files.reduce((sum, file) => sum + file[of], 0);
  const rowBytes = sum("rows") < MEASURED_ROWS ? ROW_BYTES[fileFormat] : sum("bytes") / sum("rows");
  const old = datasets.filter(({ step }) => step === "fetch")
    .reduce((sum, { mirrored }) => sum + (mirrored ? rowsIn(mirrored) : 0), 0);
  // Files that are replaced need room for one group of datasets. A Delta table keeps the old ones.
  const oldRows = format === "delta" ? old : Math.min(old, CHECKED_ROWS);
  const needed = Math.ceil((Math.max(0, rows - old) + oldRows) * rowBytes);
  const free = await folder.freeBytes?.() ?? Infinity;
  if (needed <= free) return;
  throw new FileError(
    `The disk has room for ${megabytes(free)}, and ${rows} rows need about ${megabytes(needed)}: ` +
      "free some space, choose a folder on another disk, or filter for fewer rows",
  );
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** Throws if a run would remove all datasets of the mirror: the service may have an outage. */
function requireSomeLeft(
  { options: { removeMissing, force } }: Run,
  mirror: Mirror,
  datasets: readonly PlannedDataset[],
): void {
  const gone = datasets.filter(({ step }) => step === "gone");
  if (!removeMissing || force || gone.length < mirror.datasets.size || gone.length === 0) return;
  const problem = `is needed to remove all ${gone.length} datasets of the mirror, of which ` +
    "DataStream has none any more";
  throw new ValidationError("force", problem, {
    received: force,
    hint: "try again later, or pass {force}",
  });
}
