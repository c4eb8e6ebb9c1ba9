// Fetches the files of a dataset. They wait in the private folder until the versions are compared.
import { createHash } from "node:crypto";
import { utf8Encoder } from "../bytes.ts";
import type { Batch, Progress, Query } from "../client/query.ts";
import { toCitation } from "../formats/citations.ts";
import { embeddedPackage, toDataPackage } from "../formats/data_package.ts";
import { loadFormat } from "../formats/load_format.ts";
import type { WriterState } from "../formats/page_writer.ts";
import type { ResourceName } from "../odata/resources.ts";
import type { Folder } from "./folder.ts";
import {
  type DatasetRow,
  digestOf,
  type Mirrored,
  type MirrorFile,
  versionOf,
} from "./manifest.ts";
import { isSameVersion, type PlannedDataset } from "./plan.ts";
import { nameOf, readRecord, recordPath, stagedPath, typeOfColumn } from "./records.ts";
import type { Run } from "./run.ts";

/**
 * Fetches the files of a dataset, unless an earlier run did so.
 *
 * @param names DOIs by the names that are taken
 */
export async function fetchDataset(
  run: Run,
  { doi, row, mirrored }: PlannedDataset,
  names: Map<string, string>,
  onProgress: (progress: Progress) => void,
): Promise<Mirrored> {
  const { folder, options } = run;
  const name = mirrored?.name ?? nameOf(doi, names);
  names.set(name, doi);
  const record = await readRecord(folder, name, run.mirrorQuery);
  const isUsable = record !== undefined && record.row.DOI === doi && !options.force &&
    isSameVersion(record.row, row!) && await hasFiles(run, record.files);
  if (isUsable) return record;
  const files = [await fetchFile(run, run.resource, run.rowsOf([doi], onProgress), row!, name)];
  if (run.resource === "Observations") {
    files.push(await fetchFile(run, "Locations", run.locationsOf(doi), row!, name));
  }
  const fetched = { name, row: row!, files };
  const text = JSON.stringify({ digest: digestOf(run.mirrorQuery), ...fetched });
  await folder.write(recordPath(name), [utf8Encoder.encode(text)]);
  return fetched;
}

/** Whether each file waits, or has got its name already. */
async function hasFiles({ folder }: Run, files: readonly MirrorFile[]): Promise<boolean> {
  for (const { path, bytes } of files) {
    if ((await folder.size(stagedPath(path)) ?? await folder.size(path)) !== bytes) return false;
  }
  return true;
}

async function fetchFile(
  run: Run,
  resource: ResourceName,
  query: Query<unknown>,
  row: DatasetRow,
  name: string,
): Promise<MirrorFile> {
  const { folder, format, fileFormat } = run;
  const described = {
    resource,
    format: fileFormat,
    tidy: run.tidy && resource !== "Locations",
    url: query.url,
    citations: [toCitation(row)],
    datasets: [versionOf(row)],
  };
  const mirrored = { digest: digestOf(run.mirrorQuery), name, row };
  const loaded = await loadFormat(fileFormat, {
    allowInvalid: run.allowInvalid,
    url: query.url,
    describe: ({ notes, ...facts }) =>
      embeddedPackage({ ...described, ...facts, more: { notes, mirrored } }),
  });
  const folderName = resource.toLowerCase();
  const part = stagedPath(`${folderName}/${name}.${fileFormat}`);
  const { last, hash, bytes } = await writeRows(folder, part, query.batches({ format: loaded }));
  // Immutable names only in Delta, where the log says which files count.
  const suffix = format === "delta" ? `-${hash.slice(0, 12)}` : "";
  const path = `${folderName}/${name}${suffix}.${fileFormat}`;
  if (format === "delta") await folder.move(part, stagedPath(path));
  const { totalRows: rows, cursor, missingRows, surplusRows } = last;
  const { fields = [] } = cursor.writer as WriterState;
  const { resources: [{ schema, ...facts }] } = toDataPackage({
    ...described,
    fileName: path,
    columns: fields,
    created: new Date(run.now()),
    bytes,
    rows,
    hash: `sha256:${hash}`,
    more: {},
  });
  return {
    ...facts as MirrorFile,
    name: `${folderName}-${name}`,
    ...(missingRows + surplusRows > 0 && { missingRows, surplusRows }),
    // Meanings of the columns are in the package that the Parquet file contains.
    schema: fileFormat === "csv" ? schema : { fields: schema.fields.map(typeOfColumn) },
    dataset: row.DOI,
  };
}

/** Writes batches to a file, and returns the last one, the number of bytes, and their hash. */
async function writeRows(
  folder: Folder,
  path: string,
  batches: AsyncIterable<Batch<Uint8Array>>,
): Promise<{ last: Batch<Uint8Array>; bytes: number; hash: string }> {
  const hash = createHash("sha256");
  let bytes = 0;
  let last: Batch<Uint8Array> | undefined;
  async function* content() {
    for await (const batch of batches) {
      last = batch;
      hash.update(batch.data);
      bytes += batch.data.length;
      yield batch.data;
    }
  }
  await folder.write(path, content());
  return { last: last!, bytes, hash: hash.digest("hex") };
}
