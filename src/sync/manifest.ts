// The manifest of a mirror, `datapackage.json`: its query, and what each file is. Only what it lists counts.
import { createHash } from "node:crypto";
import { concatBytes, utf8Decoder } from "../bytes.ts";
import type { QueryRecord } from "../files/part_file.ts";
import { FileError } from "../files/output.ts";
import { type DatasetVersion, toCitation } from "../formats/citations.ts";
import { licensesOf, type PackageResource, toSource } from "../formats/data_package.ts";
import type { Row } from "../odata/resources.ts";
import { isObject } from "../validation.ts";
import { MANIFEST, MIRROR_SCHEMA } from "../mirror_manifest.ts";
import { VERSION } from "../version.ts";
import type { Folder } from "./folder.ts";

/** File of the citations that the service requires. */
export const CITATIONS = "CITATIONS.txt";

/** A file of a mirror. A Parquet file has its schema itself. */
export interface MirrorFile extends Omit<PackageResource, "schema" | "bytes" | "hash" | "rows"> {
  schema?: PackageResource["schema"];
  bytes: number;
  hash: string;
  rows: number;
  /** Numbers of rows that the service counted and did not deliver, and the other way round, which were accepted. */
  missingRows?: number;
  surplusRows?: number;
  /** DOI of its dataset; absent for the table of all datasets. */
  dataset?: string;
}

/** A dataset as Metadata describes it. */
export type DatasetRow = Row<"Metadata">;

/** A dataset of a mirror. */
export interface Mirrored {
  /** Name of its files, without extension. */
  name: string;
  /** As the service described the version of the files. */
  row: DatasetRow;
  /** The rows first, then the locations. */
  files: readonly MirrorFile[];
  /** Time at which the service was found not to have the dataset any more. */
  goneSince?: string | undefined;
}

/** What determines the rows and columns of a mirror. */
export interface MirrorQuery {
  query: QueryRecord;
  /** Columns of the rows, without new fields of the service. */
  columns: readonly string[];
}

export interface Mirror extends MirrorQuery {
  /** By DOI. */
  datasets: Map<string, Mirrored>;
  /** Files that are of no single dataset. */
  tables: readonly MirrorFile[];
  /** Paths of files that do not count any more, and may not be removed yet. */
  stale: readonly string[];
  /** Datasets that were found without a manifest, and may not be in the feed. */
  found: readonly Mirrored[];
}

/** Content of the manifest. */
interface Manifest {
  profile: "data-package";
  name: string;
  title: string;
  created: string;
  licenses: ReturnType<typeof licensesOf>;
  sources: ReturnType<typeof toSource>[];
  resources: readonly MirrorFile[];
  weir: MirrorQuery & {
    version: string;
    mirror: number;
    datasets: DatasetVersion[];
    /** As the service described the versions of the files. */
    metadata: Pick<Mirrored, "name" | "row">[];
    gone: Record<string, string>;
    /** Paths of files to remove, which a run that is killed leaves. */
    stale: readonly string[];
  };
}

export function listedFiles({ datasets, tables }: Mirror): MirrorFile[] {
  return [...[...datasets.values()].flatMap(({ files }) => files), ...tables];
}

export function rowsIn({ files: [rows] }: Pick<Mirrored, "files">): number {
  return rows?.rows ?? 0;
}

export function versionOf({ DOI, Version, PublishedTimestamp }: DatasetRow): DatasetVersion {
  return [DOI, Version ?? "", PublishedTimestamp ?? ""];
}

