// Gives complete files their names, and lists them in the manifest, which comes last.
import { createHash } from "node:crypto";
import { concatBytes, utf8Encoder } from "../bytes.ts";
import { requestDatasetVersions } from "../client/dataset_versions.ts";
import { citationsText, toCitation } from "../formats/citations.ts";
import { createWriter, FORMATS } from "../formats/formats.ts";
import { loadFormat } from "../formats/load_format.ts";
import { writePage } from "../formats/page_writer.ts";
import { formatClauses, listClauses } from "../odata/clause.ts";
import { MANIFEST } from "../mirror_manifest.ts";
import { addChanges, type Change } from "./changes.ts";
import { commitTable, removeOldFiles, removeTable } from "./delta.ts";
import { DATA_FOLDERS } from "./folder.ts";
import {
  CITATIONS,
  formatManifest,
  listedFiles,
  type Mirror,
  type Mirrored,
  type MirrorFile,
  rowsIn,
  versionOf,
} from "./manifest.ts";
import { DEFAULT_KEEP_DAYS, type Outcome, type SyncedDataset } from "./options.ts";
import type { PlannedDataset } from "./plan.ts";
import { recordPath, stagedPath } from "./records.ts";
import type { Run } from "./run.ts";

/** A dataset whose files are complete. */
export interface StagedDataset {
  planned: PlannedDataset;
  mirrored: Mirrored;
}

/** Reports what happened to a dataset. */
export type Finish = (
  planned: PlannedDataset,
  outcome: Outcome,
  facts?: Partial<SyncedDataset>,
) => void;

/** A run that owns the folder. */
export type LockedRun = Run & { checkLock(): void };

/** Compares the versions of staged datasets with the planned ones, names their files, and lists them. */
export async function publish(
  run: LockedRun,
  mirror: Mirror,
  staged: readonly StagedDataset[],
  finish: Finish,
): Promise<void> {
  if (staged.length === 0) return;
  const now = new Date(run.now());
  const changes: Change[] = [];
  const replaced: MirrorFile[] = [];
  const current = await withPlannedVersions(run, staged);
  for (const { planned, mirrored } of current) {
    const { doi } = planned;
    run.checkLock();
    try {
      for (const { path } of mirrored.files) await nameFile(run, path);
    } catch (error) {
      if (!isHeldOpen(error)) throw error;
      // The files stay staged for the next run.
      finish(planned, "failed", { error });
      continue;
    }
    const before = mirror.datasets.get(doi);
    replaced.push(...before?.files ?? []);
    mirror.datasets.set(doi, mirrored);
    changes.push(changeOf(mirrored, now, before && rowsIn(before)));
  }
  if (current.length > 0) await writeTables(run, mirror, changes, replaced, now);
  for (const { planned, mirrored } of current) {
    const isListed = mirror.datasets.get(planned.doi) === mirrored;
    if (isListed) finish(planned, "fetched", { rows: rowsIn(mirrored) });
  }
  for (const one of staged.filter((one) => !current.includes(one))) {
    for (const { path } of one.mirrored.files) await run.folder.remove(stagedPath(path));
    finish(one.planned, "waiting");
  }
}

/**
 * Lists that datasets are gone, or are back, and removes the files of those that are gone if that is wanted. Completes what
 * a run that was killed has not written or removed.
 */
export async function settleGone(
  run: LockedRun,
  mirror: Mirror,
  datasets: readonly PlannedDataset[],
  finish: Finish,
): Promise<void> {
  const { folder, options: { removeMissing } } = run;
  const now = new Date(run.now());
  const gone = datasets.filter(({ step }) => step === "gone");
  const removed = removeMissing ? gone : [];
  let isChanged = removed.length > 0;
  for (const { doi, step } of datasets) {
    const known = mirror.datasets.get(doi);
    const isGone = step === "gone";
    if (known === undefined || isGone === (known.goneSince !== undefined)) continue;
    isChanged = true;
    mirror.datasets.set(doi, { ...known, goneSince: isGone ? now.toISOString() : undefined });
  }
  const changes = removed.map(({ mirrored }) =>
    changeOf({ ...mirrored!, files: [] }, now, rowsIn(mirrored!))
  );
  const isUnfinished = mirror.tables.length === 0 || await hasAny(run, mirror.stale);
  for (const { doi } of removed) mirror.datasets.delete(doi);
  // A mirror of another query stays until a dataset of this one has arrived.
  if (isChanged || isUnfinished && mirror.datasets.size > 0) {
    await writeTables(
      run,
      mirror,
      changes,
      removed.flatMap(({ mirrored }) => mirrored!.files),
      now,
    );
  }
  if (run.format === "delta") await removeOldVersions(run, mirror, now);
  for (const planned of gone) {
    if (removeMissing) await folder.remove(recordPath(planned.mirrored!.name));
    if (removeMissing) finish(planned, "removed", { rows: undefined });
    else finish(planned, "gone");
  }
}

