// The files of a download to FILE:
//
// - FILE.part: the rows so far, renamed to FILE when they are complete;
// - FILE.part.json: the query, the versions of datasets, and the cursor, number of bytes and hash after the last page;
// - FILE.datapackage.json: the package of a finished FILE, with its hash, query and dataset versions.
//
// The package gets its name directly before FILE. A run that is killed in between leaves FILE.part, which the next run
// with --resume or --update completes.
//
// JSON files are written as NAME.new, then renamed, because the process can be killed at any time. They are written
// synchronously, directly after the check that the part still belongs to the run.
import { createHash, type Hash, randomUUID } from "node:crypto";
import { lstatSync, readFileSync, renameSync, rmSync, type Stats } from "node:fs";
import { type FileHandle, lstat, open } from "node:fs/promises";
import type { Cursor } from "../client/query.ts";
import { oneLine, ValidationError } from "../errors.ts";
import { type Citation, type DatasetVersion, versionsOf } from "../formats/citations.ts";
import type { DataPackage } from "../formats/data_package.ts";
import { isObject } from "../validation.ts";
import { CommandError } from "./context.ts";
import { findChanges, type KnownDatasets, knownDatasets } from "./dataset_versions.ts";
import {
  copyPermissions,
  type DownloadPage,
  explainingErrors,
  type Output,
  replaceFile,
  requireReplaceable,
  statIfExists,
} from "./output.ts";

/** The inputs that determine the content of a file: the resource, the service, and values of flags by name. */
export type QueryRecord = Readonly<Record<string, unknown>>;

/** Members of a file's package that a package from a server does not have. */
export interface FileOrigin {
  query: QueryRecord;
  /** Number of rows that the service counted and did not deliver. */
  missingRows: number;
  /** For Parquet, number of rows with a value that did not fit its column and is null. */
  invalidValues?: number;
  /** For Parquet, number of locations without a position in WGS 84. */
  withoutGeometry?: number;
  /** Cursor after the last page. With it, the client recognizes the same query in other flags. */
  cursor: Cursor;
}

/** Package of a file that the command line has downloaded. */
export type FilePackage = DataPackage<FileOrigin>;

/** Package of a file, or of a document of a server, which has no flags. */
export type AnyPackage = DataPackage<Partial<FileOrigin>>;

/** Properties of a complete file. */
export interface FileFacts extends KnownDatasets {
  path: string;
  bytes: number;
  hash: string;
  rows: number;
  origin: FileOrigin;
}

/** Content of FILE.part.json. */
interface PartState {
  version: typeof STATE_VERSION;
  /** Time (ms since 1970) before the first request of the part. */
  startedAt: number;
  /** Random identifier of the run that writes the part. */
  run: string;
  inode: number;
  query: QueryRecord;
  /** Whether the run may overwrite FILE. */
  force: boolean;
  /** Number of bytes of the complete pages. */
  bytes: number;
  /** Hash of these bytes. */
  hash: string;
  /** Cursor after the last complete page; `undefined` before the first one. */
  cursor?: Cursor;
  /** Versions of the datasets that match the query; `undefined` if they were not requested. */
  datasets?: readonly DatasetVersion[] | undefined;
}

/** Version of the format of FILE.part.json. */
const STATE_VERSION = 8;

/** Options for {@linkcode openFile}. */
export interface FileOptions {
  query: QueryRecord;
  /** Throws a `ValidationError` if the cursor does not belong to the query. */
  pagesAfter: (cursor?: Cursor) => AsyncIterable<DownloadPage>;
  /** Whether to continue an existing part. */
  resume: boolean;
  /**
   * Called with the reason before the download starts again, because a dataset has changed since the part was started
   * or the part cannot be continued. Can throw.
   */
  onRestart: (reason: string) => void;
  /** Whether to overwrite an existing file or part. */
  force: boolean;
  requestDatasets: () => Promise<readonly Citation[]>;
  /** Describes the finished file; `undefined` for no package. */
  describe: ((facts: FileFacts) => FilePackage) | undefined;
}

