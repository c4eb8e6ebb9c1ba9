// The files of a download to FILE:
//
// - FILE.part: the rows so far, renamed to FILE when they are complete;
// - FILE.part.json: the query, the datasets, and the cursor, number of bytes and hash after the last page; at the end
//   also the package;
// - FILE.datapackage.json: the package of a finished FILE, with its hash, query and dataset versions.
//
// The package is written after FILE. A run that is killed in between leaves FILE.part.json, from which the next run
// with --resume or --update writes the package.
//
// JSON files are written as NAME.new, then renamed, because the process can be killed at any time.
import { createHash, type Hash, randomUUID } from "node:crypto";
import { type FileHandle, lstat, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import type { Cursor } from "../client/query.ts";
import { DataStreamError, ValidationError } from "../errors.ts";
import { type Citation, versionsOf } from "../formats/citations.ts";
import { type DataPackage, renamePackage } from "../formats/data_package.ts";
import { isObject } from "../validation.ts";
import { PUBLICATION_TIME } from "../service_constants.ts";
import { describeChanges, explainVersionError } from "./dataset_versions.ts";
import {
  copyPermissions,
  type DownloadPage,
  explainingErrors,
  FileError,
  type KnownDatasets,
  type Output,
  requireReplaceable,
  statIfExists,
} from "./output.ts";

/** The inputs that determine the content of a file: the resource, the service, and values of flags by name. */
export type QueryRecord = Readonly<Record<string, unknown>>;

/** What the package of a file has in addition to that of a server. */
export interface FileOrigin {
  query: QueryRecord;
  /** Number of rows that the service counted and did not deliver. */
  missingRows: number;
  /** For Parquet, number of rows with a value that did not fit its column and is null. */
  invalidValues?: number;
  /** For Parquet, number of locations without a position in WGS 84. */
  withoutGeometry?: number;
  /** Cursor after the last page, by which the client recognizes other flags of the same query. */
  cursor: Cursor;
}

/** Package of a file that the command line has downloaded. */
export type FilePackage = DataPackage<FileOrigin>;

/** Package of a file, or of a document of a server, which has no flags. */
export type AnyPackage = DataPackage<Partial<FileOrigin>>;

/** What a run knows about the file that it has written. */
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
  /** Inode of the part. */
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
  /** Datasets that match the query; `undefined` if they were not requested. */
  datasets?: readonly Citation[] | undefined;
  /** Package of FILE, once the part is complete. */
  package?: FilePackage;
}

/** Version of the format of FILE.part.json. */
const STATE_VERSION = 7;

/** Options for {@linkcode openFile}. */
export interface FileOptions {
  query: QueryRecord;
  /**
   * Returns the pages of the query after a cursor. Throws a `ValidationError` if the cursor does not
   * belong to the query.
   */
  pagesAfter: (cursor: Cursor) => AsyncIterable<DownloadPage>;
  /** Whether to continue an existing part. */
  resume: boolean;
  /** Whether to start again if a dataset has changed since the part was started. */
  restart: boolean;
  /** Whether to overwrite an existing file or part. */
  force: boolean;
  /** Requests the datasets that match the query. */
  requestDatasets: () => Promise<readonly Citation[]>;
  /** Describes the finished file; `undefined` for no package. */
  describe: ((facts: FileFacts) => FilePackage) | undefined;
}

/** The output to a file; if it is resumed, also the cursor of its last page, and the pages after it. */
interface OpenFile {
  output: Output;
  after?: Cursor;
  pages?: AsyncIterable<DownloadPage>;
}

/** Hint for a part that cannot be resumed. */
const RESTART = "start again with --force";

/** Hint if both FILE and FILE.part exist, and FILE may not be overwritten. */
const MOVE = "move it, then resume";

/** Returns the path of the package of FILE. */
export function packagePath(path: string): string {
  return `${path}.datapackage.json`;
}

/** Returns the paths of the files of a download to FILE. */
function filesOf(path: string) {
  return { part: `${path}.part`, state: `${path}.part.json`, record: packagePath(path) };
}

