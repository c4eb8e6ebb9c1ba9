// The log of a Delta Lake table over the Parquet files of a mirror. Source: Delta Transaction Log Protocol, versions 1
// (reader) and 2 (writer).
import { randomUUID } from "node:crypto";
import { utf8Encoder } from "../bytes.ts";
import { FileError } from "../files/output.ts";
import { VERSION } from "../version.ts";
import type { Folder } from "./folder.ts";
import { type MirrorFile, readText } from "./manifest.ts";

interface Add {
  path: string;
  partitionValues: Record<string, never>;
  size: number;
  modificationTime: number;
  dataChange: true;
  stats: string;
}
interface Remove {
  path: string;
  deletionTimestamp: number;
  dataChange: true;
}
interface MetaData {
  id: string;
  name: string;
  format: { provider: "parquet"; options: Record<string, never> };
  schemaString: string;
  partitionColumns: never[];
  configuration: Record<string, string>;
  createdTime: number;
}

/** One line of the log. */
type Action = { add?: Add; remove?: Remove; metaData?: MetaData } & Record<string, unknown>;

/** A table after its last version. */
interface Table {
  /** Number of the last version; -1 without a log. */
  version: number;
  metaData: MetaData | undefined;
  /** Files that count, by path in the table. */
  live: ReadonlyMap<string, Add>;
  /** Files of older versions. */
  removed: ReadonlyMap<string, Remove>;
}

const logOf = (table: string) => `${table}/_delta_log`;

/**
 * Commits a version in which the table has these files, and no others. Does nothing if it has them already.
 *
 * @param table Folder of the table
 * @throws {FileError} If another program committed the version
 */
export async function commitTable(
  folder: Folder,
  table: string,
  files: readonly MirrorFile[],
  now: Date,
): Promise<void> {
  const { version, metaData, live } = await readTable(folder, table);
  const wanted = new Map(files.map((file) => [file.path.slice(table.length + 1), file]));
  // A table without files keeps its columns.
  const schemaString = files.length === 0 && metaData !== undefined
    ? metaData.schemaString
    : JSON.stringify(schemaOf(files));
  const time = now.getTime();
  const added = [...wanted].filter(([path]) => !live.has(path)).map(([path, file]): Action => ({
    add: {
      path: encodeURI(path),
      partitionValues: {},
      size: file.bytes,
      modificationTime: time,
      dataChange: true,
      stats: JSON.stringify({ numRecords: file.rows }),
    },
  }));
  const removed = [...live.values()].filter(({ path }) => !wanted.has(decodeURI(path)))
    .map(({ path }): Action => ({
      remove: { path, deletionTimestamp: time, dataChange: true },
    }));
  const isSameSchema = metaData?.schemaString === schemaString;
  if (version < 0 && files.length === 0) return;
  if (version >= 0 && added.length === 0 && removed.length === 0 && isSameSchema) return;
  const described: MetaData = {
    id: metaData?.id ?? randomUUID(),
    name: table,
    format: { provider: "parquet", options: {} },
    schemaString,
    partitionColumns: [],
    configuration: {},
    createdTime: metaData?.createdTime ?? time,
  };
  const actions: Action[] = [
    {
      commitInfo: {
        timestamp: time,
        operation: "WRITE",
        operationParameters: {},
        engineInfo: `@weir/datastream ${VERSION}`,
      },
    },
    ...version < 0 ? [{ protocol: { minReaderVersion: 1, minWriterVersion: 2 } }] : [],
    ...isSameSchema ? [] : [{ metaData: described }],
    ...removed,
    ...added,
  ];
  const name = `${logOf(table)}/${String(version + 1).padStart(20, "0")}.json`;
  const text = actions.map((action) => `${JSON.stringify(action)}\n`).join("");
  if (await folder.write(name, [utf8Encoder.encode(text)], true)) return;
  throw new FileError(`${name} was written by another program: run weir sync again`);
}

/** Removes Parquet files that no version has, or only versions that ended before a time (ms since 1970). */
export async function removeOldFiles(folder: Folder, table: string, until: number): Promise<void> {
  const { live, removed } = await readTable(folder, table);
  for (const { path } of await folder.list(table)) {
    const name = path.slice(table.length + 1);
    const { deletionTimestamp = -Infinity } = removed.get(name) ?? {};
    const isOld = !live.has(name) && deletionTimestamp < until;
    if (isOld && name.endsWith(".parquet")) await folder.remove(path);
  }
}

/** Returns the paths of the files that count; `undefined` if the folder is no table. */
export async function liveFiles(
  folder: Folder,
  table: string,
): Promise<ReadonlySet<string> | undefined> {
  const { version, live } = await readTable(folder, table);
  return version < 0 ? undefined : new Set([...live.keys()].map((name) => `${table}/${name}`));
}

/** Makes a table a folder of files: removes the log, and first the files of older versions, which only the log names. */
export async function removeTable(folder: Folder, table: string): Promise<void> {
  const { version, live, removed } = await readTable(folder, table);
  if (version < 0) return;
  for (const name of removed.keys()) if (!live.has(name)) await folder.remove(`${table}/${name}`);
  for (const { path } of await folder.list(logOf(table))) await folder.remove(path);
}

async function readTable(folder: Folder, table: string): Promise<Table> {
  const live = new Map<string, Add>();
  const removed = new Map<string, Remove>();
  let metaData: MetaData | undefined;
  const logs = (await folder.list(logOf(table))).map(({ path }) => path)
    .filter((path) => /\/\d{20}\.json$/.test(path)).sort();
  for (const log of logs) {
    for (const line of (await readText(folder, log) ?? "").split("\n").filter(Boolean)) {
      const action = parseAction(line, log);
      metaData = action.metaData ?? metaData;
      if (action.add !== undefined) live.set(decodeURI(action.add.path), action.add);
      if (action.remove !== undefined) {
        const path = decodeURI(action.remove.path);
        live.delete(path);
        removed.set(path, action.remove);
      }
    }
  }
  const last = logs.at(-1);
  const version = last === undefined ? -1 : Number(/(\d+)\.json$/.exec(last)![1]);
  return { version, metaData, live, removed };
}

function parseAction(line: string, log: string): Action {
  try {
    return JSON.parse(line);
  } catch (cause) {
    const hint = "restore it, or make the mirror again in a new folder";
    throw new FileError(`${log} is damaged: ${hint}`, { cause });
  }
}

/** Types of Delta by those of Table Schema. */
const TYPES: Readonly<Record<string, unknown>> = {
  integer: "long",
  number: "double",
  boolean: "boolean",
  string: "string",
  date: "date",
  datetime: "timestamp",
  array: { type: "array", elementType: "string", containsNull: true },
};

/** The columns of all files: a new field of one dataset is null in the others. */
function schemaOf(files: readonly MirrorFile[]) {
  const types = new Map(
    files.flatMap(({ schema }) =>
      schema!.fields.map(({ name, type }): [string, unknown] => [
        name,
        name === "geometry" ? "binary" : TYPES[type] ?? "string",
      ])
    ),
  );
  const fields = [...types].map(([name, type]) => ({ name, type, nullable: true, metadata: {} }));
  return { type: "struct", fields };
}