/** The output to a file; `after` is the cursor after the last page of a part that is continued. */
export interface OpenFile {
  output: Output;
  /** Whether the download may overwrite files: `--force` was given, now or when the part was started. */
  force: boolean;
  after?: Cursor | undefined;
}

/** Hint for a part that cannot be resumed. */
const RESTART = "start again with --force";

/** For {@linkcode FileOptions.onRestart}. */
export function refuseRestart(reason: string): never {
  throw new CommandError(`${reason}: ${RESTART}`);
}

/** Hint if both FILE and FILE.part exist, and FILE may not be overwritten. */
const MOVE = "move it, then resume";

export function packagePath(path: string): string {
  return `${path}.datapackage.json`;
}

export function partPath(path: string): string {
  return `${path}.part`;
}

function filesOf(path: string) {
  return { part: partPath(path), state: `${path}.part.json`, dataPackage: packagePath(path) };
}

/** Returns the paths of all files that a download to FILE can write, including FILE itself. */
export function pathsOf(path: string): string[] {
  const { part, state, dataPackage } = filesOf(path);
  return [path, part, state, dataPackage, `${state}.new`, `${dataPackage}.new`];
}

/**
 * Starts or continues the part of FILE.
 *
 * @throws {CommandError} If FILE or its part exists and may not be replaced, or the part cannot be resumed
 */
export async function openFile(path: string, options: FileOptions): Promise<OpenFile> {
  return await explainingErrors(path, openPart(path, options));
}

async function openPart(path: string, options: FileOptions): Promise<OpenFile> {
  for (const name of pathsOf(path)) {
    if ((await statIfExists(name, lstat))?.isDirectory()) {
      throw new CommandError(`${name} is a directory: rename it, or choose another file`);
    }
  }
  const earlier = options.resume ? await findPart(path, options) : undefined;
  const force = options.force || earlier?.force === true;
  const replaced = await requireReplaceable(path, force, earlier && MOVE);
  if (earlier?.cursor !== undefined) {
    const output = await resumePart(path, { ...options, force }, earlier);
    if (output !== undefined) return { output, force, after: earlier.cursor };
  }
  const mayReplace = force || options.resume;
  if (mayReplace && await statIfExists(filesOf(path).part, lstat) !== undefined) removePart(path);
  return { output: await startPart(path, { ...options, force }, replaced), force };
}

/** Returns `undefined` if a dataset or the part has changed and the download may start again. */
async function resumePart(
  path: string,
  options: FileOptions,
  state: PartState,
): Promise<Output | undefined> {
  const file = await open(filesOf(path).part, "r+");
  try {
    const hash = createHash("sha256");
    // Before the bytes are hashed, so that an earlier run that still writes fails at its next step.
    const output = await createOutput(path, options, file, state, hash);
    const damage = await hashPart(path, file, state, hash);
    const changes = damage ?? await findChanges(state.datasets, options.requestDatasets);
    if (changes === undefined) return output;
    options.onRestart(damage ?? describePublication(path, changes));
    await file.close();
    return undefined;
  } catch (error) {
    await file.close().catch(() => {});
    throw error;
  }
}

async function startPart(
  path: string,
  options: FileOptions,
  replaced: Stats | undefined,
): Promise<Output> {
  const { part } = filesOf(path);
  // The part gets the permissions of FILE. The owner may always read and write it, because --resume must.
  const mode = replaced === undefined ? 0o666 : replaced.mode & 0o777 | 0o600;
  const file = await open(part, "wx", mode).catch((error) => {
    if (error.code !== "EEXIST") throw error;
    throw new CommandError(
      `${part} already exists: another download is running or was interrupted: ` +
        `continue it with --resume, or ${RESTART}`,
    );
  });
  const { query, force } = options;
  const hash = createHash("sha256");
  const state: PartState = {
    version: STATE_VERSION,
    startedAt: Date.now(),
    run: "",
    inode: 0,
    query,
    force,
    bytes: 0,
    hash: hashText(hash),
  };
  try {
    return await createOutput(path, options, file, state, hash);
  } catch (error) {
    const { ino } = await file.stat();
    // An empty part would block the next run, for example after the disk was full. Another run may have replaced the
    // part. Inodes are compared before the file is closed, because a new file can reuse the inode of a closed one.
    if (lstatSync(part, { throwIfNoEntry: false })?.ino === ino) removePart(path);
    await file.close();
    throw error;
  }
}

