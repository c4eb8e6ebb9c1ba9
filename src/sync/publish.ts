// Gives complete files their names, and lists them in the manifest, which comes last.
import { createHash } from "node:crypto";
import { concatBytes, utf8Encoder } from "../bytes.ts";
import { requestDatasetVersions } from "../client/dataset_versions.ts";
import { citationsText, toCitation } from "../formats/citations.ts";
import { createWriter, FORMATS } from "../formats/formats.ts";
import { loadFormat } from "../formats/load_format.ts";
import { writePage } from "../formats/page_writer.ts";
import { formatClauses, listClauses } from "../odata/clause.ts";
import { addChanges, type Change } from "./changes.ts";
import { commitTable, removeLog, removeOldFiles } from "./delta.ts";
import { DATA_FOLDERS } from "./folder.ts";
import {
  formatManifest,
  listedFiles,
  MANIFEST,
  type Mirror,
  type Mirrored,
  type MirrorFile,
  rowsIn,
  versionOf,
} from "./manifest.ts";
import type { Finish } from "./options.ts";
import { isSameVersion, type PlannedDataset } from "./plan.ts";
import { recordPath, stagedPath } from "./records.ts";
import type { Run } from "./run.ts";

/** A dataset whose files are complete. */
export interface StagedDataset {
  planned: PlannedDataset;
  mirrored: Mirrored;
}

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
    if (before !== undefined && isSameVersion(before.row, mirrored.row)) continue;
    changes.push(changeOf(mirrored, now, before && rowsIn(before)));
  }
  if (current.length > 0) await writeTables(run, mirror, changes, replaced, now);
  for (const { planned, mirrored } of current) {
    const isListed = mirror.datasets.get(planned.doi) === mirrored;
    if (isListed) finish(planned, "fetched", { rows: rowsIn(mirrored) });
  }
  for (const one of staged) {
    if (!current.includes(one)) finish(one.planned, "waiting");
  }
}

/** Lists that datasets are gone, or are back, and removes the files of those that are gone if that is wanted. */
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
  let isMarked = false;
  for (const { doi, step, mirrored } of datasets) {
    const isGone = step === "gone";
    if (mirrored === undefined || !isGone && step !== "keep") continue;
    if (isGone === (mirrored.goneSince !== undefined)) continue;
    isMarked = true;
    mirror.datasets.set(doi, { ...mirrored, goneSince: isGone ? now.toISOString() : undefined });
  }
  for (const { doi } of removed) mirror.datasets.delete(doi);
  if (isMarked || removed.length > 0 || mirror.tables.length === 0) {
    const changes = removed.map(({ mirrored }) =>
      changeOf({ ...mirrored!, files: [] }, now, rowsIn(mirrored!))
    );
    const files = removed.flatMap(({ mirrored }) => mirrored!.files);
    await writeTables(run, mirror, changes, files, now);
  }
  for (const planned of gone) {
    if (removeMissing) await folder.remove(recordPath(planned.mirrored!.name));
    if (removeMissing) finish(planned, "removed", { rows: undefined });
    else finish(planned, "gone");
  }
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
  const waiting = await folder.list(staged.slice(0, staged.lastIndexOf("/")));
  if (waiting.some((file) => file.path === staged)) await folder.move(staged, path);
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
  const datasets = [...mirror.datasets.values()];
  const rows = datasets.map(({ row }) => row);
  const write = (path: string, text: string) => {
    run.checkLock();
    return folder.write(path, [utf8Encoder.encode(text)]);
  };
  mirror.tables = [await writeDatasets(run, rows)];
  const listed = new Set(listedFiles(mirror).map(({ path }) => path));
  const old = [...replaced, ...mirror.stale ?? []].filter(({ path }) => !listed.has(path));
  if (run.format === "delta") await commitTables(run, datasets, old, now);
  await write("CITATIONS.txt", citationsText(rows.map(toCitation)));
  await addChanges(folder, changes, write);
  await write(MANIFEST, formatManifest(mirror, now));
  if (run.format === "delta") return;
  for (const { path } of old) await folder.remove(path);
  for (const name of DATA_FOLDERS) await removeLog(folder, name);
}

async function commitTables(
  { folder, options }: Run,
  datasets: readonly Mirrored[],
  old: readonly MirrorFile[],
  now: Date,
): Promise<void> {
  const files = datasets.flatMap(({ files }) => files);
  for (const table of new Set([...files, ...old].map(folderOf))) {
    const ofTable = (list: readonly MirrorFile[]) => list.filter((one) => folderOf(one) === table);
    if (table === "") continue;
    await commitTable(folder, table, ofTable(files), now);
    await removeOldFiles(folder, table, now.getTime() - (options.keep ?? KEEP), ofTable(old));
  }
}

/** Time (ms) for which a Delta table keeps files of older versions, by default: 7 days. */
const KEEP = 604_800_000;

function folderOf({ path }: MirrorFile): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** Writes the table of all datasets. */
async function writeDatasets(
  { folder, fileFormat }: Run,
  rows: readonly Mirrored["row"][],
): Promise<MirrorFile> {
  const format = await loadFormat(fileFormat, {
    invalidValues: undefined,
    url: "",
    describe: () => "{}",
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
