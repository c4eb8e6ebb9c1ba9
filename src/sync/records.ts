// Records of complete files, one per dataset, written before the files get their names. After a run that was killed, the
// next one finishes from them; after a lost manifest, it makes a new one.
import { createHash } from "node:crypto";
import { concatBytes } from "../bytes.ts";
import { FORMATS } from "../formats/formats.ts";
import { isObject } from "../validation.ts";
import { liveFiles } from "./delta.ts";
import { DATA_FOLDERS, type Folder, PRIVATE } from "./folder.ts";
import { isSameVersion } from "./plan.ts";
import type { PackageField } from "../formats/data_package.ts";
import {
  digestOf,
  type Mirror,
  type Mirrored,
  type MirrorFile,
  type MirrorQuery,
  readText,
} from "./manifest.ts";

/** Returns the path at which a file waits until the versions of its dataset are compared. */
export function stagedPath(path: string): string {
  return `${PRIVATE}/staged/${path}`;
}

export function recordPath(name: string): string {
  return `${RECORDS}/${name}.json`;
}

const RECORDS = `${PRIVATE}/datasets`;

/**
 * Returns the name of the files of a dataset, without extension: the DOI with `-` for `/`.
 *
 * @param names DOIs by the names that are taken
 */
export function nameOf(doi: string, names: ReadonlyMap<string, string>): string {
  // Some disks ignore case.
  const name = doi.toLowerCase().replace(/[^a-z0-9._-]+/g, "-").replace(/^\.+/, "");
  for (let number = 1;; number++) {
    const candidate = number === 1 ? name : `${name}-${number}`;
    if ((names.get(candidate) ?? doi) === doi) return candidate;
  }
}

/** Returns the record of a dataset, and whether it is of this query; `undefined` if there is none. */
async function readAnyRecord(
  folder: Folder,
  name: string,
  query: MirrorQuery,
): Promise<{ record: Mirrored; isOfQuery: boolean } | undefined> {
  try {
    const found = JSON.parse(await readText(folder, recordPath(name)) ?? "null");
    const { digest, ...record } = found;
    return isObject(record.row) ? { record, isOfQuery: digest === digestOf(query) } : undefined;
  } catch {
    return undefined; // damaged
  }
}

/** Returns the record of a dataset; `undefined` if there is none, or it is of another query. */
export async function readRecord(
  folder: Folder,
  name: string,
  query: MirrorQuery,
): Promise<Mirrored | undefined> {
  const found = await readAnyRecord(folder, name, query);
  return found?.isOfQuery ? found.record : undefined;
}

/**
 * Makes the mirror of a folder without a manifest: from the records, else from the packages in Parquet files. A dataset
 * counts if all of its files are there, with their names. All other files are stale.
 *
 * @returns The mirror, and whether a file is of another query
 */
export async function rebuildMirror(
  folder: Folder,
  query: MirrorQuery,
): Promise<{ mirror: Mirror; isOther: boolean }> {
  const paths = await pathsThatCount(folder);
  const datasets = new Map<string, Mirrored>();
  let isOther = false;
  for (const { path } of await folder.list(RECORDS)) {
    const name = path.slice(RECORDS.length + 1, -".json".length);
    const { record, isOfQuery } = await readAnyRecord(folder, name, query) ?? {};
    if (record === undefined) continue;
    const isThere = record.files.every(({ path, bytes }) => paths.get(path) === bytes);
    if (isThere && isOfQuery) datasets.set(record.row.DOI, record);
    else isOther ||= isThere;
  }
  const pathsOf = () =>
    new Set([...datasets.values()].flatMap(({ files }) => files.map(({ path }) => path)));
  const known = pathsOf();
  const found = new Map<string, Mirrored[]>();
  for (const path of paths.keys()) {
    const one = known.has(path) ? undefined : await readPackage(folder, path);
    if (one === undefined) continue;
    if (one.digest !== digestOf(query)) isOther = true;
    else found.set(one.row.DOI, [...found.get(one.row.DOI) ?? [], one]);
  }
  const folders = query.query.resource === "Records" ? ["records"] : ["observations", "locations"];
  for (const [doi, parts] of found) {
    const files = parts.flatMap(({ files }) => files);
    const isWhole = folders.every((name, index) => files[index]?.path.startsWith(`${name}/`)) &&
      parts.every(({ row }) => isSameVersion(row, parts[0]!.row));
    const { name, row } = parts[0]!;
    if (isWhole && !datasets.has(doi)) datasets.set(doi, { name, row, files });
  }
  const counted = pathsOf();
  const stale = [...paths.keys()].filter((path) => !counted.has(path));
  const mirror = { ...query, datasets, tables: [], stale, found: [...datasets.values()] };
  return { mirror, isOther };
}

/** Returns the sizes of the files of the datasets, by path: of a Delta table only those of its last version. */
async function pathsThatCount(folder: Folder): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for (const name of DATA_FOLDERS) {
    const live = await liveFiles(folder, name);
    for (const { path, bytes } of await folder.list(name)) {
      if (live?.has(path) ?? true) sizes.set(path, bytes);
    }
  }
  return sizes;
}

/** Bytes at the end of a file that contain its metadata. */
const FOOTER = 1 << 23;

/** Reads the package that a Parquet file of a mirror contains; `undefined` if it has none. */
async function readPackage(
  folder: Folder,
  path: string,
): Promise<Mirrored & { digest: string } | undefined> {
  if (!path.endsWith(".parquet")) return undefined;
  const { parquetMetadata } = await import("hyparquet");
  const hash = createHash("sha256");
  const tail: Uint8Array[] = [];
  let [bytes, tailBytes] = [0, 0];
  for await (const chunk of await folder.read(path) ?? []) {
    hash.update(chunk);
    bytes += chunk.length;
    tail.push(chunk);
    tailBytes += chunk.length;
    while (tailBytes - tail[0]!.length >= FOOTER) tailBytes -= tail.shift()!.length;
  }
  try {
    const { key_value_metadata = [] } = parquetMetadata(concatBytes(tail).buffer);
    const text = key_value_metadata.find(({ key }) => key === "datapackage")?.value;
    const { resources: [resource], weir: { mirrored: { name, row, digest } } } = JSON.parse(text!);
    const [folderName] = path.split("/");
    const file: MirrorFile = {
      ...resource,
      name: `${folderName}-${name}`,
      path,
      mediatype: FORMATS.parquet.mediaType,
      schema: { fields: resource.schema.fields.map(typeOfColumn) },
      bytes,
      hash: `sha256:${hash.digest("hex")}`,
      dataset: row.DOI,
    };
    return { digest, name, row, files: [file] };
  } catch {
    return undefined; // damaged, or not of a mirror
  }
}

/** Without the meaning of the column, which the Parquet file has. */
export function typeOfColumn({ name, type }: PackageField): PackageField {
  return { name, type };
}