/**
 * Creates the output that writes FILE.part page by page.
 *
 * A page is committed once its bytes are on disk and a FILE.part.json that includes them has been renamed into
 * place. A run that resumes overwrites the bytes after the last committed page.
 *
 * Several runs can write one FILE concurrently, and one of them completes it. There is no file lock, because no
 * portable lock is released when the process that holds it is killed. The part belongs to the run that created or
 * resumed it last: another part has another inode, and FILE.part.json names the run that resumed it. The other runs
 * fail at their next step. A write that has already begun does no harm, because its bytes are those of the same query
 * and dataset versions.
 */
async function createOutput(
  path: string,
  options: FileOptions,
  file: FileHandle,
  earlier: PartState,
  hash: Hash,
): Promise<Output> {
  const { part, state: statePath, dataPackage } = filesOf(path);
  const { ino: inode } = await file.stat();
  let state: PartState = { ...earlier, run: randomUUID(), inode };
  let { bytes } = state;
  let last: DownloadPage | undefined;
  /** Whether a later run can complete the part. */
  let canResume = true;

  const readCurrent = () => readJson(statePath) as Partial<PartState> | undefined;
  const isOwned = () => {
    try {
      const named = lstatSync(part);
      const found = readCurrent();
      // A run that has lost its part can still write or remove the state, and then fails.
      return named.ino === inode &&
        (found === undefined || found.run === state.run || found.inode !== inode);
    } catch {
      return false;
    }
  };
  const requireOwned = (isOwn = isOwned()) => {
    if (isOwn) return;
    throw new CommandError(
      `${part} was taken over by another download, moved or removed: wait for that download, or ${RESTART}`,
    );
  };
  const writeState = (changes: Partial<PartState>) => {
    state = { ...state, ...changes };
    for (;;) {
      try {
        return replaceFile(statePath, JSON.stringify(state));
      } catch (error) {
        // Another run has created, renamed or removed the file with the same name.
        if (!["EEXIST", "ENOENT"].includes((error as NodeJS.ErrnoException).code!)) throw error;
        requireOwned();
      }
    }
  };

  let latest: Promise<readonly Citation[]> | undefined;
  // Requested once, because a Parquet file and its package must have the same versions.
  const requestLatest = () => latest ??= options.requestDatasets();
  const requestKnown = () => knownDatasets(requestLatest, state.startedAt);
  const write = async (page: DownloadPage) => {
    const { data, cursor, hasMore, isLast } = page;
    requireOwned();
    hash.update(data);
    for (let at = 0; at < data.length;) {
      const { bytesWritten } = await file.write(data, at, data.length - at, bytes);
      at += bytesWritten;
      bytes += bytesWritten;
    }
    last = page;
    // The end of the document is not committed: a run that resumes writes it again.
    if (isLast) return;
    const datasets = state.datasets ??
      (hasMore ? versionsOf(await options.requestDatasets()) : undefined);
    await file.datasync();
    requireOwned();
    writeState({ bytes, hash: hashText(hash), cursor, datasets });
  };
  const finish = async () => {
    if (state.cursor !== earlier.cursor) {
      const changes = await findChanges(state.datasets, requestLatest);
      if (changes !== undefined) {
        canResume = false;
        refuseRestart(describePublication(path, changes));
      }
    }
    const { citations, datasets } = await requestKnown();
    requireOwned();
    await file.truncate(bytes);
    const replaced = await requireReplaceable(path, options.force, MOVE);
    if (replaced !== undefined) await copyPermissions(file, replaced);
    await file.sync();
    const { query, describe } = options;
    const { cursor, totalRows: rows, missingRows } = last!;
    const origin = { query, missingRows, cursor };
    const facts = { path, bytes, hash: hashText(hash), rows, citations, datasets, origin };
    const description = describe?.(facts);
    // Without an await below: another run with --force can replace the part.
    requireOwned();
    if (description !== undefined) {
      replaceFile(dataPackage, `${JSON.stringify(description, null, 2)}\n`);
    } else rmSync(dataPackage, { force: true }); // of the replaced file
    requireOwned();
    renameSync(part, path);
    removeState(path);
    await file.close();
    return bytes;
  };

  // A run that resumes has read the state earlier, and another run may have done so since.
  requireOwned(earlier.run === "" || readCurrent()?.run === earlier.run);
  writeState({});
  requireOwned();
  return {
    datasets: requestKnown,
    write: (page) => explainingErrors(path, write(page)),
    finish: () => explainingErrors(path, finish()),
    async abandon() {
      // As JSON, because a Parquet file is continued at the end of its last row group.
      const { cursor }: Partial<PartState> = JSON.parse(JSON.stringify(state));
      const { rows = 0 } = cursor ?? {};
      const wasOwned = isOwned();
      if (wasOwned && rows === 0) removePart(path);
      await file.close().catch(() => {});
      return wasOwned && rows > 0 && canResume ? { path: part, rows } : undefined;
    },
  };
}

