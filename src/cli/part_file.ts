// The files of a download to FILE:
//
// - FILE.part: the rows so far, renamed to FILE when they are complete;
// - FILE.part.json: the query, the dataset versions, and position, number of bytes and hash after the last page;
// - FILE.datapackage.json: the record of a finished FILE, with its hash, query and dataset versions.
//
// JSON files are written as NAME.new, then renamed, because the process can be killed at any time.
import { createHash, type Hash, randomUUID } from "node:crypto";
import { type FileHandle, lstat, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import type { Cursor } from "../client/batches.ts";
import type { DatasetVersion } from "../client/dataset_versions.ts";
import { DataStreamError, ValidationError } from "../errors.ts";
import { VERSION } from "../version.ts";
import { describeChanges, explainVersionError } from "./dataset_versions.ts";
import {
  copyPermissions,
  type DownloadPage,
  explainingErrors,
  FileError,
  type Output,
  requireReplaceable,
  statIfExists,
} from "./output.ts";

/** What determines the content of a file: the resource, the service, and values of flags by name. */
export type QueryRecord = Readonly<Record<string, unknown>>;

/** The record of a finished file. The names of its members are those of Frictionless Data Package v1. */
interface DataPackage {
  name: string;
  resources: readonly [{ name: string; path: string; bytes: number; hash: string }];
  weir: {
    version: string;
    query: QueryRecord;
    rows: number;
    /** Number of rows that the service counted and did not deliver. */
    missingRows: number;
    /** Cursor after the last page, which tells whether another query has the same result. */
    cursor: Cursor;
    /** Versions of the datasets that match the query, if they are known. */
    datasets?: readonly DatasetVersion[] | undefined;
  };
}

/** What is known about a finished file. */
export type FileRecord = DataPackage["weir"];

/** Content of FILE.part.json. */
interface PartState {
  version: typeof STATE_VERSION;
  /** Random identifier of the run that writes the part. */
  run: string;
  query: QueryRecord;
  /** Whether the run may overwrite FILE. */
  force: boolean;
  /** Number of bytes of the complete pages. */
  bytes: number;
  /** Hash of these bytes. */
  hash: string;
  /** Cursor after the last complete page; `undefined` before the first one. */
  cursor?: Cursor;
  /** Dataset versions; `undefined` if they were not requested. */
  datasets?: readonly DatasetVersion[] | undefined;
  /** The record of FILE, from the time at which FILE.part is complete. */
  finished?: DataPackage;
}

/** Version of the format of FILE.part.json. */
const STATE_VERSION = 5;

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
  /** Requests the versions of the datasets that match the query. */
  requestDatasets: () => Promise<readonly DatasetVersion[]>;
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
  const partPath = partPathOf(path);
  const found = await statIfExists(partPath, lstat);
  const earlier = !resume || found === undefined
    ? undefined
    : await readState(path, options).catch((error) => {
      // A run that was killed at its start leaves an empty part without a state.
      if (found.size > 0 || !(error instanceof FileError)) throw error;
    });
  const force = options.force || earlier?.state.force === true;
  const replaced = await requireReplaceable(path, force, found && resume ? MOVE : undefined);
  if (earlier?.pages !== undefined) {
    if (!found!.isFile()) throw new FileError(`${partPath} is not a regular file: ${RESTART}`);
    const { state, pages } = earlier;
    const file = await open(partPath, "r+");
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
  if (force || resume) await removePart(path);
  // The permissions of the file to replace, with read and write for the owner, which --resume needs.
  const mode = replaced === undefined ? 0o666 : replaced.mode & 0o777 | 0o600;
  const file = await open(partPath, "wx", mode).catch((error) => {
    if (error.code !== "EEXIST") throw error;
    throw new FileError(
      `${partPath} already exists: another download is running or was interrupted: ` +
        `continue it with --resume, or ${RESTART}`,
    );
  });
  const hash = createHash("sha256");
  const state: PartState = {
    ...{ version: STATE_VERSION, run: "", query, force, bytes: 0 },
    hash: hashText(hash),
  };
  try {
    return { output: await createOutput(path, { ...options, force }, file, { state, hash }) };
  } catch (error) {
    // Such as a full disk. An empty part would block the next run.
    await file.close();
    await removePart(path).catch(() => {});
    throw error;
  }
}

/**
 * Creates the output that writes FILE.part page by page.
 *
 * A page is committed once its bytes are on disk and a FILE.part.json that includes them has been renamed into
 * place. A run that resumes overwrites the bytes after the last committed page.
 *
 * A run can resume a part while the run that started it is still alive: a file lock is not used, because no portable
 * lock is released when the process that holds it is killed. The later run writes FILE.part.json, and the earlier one
 * fails at its next step, because it finds a text that it did not write. If it writes in between, the later run
 * detects it at its end, when it hashes the whole part.
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
  const isResumed = earlier.state.cursor !== undefined;
  const startedAt = Date.now();
  let state: PartState = { ...earlier.state, run: randomUUID() };
  /** Text of FILE.part.json as this run last wrote it. */
  let stateText = "";
  let { bytes } = state;
  let last: DownloadPage | undefined;
  let hasNewPages = false;
  /** Whether a later run can complete the part. */
  let canResume = true;

  const isOwned = async () => {
    try {
      if (await readFile(statePathOf(path), "utf8") !== stateText) return false;
      const [opened, named] = [await file.stat(), await lstat(partPathOf(path))];
      return opened.ino === named.ino && opened.dev === named.dev;
    } catch {
      return false;
    }
  };
  const requireOwned = async () => {
    if (await isOwned()) return;
    throw new FileError(
      `${partPathOf(path)} was taken over by another download, moved or removed: ${RESTART}`,
    );
  };
  const writeState = async (changes: Partial<PartState>) => {
    state = { ...state, ...changes };
    stateText = await replaceFile(statePathOf(path), state);
  };
  /** Rethrows an error. After a `FileError` the part cannot be resumed: a later run would fail too. */
  const fail = (error: unknown): never => {
    canResume = !(error instanceof FileError);
    throw error;
  };

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
    hasNewPages = true;
  };
  const finish = async (missingRows: number) => {
    if (hasNewPages) {
      const changes = await findChanges(state.datasets, options);
      if (changes !== undefined) fail(changedError(path, changes));
    }
    const datasets = await knownVersions(state.datasets, options, startedAt);
    await requireOwned();
    await file.truncate(bytes);
    const finalHash = hashText(hash);
    if (isResumed) await hashPart(path, file, bytes, finalHash).catch(fail);
    const replaced = await requireReplaceable(path, options.force, MOVE);
    if (replaced !== undefined) await copyPermissions(file, replaced);
    await file.sync();
    await requireOwned();
    const { query } = options;
    const { cursor, totalRows: rows } = last!;
    const record = { version: VERSION, query, rows, missingRows, cursor, datasets };
    const finished = toPackage(path, bytes, finalHash, record);
    await writeState({ finished });
    await file.close();
    await rename(partPathOf(path), path);
    await replaceFile(recordPathOf(path), finished, 2);
    await removeState(path);
    return bytes;
  };

  await writeState({});
  await requireOwned();
  return {
    write: (page) => explainingErrors(path, write(page)),
    finish: (missingRows) => explainingErrors(path, finish(missingRows)),
    async abandon(rows) {
      const mayRemove = await isOwned();
      await file.close().catch(() => {});
      if (!mayRemove) return undefined;
      if (rows === 0) await removePart(path);
      return rows > 0 && canResume ? partPathOf(path) : undefined;
    },
  };
}

