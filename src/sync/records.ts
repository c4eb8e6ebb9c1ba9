// What the newest complete files of a dataset are. A record is written before the files get their names: with it, a run
// that follows one that was killed names them, and makes a manifest again that was lost.
import { createHash } from "node:crypto";
import { concatBytes } from "../bytes.ts";
import { FORMATS } from "../formats/formats.ts";
import { isObject } from "../validation.ts";
import { type Folder, PRIVATE } from "./folder.ts";
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

/** Returns the record of a dataset; `undefined` if there is none, or it is of another query. */
export async function readRecord(
  folder: Folder,
  name: string,
  query: MirrorQuery,
): Promise<Mirrored | undefined> {
  try {
    const found = JSON.parse(await readText(folder, recordPath(name)) ?? "null");
    const { digest, ...record } = found;
    return digest === digestOf(query) && isObject(record.row) ? record : undefined;
  } catch {
    return undefined; // damaged
  }
}

/** Makes a mirror without its manifest: from the records, else from the packages in Parquet files. */
export async function rebuildMirror(folder: Folder, query: MirrorQuery): Promise<Mirror> {
  const datasets = new Map<string, Mirrored>();
  for (const { path } of await folder.list(RECORDS)) {
    const name = path.slice(RECORDS.length + 1, -".json".length);
    const record = await readRecord(folder, name, query);
    if (record !== undefined) datasets.set(record.row.DOI, record);
  }
  const known = new Set(
    [...datasets.values()].flatMap(({ files }) => files.map(({ path }) => path)),
  );
  // The rows first.
  for (const name of [`${query.query.resource}`.toLowerCase(), "locations"]) {
    for (const { path } of await folder.list(name)) {
      const found = known.has(path) ? undefined : await readPackage(folder, path, query);
      if (found === undefined) continue;
      const { row, files = [] } = datasets.get(found.row.DOI) ?? found;
      datasets.set(row.DOI, { name: found.name, row, files: [...files, found.file] });
    }
  }
  return { ...query, datasets, tables: [] };
}

/** Bytes at the end of a file that contain its metadata. */
const FOOTER = 1 << 23;

/** Reads the package that a Parquet file of a mirror contains; `undefined` if it has none. */
async function readPackage(
  folder: Folder,
  path: string,
  query: MirrorQuery,
): Promise<Pick<Mirrored, "name" | "row"> & { file: MirrorFile; files?: undefined } | undefined> {
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
    if (digest !== digestOf(query)) return undefined;
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
    return { name, row, file };
  } catch {
    return undefined; // damaged, or not of a mirror
  }
}

/** Without the meaning of the column, which the Parquet file has. */
export function typeOfColumn({ name, type }: PackageField): PackageField {
  return { name, type };
}