/**
 * Returns the package of a finished download of a query; `undefined` if FILE is missing or a part can be continued.
 *
 * A run that was killed just after it renamed FILE.part leaves FILE.part.json, which is removed.
 *
 * @throws {CommandError} If FILE has no package, belongs to another query, or was changed
 */
export async function readFinished(
  path: string,
  options: FileOptions,
): Promise<FilePackage | undefined> {
  if (await statIfExists(path) === undefined) return undefined;
  if (await findPart(path, options) !== undefined) return undefined;
  const found = readPackage(path);
  const again = "pass --force to download it again, or choose another name";
  if (!isFilePackage(found)) {
    throw new CommandError(
      `${path} already exists, without ${packagePath(path)}, which names its query: ${again}`,
    );
  }
  const { weir, resources } = found;
  const differences = describeDifferences(weir.query, options.query);
  if (differences !== undefined && !isSameQuery(weir.cursor, options)) {
    throw new CommandError(`${path} is the result of another query (${differences}): ${again}`);
  }
  if (resources[0].hash !== await hashOf(path)) {
    throw new CommandError(
      `${
        packagePath(path)
      } does not belong to this file, which was changed since weir wrote it: ${again}`,
    );
  }
  // The state of an empty part can be that of another query.
  if (await statIfExists(filesOf(path).part, lstat) === undefined) removeState(path);
  return found;
}

/** Returns the package of FILE; `undefined` if there is none that weir or its server has written. */
export function readPackage(path: string): AnyPackage | undefined {
  const found = readJson(packagePath(path));
  return isPackage(found) ? found : undefined;
}

/** Whether a value has the members of a package that are read. The cursor is validated by the client. */
function isFilePackage(value: unknown): value is FilePackage {
  return isPackage(value) && isObject(value.weir.query) && isObject(value.weir.cursor) &&
    typeof value.resources[0].hash === "string";
}

/** Whether a value has the members of a package that `verify` reads. */
function isPackage(value: unknown): value is AnyPackage {
  const { weir, resources } = (value ?? {}) as Partial<AnyPackage>;
  const [{ schema, dialect }] = Array.isArray(resources) && isObject(resources[0])
    ? resources
    : [{} as Partial<AnyPackage["resources"][0]>];
  return isObject(weir) && Array.isArray(schema?.fields) &&
    schema.fields.every((field) => typeof field?.name === "string") &&
    (dialect === undefined || isObject(dialect)) &&
    (weir.datasets === undefined ||
      Array.isArray(weir.datasets) && weir.datasets.every(Array.isArray));
}

/** Whether a cursor belongs to the query of this run. Different flags can mean the same query. */
function isSameQuery(cursor: Cursor, { pagesAfter }: FileOptions): boolean {
  try {
    pagesAfter(cursor);
    return true;
  } catch (error) {
    if (error instanceof ValidationError) return false;
    throw error;
  }
}

function describeDifferences(before: QueryRecord, after: QueryRecord): string | undefined {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const texts = [...names].filter((name) =>
    JSON.stringify(before[name]) !== JSON.stringify(after[name])
  ).map((name) => {
    const label = ["resource", "service"].includes(name) ? name : `--${name}`;
    return `${label} was ${showValue(before[name])}, is ${showValue(after[name])}`;
  });
  return texts.length === 0 ? undefined : texts.join("; ");
}