/**
 * Returns the record of a finished download of a query; `undefined` if FILE is missing or FILE.part exists.
 *
 * A run that was killed just after it renamed FILE.part leaves FILE.part.json, from which the record is written.
 *
 * @throws {FileError} If FILE has no record, belongs to another query, or was changed
 */
export async function readFinished(
  path: string,
  options: FileOptions,
): Promise<FileRecord | undefined> {
  if (await statIfExists(path) === undefined) return undefined;
  if (await statIfExists(partPathOf(path), lstat) !== undefined) return undefined;
  const recordPath = recordPathOf(path);
  const file = await open(path, "r");
  const { hash } = await hashFile(file).finally(() => file.close());
  const state = await readJson(statePathOf(path)) as Partial<PartState> | undefined;
  let record = await readJson(recordPath) as Partial<DataPackage> | undefined;
  if (state?.finished?.resources?.[0]?.hash === hash) {
    await replaceFile(recordPath, state.finished, 2);
    record = state.finished;
  }
  await removeState(path);
  const again = "pass --force to download it again, or choose another name";
  const { weir, resources } = record ?? {};
  if (typeof weir?.query !== "object" || weir.query === null || !resources?.[0]) {
    throw new FileError(
      `${path} already exists, without ${recordPath}, which names its query: ${again}`,
    );
  }
  const differences = describeDifferences(weir.query, options.query);
  if (differences !== undefined && !isSameQuery(weir.cursor, options)) {
    throw new FileError(`${path} is the result of another query (${differences}): ${again}`);
  }
  if (resources[0].hash !== hash) {
    throw new FileError(`${path} was changed since weir wrote it: ${again}`);
  }
  return weir;
}