/** Returns the manifest as JSON. */
export function formatManifest(mirror: Mirror, now: Date): string {
  const all = [...mirror.datasets.values()];
  const rows = all.map(({ row }) => row);
  const citations = rows.map(toCitation);
  const gone = all.filter(({ goneSince }) => goneSince !== undefined)
    .map(({ row, goneSince }) => [row.DOI, goneSince!]);
  const manifest: Manifest = {
    profile: "data-package",
    name: "datastream-mirror",
    title: `${mirror.query.resource} of DataStream`,
    created: now.toISOString(),
    licenses: licensesOf(citations),
    sources: citations.map(toSource),
    resources: listedFiles(mirror),
    weir: {
      version: VERSION,
      mirror: MIRROR_SCHEMA,
      query: mirror.query,
      columns: mirror.columns,
      datasets: rows.map(versionOf),
      metadata: all.map(({ name, row }) => ({ name, row })),
      gone: Object.fromEntries(gone),
      stale: mirror.stale,
    },
  };
  return `${JSON.stringify(manifest, null, 1)}\n`;
}

/**
 * Reads the manifest of a folder; `undefined` if there is none, or it is damaged.
 *
 * @throws {FileError} If another program, or another version of weir, wrote it
 */
export async function readManifest(folder: Folder): Promise<Mirror | undefined> {
  const manifest = parseManifest(await readText(folder, MANIFEST));
  if (manifest === undefined) return undefined;
  const { resources, weir } = manifest;
  if (weir.mirror !== MIRROR_SCHEMA) {
    throw new FileError(
      `${MANIFEST} has version ${weir.mirror} of the schema of a mirror, this version of weir ` +
        `writes version ${MIRROR_SCHEMA}: use the other version of weir (${weir.version}), or a new folder`,
    );
  }
  const filesOf = (doi: string | undefined) => resources.filter(({ dataset }) => dataset === doi);
  const datasets = weir.metadata.map(({ name, row }): [string, Mirrored] => [
    row.DOI,
    { name, row, files: filesOf(row.DOI), goneSince: weir.gone[row.DOI] },
  ]);
  const { query, columns, stale } = weir;
  const tables = filesOf(undefined);
  return { query, columns, datasets: new Map(datasets), tables, stale, found: [] };
}

/** Returns `undefined` for a text that is no JSON: a run that was killed does not leave one, but a damaged disk can. */
function parseManifest(text: string | undefined): Manifest | undefined {
  let found: unknown;
  try {
    found = JSON.parse(text ?? "null");
  } catch {
    return undefined;
  }
  if (found === null) return undefined;
  const { weir, resources } = found as Partial<Manifest>;
  const isMirror = isObject(weir) && Array.isArray(resources) && typeof weir.mirror === "number";
  if (isMirror) return found as Manifest;
  throw new FileError(`${MANIFEST} is not of a mirror: choose another folder, or rename this file`);
}

export async function readText(folder: Folder, path: string): Promise<string | undefined> {
  const content = await folder.read(path);
  if (content === undefined) return undefined;
  const chunks: Uint8Array[] = [];
  for await (const bytes of content) chunks.push(bytes);
  return utf8Decoder.decode(concatBytes(chunks));
}

/** Returns a text by which files of the same query and columns are recognized. */
export function digestOf(query: MirrorQuery): string {
  return createHash("sha256").update(JSON.stringify(query)).digest("hex");
}

/** Returns the first difference of two queries in words; `undefined` if they are the same. */
export function describeDifference(before: MirrorQuery, now: MirrorQuery): string | undefined {
  const names = [...new Set([...Object.keys(before.query), ...Object.keys(now.query)])];
  const text = (value: unknown) => value === undefined ? "not given" : JSON.stringify(value);
  const name = names.find((name) => text(before.query[name]) !== text(now.query[name]));
  if (name !== undefined) {
    return `${name} was ${text(before.query[name])}, is ${text(now.query[name])}`;
  }
  const [added, removed] = [[now, before], [before, now]].map(([some, others]) =>
    some!.columns.filter((column) => !others!.columns.includes(column))
  );
  if (added!.length > 0) return `another version of weir: the column ${added![0]} is new`;
  return removed!.length > 0
    ? `another version of weir: it has no column ${removed![0]}`
    : undefined;
}
