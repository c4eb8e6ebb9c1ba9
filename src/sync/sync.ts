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
import { DataStreamError } from "../errors.ts";
import { FileError } from "../files/output.ts";
import { MAXIMUM_TOP } from "../odata/resources.ts";
import { loadFormat } from "../formats/load_format.ts";
import { fetchDataset } from "./dataset.ts";
import { DATA_FOLDERS, type Folder } from "./folder.ts";
import {
  type DatasetRow,
  describeDifference,
  listedFiles,
  type Mirror,
  readManifest,
  rowsIn,
  versionOf,
} from "./manifest.ts";
import type {
  Finish,
  Outcome,
  SyncedDataset,
  SyncEvent,
  SyncOptions,
  SyncQuery,
  SyncReport,
} from "./options.ts";
import { planDatasets, type PlannedDataset } from "./plan.ts";
import { publish, settleGone, type StagedDataset } from "./publish.ts";
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
/** Datasets in a row that can fail before the others are not tried. */
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
 * @throws {ValidationError} If an option of the query is invalid
 * @throws {FileError} If another run writes the folder, it is of another query, or the disk is too small
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
  const { fileFormat, invalidValues } = run;
  // Rejects an option that the format does not have.
  await loadFormat(fileFormat, { invalidValues, url: "", describe: () => "" });
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
  for (const name of DATA_FOLDERS) {
    for (const { path, bytes } of await folder.list(name)) sizes.set(path, bytes);
  }
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
  if (found === undefined) return await rebuildMirror(folder, mirrorQuery);
  const difference = describeDifference(found, mirrorQuery);
  if (difference === undefined) return found;
  if (options.force) {
    return { ...found, datasets: new Map(), tables: [], stale: listedFiles(found) };
  }
  throw new FileError(
    `The folder is a mirror of another query (${difference}): choose another folder, or set ` +
      "force to fetch all of it again",
  );
}

/** What a run would do. */
async function check(run: Run): Promise<SyncReport> {
  const { datasets, rows } = await makePlan(run);
  const outcomes = { keep: "unchanged", fetch: "fetched", wait: "waiting", gone: "gone" } as const;
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
async function update(run: Run & { checkLock: () => void }): Promise<SyncReport> {
  const { options } = run;
  const { mirror, datasets, rows } = await makePlan(run);
  await requireRoom(run, mirror, rows);
  const done = new Map<string, SyncedDataset>();
  const fetched = datasets.filter(({ step }) => step === "fetch");
  const state = { datasets: 0, allDatasets: fetched.length, rows: 0, allRows: rows };
  const finish: Finish = (planned, outcome, facts) => {
    const dataset = describe(planned, outcome, facts);
    done.set(planned.doi, dataset);
    if (planned.step === "fetch") state.datasets++;
    options.onEvent?.({ ...state, dataset });
  };
  for (const planned of datasets) {
    if (planned.step === "keep") finish(planned, "unchanged");
    if (planned.step === "wait") finish(planned, "waiting");
  }
  let error: unknown;
  requireSomeLeft(run, datasets);
  try {
    for await (const staged of fetchDatasets(run, mirror, fetched, state, finish)) {
      await publish(run, mirror, staged, finish);
    }
  } catch (thrown) {
    // Datasets that are complete stay, and the next run names them.
    if (!(thrown instanceof DataStreamError) || options.signal?.aborted) throw thrown;
    error = thrown;
  }
  await settleGone(run, mirror, datasets, finish);
  for (const planned of datasets) {
    if (!done.has(planned.doi)) finish(planned, "failed", { error });
  }
  const described = datasets.map(({ doi }) => done.get(doi)!);
  return { datasets: described, rows, requests: estimateRequests(run, datasets, rows) };
}

/** Fetches datasets, and returns them in groups whose versions are compared in one request. */
async function* fetchDatasets(
  run: Run,
  mirror: Mirror,
  fetched: readonly PlannedDataset[],
  state: Pick<SyncEvent, "datasets" | "allDatasets" | "allRows"> & { rows: number },
  finish: Finish,
): AsyncGenerator<readonly StagedDataset[]> {
  const { options } = run;
  const names = new Map([...mirror.datasets].map(([doi, { name }]) => [name, doi]));
  let staged: StagedDataset[] = [];
  let failures = 0;
  for (const planned of fetched) {
    options.signal?.throwIfAborted();
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
      staged.push({ planned, mirrored });
      failures = 0;
    } catch (error) {
      if (!(error instanceof DataStreamError) || options.signal?.aborted) throw error;
      state.rows = before;
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

/** Throws if the disk has no room for the rows to fetch. Replaced files stay until the new ones are complete. */
async function requireRoom(
  { folder, fileFormat }: Run,
  { datasets }: Mirror,
  rows: number,
): Promise<void> {
  const files = [...datasets.values()].flatMap(({ files: [first] }) => first ?? []);
  const sum = (of: "rows" | "bytes") => files.reduce((sum, file) => sum + file[of], 0);
  const rowBytes = sum("rows") < MEASURED_ROWS ? ROW_BYTES[fileFormat] : sum("bytes") / sum("rows");
  const needed = Math.ceil(rows * rowBytes);
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

/** Throws if a run would remove all datasets, which rather is a fault of the service. */
function requireSomeLeft(
  { options: { removeMissing, force } }: Run,
  datasets: readonly PlannedDataset[],
): void {
  const gone = datasets.filter(({ step }) => step === "gone");
  if (!removeMissing || force || gone.length < datasets.length || gone.length === 0) return;
  throw new FileError(
    `DataStream has none of the ${gone.length} datasets of the mirror any more: to remove all of ` +
      "them, set force too",
  );
}