/** Whether a cursor belongs to the query of this run: the same query can have other flags. */
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

/** Creates the record of a finished file. */
function toPackage(path: string, bytes: number, hash: string, weir: FileRecord): DataPackage {
  const name = basename(path).toLowerCase().replace(/[^-a-z0-9._/]+/g, "-");
  return { name, resources: [{ name, path: basename(path), bytes, hash }], weir };
}

/** Time (ms) before a download within which a dataset may have been published while its first page was read. */
const RECENT = 600_000;

/**
 * Returns the dataset versions for the record of a file; `undefined` if a dataset was published so recently that
 * the first page can have an earlier version, or if the versions cannot be requested.
 */
async function knownVersions(
  datasets: readonly DatasetVersion[] | undefined,
  { requestDatasets }: FileOptions,
  startedAt: number,
): Promise<readonly DatasetVersion[] | undefined> {
  try {
    const versions = datasets ?? await requestDatasets();
    const isRecent = versions.some(([, , published]) => Date.parse(published) > startedAt - RECENT);
    return isRecent ? undefined : versions;
  } catch (error) {
    if (error instanceof DataStreamError) return undefined;
    throw error;
  }
}

async function requestVersions({ requestDatasets }: FileOptions) {
  return await requestDatasets().catch(explainVersionError);
}

/** Describes how the datasets have changed; `undefined` if they have not, or no versions are known. */
async function findChanges(
  datasets: readonly DatasetVersion[] | undefined,
  options: FileOptions,
): Promise<string | undefined> {
  return datasets && describeChanges(datasets, await requestVersions(options));
}

function changedError(path: string, changes: string): FileError {
  return new FileError(
    `DataStream has published new data since ${
      partPathOf(path)
    } was started (${changes}): ${RESTART}`,
  );
}

/**
 * Reads the state of a part, and the pages after its cursor if a page was committed.
 *
 * @throws {FileError} If the state is missing or damaged, or was written for another query or by an earlier
 *   version of weir
 */
async function readState(
  path: string,
  options: FileOptions,
): Promise<{ state: PartState; pages?: AsyncIterable<DownloadPage> }> {
  const statePath = statePathOf(path);
  const state = await readJson(statePath) as PartState | undefined;
  if (Number(state?.version) < STATE_VERSION) {
    throw new FileError(`${statePath} was written by an earlier version of weir: ${RESTART}`);
  }
  const damaged = new FileError(`${statePath} is missing or damaged: ${RESTART}`);
  if (!isState(state)) throw damaged;
  const { cursor } = state;
  if (cursor !== undefined && isSameQuery(cursor, options)) {
    return { state, pages: options.pagesAfter(cursor) };
  }
  const differences = describeDifferences(state.query, options.query);
  if (differences !== undefined) {
    throw new FileError(
      `${partPathOf(path)} belongs to another query (${differences}): ` +
        `pass the same flags as before, or ${RESTART}`,
    );
  }
  if (cursor !== undefined) throw damaged;
  return { state };
}