/** Maximum number of characters of a value in a message. */
const MAX_SHOWN = 100;

function showValue(value: unknown): string {
  if (value === undefined) return "not given";
  const text = Array.isArray(value) ? value.join(", ") : String(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

function describePublication(path: string, changes: string): string {
  return `DataStream has published new data since ${filesOf(path).part} was started (${changes})`;
}

/**
 * Returns the state of the part that this run continues; `undefined` if there is none. An empty part without a state
 * of this query is ignored, because a run that is killed at its start leaves one. A part that cannot be continued is
 * removed if the download may start again, unless it belongs to another query.
 */
async function findPart(path: string, options: FileOptions): Promise<PartState | undefined> {
  const { part, state: statePath } = filesOf(path);
  const found = await statIfExists(part, lstat);
  if (found === undefined) return undefined;
  const state = readJson(statePath) as PartState | undefined;
  const isReadable = state?.version === STATE_VERSION && isObject(state.query);
  const differences = isReadable ? describeDifferences(state.query, options.query) : undefined;
  const isSame = isReadable &&
    (state.cursor === undefined ? differences === undefined : isSameQuery(state.cursor, options));
  if (isSame && found.isFile()) return state;
  if (found.isFile() && found.size === 0) return undefined;
  if (differences !== undefined && !isSame) {
    throw new CommandError(
      `${part} belongs to another query (${differences}): pass the same flags as before, or ${RESTART}`,
    );
  }
  options.onRestart(
    isSame
      ? `${part} is not a regular file`
      : `${statePath} is missing, damaged or of another version of weir`,
  );
  removePart(path);
  return undefined;
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8")) ?? undefined;
  } catch (error) {
    // After other errors of the file system, such as EACCES, the file may be valid. A SyntaxError has no code.
    if (error instanceof Error && "code" in error && error.code !== "ENOENT") throw error;
    return undefined;
  }
}

/** Bytes. */
const READ_SIZE = 1 << 20;

/** Returns the hash of a file, or of its first bytes. */
export async function hashOf(path: string, length: number = Infinity): Promise<string> {
  const file = await open(path, "r");
  try {
    return await hashBytes(file, createHash("sha256"), length);
  } catch (error) {
    // Node's read errors have no path.
    throw new CommandError(`Cannot read ${path}: ${oneLine(error)}`, { cause: error });
  } finally {
    await file.close();
  }
}

/** Updates a hash with the first bytes of a file. */
async function hashBytes(file: FileHandle, hash: Hash, length: number): Promise<string> {
  const buffer = new Uint8Array(READ_SIZE);
  for (let at = 0; at < length;) {
    const { bytesRead } = await file.read(buffer, 0, Math.min(READ_SIZE, length - at), at);
    if (bytesRead === 0) break;
    hash.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
  return hashText(hash);
}

/** Returns the text of a hash of the bytes so far. The hash can still be updated. */
function hashText(hash: Hash): string {
  return `sha256:${hash.copy().digest("hex")}`;
}

/**
 * Updates a hash with the bytes of the complete pages. Returns how they differ from the bytes that weir wrote;
 * `undefined` if they are equal.
 */
async function hashPart(
  path: string,
  file: FileHandle,
  { bytes, hash: expected }: PartState,
  hash: Hash,
): Promise<string | undefined> {
  const { part } = filesOf(path);
  const { size } = await file.stat();
  if (size < bytes) return `${part} was changed: it has ${size} bytes, weir wrote ${bytes}`;
  if (await hashBytes(file, hash, bytes) === expected) return undefined;
  return `${part} was changed: its first ${bytes} bytes differ from what weir wrote`;
}

/** Removes FILE.part.json, and files that a killed run did not rename. */
function removeState(path: string): void {
  const { state, dataPackage } = filesOf(path);
  for (const name of [`${state}.new`, `${dataPackage}.new`, state]) rmSync(name, { force: true });
}

function removePart(path: string): void {
  rmSync(filesOf(path).part, { force: true });
  removeState(path);
}