/** Returns the paths of all files that a download to FILE can write, including FILE itself. */
export function pathsOf(path: string): string[] {
  const { part, state, record } = filesOf(path);
  return [path, part, state, record, `${state}.new`, `${record}.new`];
}

/**
 * Opens a file as the output of a download.
 *
 * @param path Path of FILE, with symbolic links resolved
 * @throws {FileError} If a file or a part exists and may not be replaced, or a part cannot be resumed
 * @throws {DataStreamError} If the dataset versions cannot be requested
 */
export async function openFile(path: string, options: FileOptions): Promise<OpenFile> {
  return await explainingErrors(path, openPart(path, options));
}

async function openPart(path: string, options: FileOptions): Promise<OpenFile> {
  const { query, resume } = options;
  const { part } = filesOf(path);
  const found = await statIfExists(part, lstat);
  if (found?.isDirectory()) {
    throw new FileError(`${part} is a directory: rename it, or choose another file`);
  }
  // A run that was killed at its start leaves an empty part without a state.
  const earlier = resume && found !== undefined
    ? await readState(path, options, found.size === 0)
    : undefined;
  const force = options.force || earlier?.state.force === true;
  const replaced = await requireReplaceable(path, force, found && resume ? MOVE : undefined);
  if (earlier?.pages !== undefined) {
    if (!found!.isFile()) throw new FileError(`${part} is not a regular file: ${RESTART}`);
    const { state, pages } = earlier;
    const file = await open(part, "r+");
    try {
      const hash = await hashPart(path, file, state.bytes, state.hash);
      const changes = await findChanges(state.datasets, options);
      if (changes === undefined) {
        const output = await createOutput(path, { ...options, force }, file, { state, hash });
        return { output, after: state.cursor!, pages };
      }
      if (!options.restart) throw changedError(path, changes);
      await file.close();
    } catch (error) {
      await file.close().catch(() => {});
      throw error;
    }
  }
  if (found !== undefined && (force || resume)) await removePart(path);
  // The part gets the permissions of FILE. The owner may always read and write it, because --resume must.
  const mode = replaced === undefined ? 0o666 : replaced.mode & 0o777 | 0o600;
  const file = await open(part, "wx", mode).catch((error) => {
    if (error.code !== "EEXIST") throw error;
    throw new FileError(
      `${part} already exists: another download is running or was interrupted: ` +
        `continue it with --resume, or ${RESTART}`,
    );
  });
  const hash = createHash("sha256");
  const state: PartState = {
    ...{ version: STATE_VERSION, startedAt: Date.now(), run: "", inode: 0, query, force, bytes: 0 },
    hash: hashText(hash),
  };
  try {
    return { output: await createOutput(path, { ...options, force }, file, { state, hash }) };
  } catch (error) {
    const isOwn = (await statIfExists(part, lstat))?.ino === (await file.stat()).ino;
    await file.close();
    // For example, the disk is full: an empty part would block the next run. Another run may have replaced the part.
    if (isOwn) await removePart(path).catch(() => {});
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
 * fail at their next step. If one of them writes rows before that step, the later run detects them at its end, when it
 * hashes the whole part.
 *
 * @param earlier State of the part, and the hash of its bytes
 */
async function createOutput(
  path: string,
  options: FileOptions,
  file: FileHandle,
  earlier: { state: PartState; hash: Hash },
): Promise<Output> {
  const { hash } = earlier;
  const { part, state: statePath, record: recordPath } = filesOf(path);
  const isResumed = earlier.state.cursor !== undefined;
  const { ino: inode, dev } = await file.stat();
  let state: PartState = { ...earlier.state, run: randomUUID(), inode };
  let { bytes } = state;
  let last: DownloadPage | undefined;
  let saved = earlier.state.cursor;
  /** Whether a later run can complete the part. */
  let canResume = true;

  const isOwned = async () => {
    try {
      const named = await lstat(part);
      const found = await readJson(statePath) as Partial<PartState> | undefined;
      // A run that has lost its part can still write or remove the state, and then fails.
      return named.ino === inode && named.dev === dev &&
        (found === undefined || found.run === state.run || found.inode !== inode);
    } catch {
      return false;
    }
  };
  const requireOwned = async () => {
    if (await isOwned()) return;
    throw new FileError(
      `${part} was taken over by another download, moved or removed: wait for that download, or ${RESTART}`,
    );
  };
  const writeState = async (changes: Partial<PartState>) => {
    state = { ...state, ...changes };
    for (;;) {
      try {
        return await replaceFile(statePath, state);
      } catch (error) {
        // Another run has created, renamed or removed the file with the same name.
        if (!["EEXIST", "ENOENT"].includes((error as NodeJS.ErrnoException).code!)) throw error;
        await requireOwned();
      }
    }
  };
  /** Rethrows an error. After a `FileError` the part cannot be resumed: a later run would fail too. */
  const fail = (error: unknown): never => {
    canResume = !(error instanceof FileError);
    throw error;
  };

  let known: Promise<KnownDatasets> | undefined;
  // Once, because a Parquet file and its package must have the same versions.
  const requestKnown = () => known ??= knownDatasets(state.datasets, options, state.startedAt);
  const write = async (page: DownloadPage) => {
    const { data, cursor, hasMore, isLast } = page;
    await requireOwned();
    hash.update(data);
    for (let at = 0; at < data.length;) {
      const { bytesWritten } = await file.write(data, at, data.length - at, bytes);
      at += bytesWritten;
      bytes += bytesWritten;
    }
    last = page;
    // The end of the document is not committed: a run that resumes writes it again.
    if (isLast) return;
    const datasets = state.datasets ?? (hasMore ? await requestVersions(options) : undefined);
    await file.datasync();
    await requireOwned();
    await writeState({ bytes, hash: hashText(hash), cursor, datasets });
    saved = cursor;
  };
  const finish = async (missingRows: number) => {
    if (state.cursor !== earlier.state.cursor) {
      const changes = await findChanges(state.datasets, options);
      if (changes !== undefined) fail(changedError(path, changes));
    }
    const { citations, datasets } = await requestKnown();
    await requireOwned();
    await file.truncate(bytes);
    const finalHash = hashText(hash);
    if (isResumed) await hashPart(path, file, bytes, finalHash).catch(fail);
    const replaced = await requireReplaceable(path, options.force, MOVE);
    if (replaced !== undefined) await copyPermissions(file, replaced);
    await file.sync();
    await requireOwned();
    const { query, describe } = options;
    const { cursor, totalRows: rows } = last!;
    const origin = { query, missingRows, cursor };
    const facts = { path, bytes, hash: finalHash, rows, citations, datasets, origin };
    const description = describe?.(facts);
    if (description !== undefined) await writeState({ package: description });
    await requireOwned();
    await file.close();
    await rename(part, path);
    if (description !== undefined) await replaceFile(recordPath, description, 2);
    else await rm(recordPath, { force: true }); // that of the file that was replaced
    await removeState(path);
    return bytes;
  };

  await writeState({});
  await requireOwned();
  return {
    datasets: requestKnown,
    write: (page) => explainingErrors(path, write(page)),
    finish: (missingRows) => explainingErrors(path, finish(missingRows)),
    async abandon() {
      // As JSON, because a Parquet file is continued at the end of its last row group.
      const json: { saved?: Cursor } = JSON.parse(JSON.stringify({ saved }));
      const { rows = 0 } = json.saved ?? {};
      const mayRemove = await isOwned();
      await file.close().catch(() => {});
      if (!mayRemove) return undefined;
      if (rows === 0) await removePart(path);
      return rows > 0 && canResume ? { path: part, rows } : undefined;
    },
  };
}

/**
 * Returns the record of a finished download of a query; `undefined` if FILE is missing or FILE.part exists.
 *
 * A run that was killed just after it renamed FILE.part leaves FILE.part.json, which is removed.
 *
 * @throws {FileError} If FILE has no record, belongs to another query, or was changed
 */
export async function readFinished(
  path: string,
  options: FileOptions,
): Promise<FilePackage | undefined> {
  if (await statIfExists(path) === undefined) return undefined;
  const { part, record: recordPath } = filesOf(path);
  if (await statIfExists(part, lstat) !== undefined) return undefined;
  const file = await open(path, "r");
  const { hash } = await hashFile(file).finally(() => file.close());
  const earlier = await readPackage(path);
  let found = isFilePackage(earlier) ? earlier : undefined;
  if (found?.resources[0].hash !== hash) {
    const unwritten = await readUnwrittenPackage(path, hash);
    if (unwritten !== undefined) {
      await replaceFile(recordPath, unwritten, 2);
      found = unwritten;
    }
  }
  await removeState(path);
  const again = "pass --force to download it again, or choose another name";
  if (found === undefined) {
    throw new FileError(
      `${path} already exists, without ${recordPath}, which names its query: ${again}`,
    );
  }
  const { weir, resources } = found;
  const differences = describeDifferences(weir.query, options.query);
  if (differences !== undefined && !isSameQuery(weir.cursor, options)) {
    throw new FileError(`${path} is the result of another query (${differences}): ${again}`);
  }
  if (resources[0].hash !== hash) {
    throw new FileError(
      `${recordPath} does not belong to this file, which was changed since weir wrote it: ${again}`,
    );
  }
  const fileName = basename(path);
  if (resources[0].path === fileName) return found;
  const renamed = renamePackage(found, fileName);
  await replaceFile(recordPath, renamed, 2);
  return renamed;
}

/** Returns the package of FILE; `undefined` if there is none that weir or its server has written. */
export async function readPackage(path: string): Promise<AnyPackage | undefined> {
  const found = await readJson(packagePath(path));
  return isPackage(found) ? found : undefined;
}

/** Returns the package that a killed run did not write, if it is that of FILE with a hash. */
export async function readUnwrittenPackage(
  path: string,
  hash: string,
): Promise<FilePackage | undefined> {
  const state = await readJson(filesOf(path).state) as Partial<PartState> | undefined;
  const found: unknown = state?.package;
  return isFilePackage(found) && found.resources[0].hash === hash ? found : undefined;
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

/** Describes how two queries differ; `undefined` if they are equal. */
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

/**
 * Returns the datasets for the package of a file: none if they cannot be requested. The versions are not known if a
 * dataset was published so recently that the first page may have an earlier version.
 */
async function knownDatasets(
  known: readonly Citation[] | undefined,
  { requestDatasets }: FileOptions,
  startedAt: number,
): Promise<KnownDatasets> {
  let citations;
  try {
    citations = known ?? await requestDatasets();
  } catch (error) {
    if (error instanceof DataStreamError) return { citations, datasets: undefined };
    throw error;
  }
  const isRecent = ({ published }: Citation) =>
    Date.parse(published) > startedAt - PUBLICATION_TIME;
  if (!citations.some(isRecent)) return { citations, datasets: versionsOf(citations) };
  const unversioned = citations.map((citation) =>
    isRecent(citation) ? { ...citation, version: "", published: "" } : citation
  );
  return { citations: unversioned, datasets: undefined };
}

async function requestVersions({ requestDatasets }: FileOptions) {
  return await requestDatasets().catch(explainVersionError);
}

/** Describes how the datasets have changed; `undefined` if they have not, or no versions are known. */
async function findChanges(
  datasets: readonly Citation[] | undefined,
  options: FileOptions,
): Promise<string | undefined> {
  return datasets &&
    describeChanges(versionsOf(datasets), versionsOf(await requestVersions(options)));
}

function changedError(path: string, changes: string): FileError {
  return new FileError(
    `DataStream has published new data since ${
      filesOf(path).part
    } was started (${changes}): ${RESTART}`,
  );
}

/**
 * Reads the state of a part, and the pages after its cursor if a page was committed.
 *
 * @param isEmpty Whether the part is empty, so that it needs no state
 * @throws {FileError} If the state is missing or damaged, or was written for another query or by another version of
 *   weir
 */
async function readState(
  path: string,
  options: FileOptions,
  isEmpty: boolean,
): Promise<{ state: PartState; pages?: AsyncIterable<DownloadPage> } | undefined> {
  const { part, state: statePath } = filesOf(path);
  const state = await readJson(statePath);
  const damaged = new FileError(
    `${statePath} is missing, damaged or of another version of weir: ${RESTART}`,
  );
  if (!isState(state)) {
    if (isEmpty) return undefined;
    throw damaged;
  }
  const { cursor } = state;
  if (cursor !== undefined && isSameQuery(cursor, options)) {
    return { state, pages: options.pagesAfter(cursor) };
  }
  const differences = describeDifferences(state.query, options.query);
  if (differences === undefined && cursor === undefined) return { state };
  if (isEmpty) return undefined;
  if (differences === undefined) throw damaged;
  throw new FileError(
    `${part} belongs to another query (${differences}): pass the same flags as before, or ${RESTART}`,
  );
}

/** Whether a value has the members of a state. The cursor is validated by the client. */
function isState(value: unknown): value is PartState {
  const { version, startedAt, query, force, bytes, hash, cursor, datasets = [] } =
    (value ?? {}) as Partial<
      PartState
    >;
  const isDataset = (dataset: Partial<Citation> | null) =>
    [dataset?.doi, dataset?.version, dataset?.published].every((text) => typeof text === "string");
  return version === STATE_VERSION && Number.isSafeInteger(startedAt) &&
    typeof query === "object" && query !== null &&
    typeof force === "boolean" && Number.isSafeInteger(bytes) && bytes! >= 0 &&
    typeof hash === "string" && Array.isArray(datasets) && datasets.every(isDataset) &&
    (cursor !== undefined || bytes === 0);
}

/** Reads a JSON file; `undefined` if it is missing or not valid JSON. */
async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, "utf8")) ?? undefined;
  } catch (error) {
    // After another error of the file system, such as EACCES, the file may be valid. A SyntaxError has no code.
    if (error instanceof Error && "code" in error && error.code !== "ENOENT") throw error;
    return undefined;
  }
}