/** Whether a value has the members of a state. The cursor is validated by the client. */
function isState(value: unknown): value is PartState {
  if (typeof value !== "object" || value === null) return false;
  const { version, query, force, bytes, hash, cursor, datasets } = value as Partial<PartState>;
  const areDatasets = datasets === undefined ||
    Array.isArray(datasets) &&
      datasets.every((dataset) =>
        Array.isArray(dataset) && dataset.length === 3 &&
        dataset.every((text) => typeof text === "string")
      );
  return version === STATE_VERSION && typeof query === "object" && query !== null &&
    typeof force === "boolean" && Number.isSafeInteger(bytes) && bytes! >= 0 &&
    typeof hash === "string" && areDatasets && (cursor !== undefined || bytes === 0);
}

/** Reads a JSON file; `undefined` if it is missing or no JSON. */
async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, "utf8")) ?? undefined;
  } catch (error) {
    // With another code, such as EACCES, the file may be valid. A SyntaxError (invalid JSON) has no code.
    if (error instanceof Error && "code" in error && error.code !== "ENOENT") throw error;
    return undefined;
  }
}

/** Number of bytes per read. */
const READ_SIZE = 1 << 20;

/** Hashes the first bytes of a file. */
async function hashFile(
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

/** Returns the text of a hash, which can be updated with more bytes. */
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
    new FileError(`${partPathOf(path)} was changed: ${reason}: ${RESTART}`);
  const { size } = await file.stat();
  if (size < bytes) throw changed(`it has ${size} bytes, weir wrote ${bytes}`);
  const { hasher, hash } = await hashFile(file, bytes);
  if (hash === expected) return hasher;
  throw changed(`its first ${bytes} bytes differ from what weir wrote`);
}

/** Returns the path of FILE.part. */
function partPathOf(path: string): string {
  return `${path}.part`;
}

/** Returns the path of FILE.part.json. */
function statePathOf(path: string): string {
  return `${path}.part.json`;
}

/** Returns the path of FILE.datapackage.json. */
function recordPathOf(path: string): string {
  return `${path}.datapackage.json`;
}

/** Returns the path under which a file is written before it is renamed. */
function temporaryPathOf(path: string): string {
  return `${path}.new`;
}

/** Returns the paths of all files that a download to FILE can write, including FILE itself. */
export function pathsOf(path: string): string[] {
  const sidecars = [statePathOf(path), recordPathOf(path)];
  return [path, partPathOf(path), ...sidecars, ...sidecars.map(temporaryPathOf)];
}

/** Replaces a JSON file atomically. Returns its text. */
async function replaceFile(path: string, content: unknown, indent?: number): Promise<string> {
  const text = JSON.stringify(content, null, indent) + (indent === undefined ? "" : "\n");
  const temporaryPath = temporaryPathOf(path);
  // If this path is a symbolic link, writing would change the link's target.
  await rm(temporaryPath, { force: true });
  await writeFile(temporaryPath, text, { flag: "wx" });
  await rename(temporaryPath, path);
  return text;
}

/** Removes FILE.part.json, and files that a killed run did not rename. */
async function removeState(path: string): Promise<void> {
  for (const name of pathsOf(path).slice(-2)) await rm(name, { force: true });
  await rm(statePathOf(path), { force: true });
}

/** Removes FILE.part, then its state. */
async function removePart(path: string): Promise<void> {
  await rm(partPathOf(path), { force: true });
  await removeState(path);
}