async function hasAny({ folder }: Run, paths: readonly string[]): Promise<boolean> {
  for (const path of paths) if (await folder.size(path) !== undefined) return true;
  return false;
}

function changeOf({ row, files }: Mirrored, now: Date, before: number | undefined): Change {
  const [doi, version, published] = versionOf(row);
  return { doi, version, published, rows: files[0]?.rows, before, at: now.toISOString() };
}

/** Returns the datasets that have not been published again since they were planned. */
async function withPlannedVersions(
  { client, options }: Run,
  staged: readonly StagedDataset[],
): Promise<readonly StagedDataset[]> {
  const filter = formatClauses(listClauses("DOI", staged.map(({ planned }) => planned.doi)));
  const signal = options.signal ?? new AbortController().signal;
  const now = await requestDatasetVersions(client, filter, signal);
  const texts = new Set(now.map((version) => JSON.stringify(version)));
  return staged.filter(({ mirrored }) => texts.has(JSON.stringify(versionOf(mirrored.row))));
}

/** An earlier run can have named the file. */
async function nameFile({ folder }: Run, path: string): Promise<void> {
  const staged = stagedPath(path);
  if (await folder.size(staged) !== undefined) await folder.move(staged, path);
}

/** Windows refuses to replace a file that a program has open. */
function isHeldOpen(error: unknown): boolean {
  const { code, cause } = error as { code?: string; cause?: { code?: string } };
  return ["EBUSY", "EPERM", "EACCES"].includes(code ?? cause?.code ?? "");
}

/** Writes what describes the files, the manifest last, and removes files that it does not list any more. */
async function writeTables(
  run: LockedRun,
  mirror: Mirror,
  changes: readonly Change[],
  replaced: readonly MirrorFile[],
  now: Date,
): Promise<void> {
  const { folder } = run;
  const isDelta = run.format === "delta";
  const rows = [...mirror.datasets.values()].map(({ row }) => row);
  const write = (path: string, text: string) => {
    run.checkLock();
    return folder.write(path, [utf8Encoder.encode(text)]);
  };
  run.checkLock();
  mirror.tables = [await writeDatasets(run, rows)];
  const files = listedFiles(mirror);
  const listed = new Set(files.map(({ path }) => path));
  mirror.stale = [...replaced.map(({ path }) => path), ...mirror.stale]
    // A Delta table has older versions, whose files are Parquet.
    .filter((path) => !listed.has(path) && !(isDelta && path.endsWith(".parquet")));
  for (const table of isDelta ? DATA_FOLDERS : []) {
    await commitTable(folder, table, files.filter((file) => folderOf(file) === table), now);
  }
  await write(CITATIONS, citationsText(rows.map(toCitation)));
  const found = mirror.found.map((one) => changeOf(one, now, undefined));
  await addChanges(folder, [...changes, ...found], write);
  mirror.found = [];
  await write(MANIFEST, formatManifest(mirror, now));
  for (const path of mirror.stale) await folder.remove(path);
  for (const name of isDelta ? [] : DATA_FOLDERS) await removeTable(folder, name);
}

async function removeOldVersions({ folder, options }: Run, mirror: Mirror, now: Date) {
  const { keep = DEFAULT_KEEP_DAYS * 86_400_000 } = options;
  for (const table of new Set(listedFiles(mirror).map(folderOf).filter((name) => name !== ""))) {
    await removeOldFiles(folder, table, now.getTime() - keep);
  }
}

function folderOf({ path }: MirrorFile): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** Writes the table of all datasets. */
async function writeDatasets(
  { folder, fileFormat }: Run,
  rows: readonly Mirrored["row"][],
): Promise<MirrorFile> {
  const format = await loadFormat(fileFormat, {
    // A strange date of one dataset must not stop the others. CSV has no types.
    allowInvalid: FORMATS[fileFormat].invalidValues && true,
    url: "",
  });
  const writer = createWriter(format, { resource: "Metadata" });
  const page = writePage(writer, utf8Encoder.encode(JSON.stringify({ value: rows })));
  const bytes = concatBytes([page, await writer.end()]);
  const path = `datasets.${fileFormat}`;
  await folder.write(path, [bytes]);
  return {
    profile: "data-resource",
    name: "datasets",
    path,
    title: "Datasets of the mirror",
    format: fileFormat,
    mediatype: FORMATS[fileFormat].mediaType,
    encoding: "utf-8",
    bytes: bytes.length,
    hash: `sha256:${createHash("sha256").update(bytes).digest("hex")}`,
    rows: rows.length,
  };
}