/** Number of bytes per read. */
const READ_SIZE = 1 << 20;

/** Hashes the first bytes of a file. */
export async function hashFile(
  file: FileHandle,
  length = Infinity,
): Promise<{ hasher: Hash; hash: string }> {
  const hasher = createHash("sha256");
  const buffer = new Uint8Array(READ_SIZE);
  for (let at = 0; at < length;) {
    const { bytesRead } = await file.read(buffer, 0, Math.min(READ_SIZE, length - at), at);
    if (bytesRead === 0) break;
    hasher.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
  return { hasher, hash: hashText(hasher) };
}

/** Returns the text of a hash of the bytes so far. The hash can still be updated. */
function hashText(hash: Hash): string {
  return `sha256:${hash.copy().digest("hex")}`;
}

/**
 * Hashes the first bytes of a part, and compares the hash with the expected one.
 *
 * @throws {FileError} If the hash differs, or the part has fewer bytes
 */
async function hashPart(
  path: string,
  file: FileHandle,
  bytes: number,
  expected: string,
): Promise<Hash> {
  const changed = (reason: string) =>
    new FileError(`${filesOf(path).part} was changed: ${reason}: ${RESTART}`);
  const { size } = await file.stat();
  if (size < bytes) throw changed(`it has ${size} bytes, weir wrote ${bytes}`);
  const { hasher, hash } = await hashFile(file, bytes);
  if (hash === expected) return hasher;
  throw changed(`its first ${bytes} bytes differ from what weir wrote`);
}

/** Replaces a JSON file atomically. */
async function replaceFile(path: string, content: unknown, indent?: number): Promise<void> {
  const text = JSON.stringify(content, null, indent) + (indent === undefined ? "" : "\n");
  // If this path is a symbolic link, writing would change the link's target.
  await rm(`${path}.new`, { force: true });
  await writeFile(`${path}.new`, text, { flag: "wx" });
  await rename(`${path}.new`, path);
}

/** Removes FILE.part.json, and files that a killed run did not rename. */
async function removeState(path: string): Promise<void> {
  const { state, record } = filesOf(path);
  for (const name of [`${state}.new`, `${record}.new`, state]) await rm(name, { force: true });
}

/** Removes FILE.part, then its state. */
async function removePart(path: string): Promise<void> {
  await rm(filesOf(path).part, { force: true });
  await removeState(path);
}
