// The files that a download writes in the directory of FILE, apart from FILE.part, which has the rows:
//
// - FILE.part.json: the position in the query and in FILE.part, replaced after each page;
// - FILE.part.shards.json and FILE.part.shards2.json: the shards of a split query that are not yet started;
// - FILE.part.datasets.json: the versions of the datasets (see dataset_versions.ts);
// - FILE.incomplete.json: a note that FILE is finished and has fewer rows than the service counted.
//
// Each is first written as NAME.new, then renamed.
import { lstat, readFile, rename, rm, writeFile } from "node:fs/promises";
import type { Cursor } from "../client/batches.ts";
import { ValidationError } from "../errors.ts";
import { type DownloadPage, FileError, statIfExists } from "./output.ts";
import { isCount } from "../validation.ts";

/** Version of the format of FILE.part.json. */
export const STATE_VERSION = 4;

/** Members of a state that do not change while one run writes a part (FILE.part and its state). */
export interface RunHeader {
  version: typeof STATE_VERSION;
  /** Random identifier of the run that writes the part. */
  owner: string;
  /** The resource and the flags that determine the content of the file, as JSON. */
  queryJson: string;
  /** Whether the run may overwrite FILE. */
  force: boolean;
}

/** State of a part before its first page is committed. */
export interface EmptyPartState extends RunHeader {
  bytes: 0;
  cursor?: undefined;
}

/**
 * State of a part with at least one committed page.
 *
 * FILE.part.json is replaced after each page, so lists that can be long have their own files: the
 * dataset versions, and the shards after the current shard.
 */
export interface PartState extends RunHeader {
  /** Number of committed bytes. */
  bytes: number;
  /** SHA-256 of the committed bytes, in hexadecimal. */
  sha256: string;
  /** Cursor after the last committed page. */
  cursor: Cursor;
  /** Number of shards that are not yet started. They are the last elements of the slot's file. */
  laterShards: number;
  /** The file that contains these shards. */
  slot: Slot;
  /** Number of datasets in FILE.part.datasets.json; `undefined` for a download of one page. */
  datasets?: number | undefined;
}

/**
 * Which of the two files of shards to use: FILE.part.shards.json or FILE.part.shards2.json.
 *
 * A new list of shards is written to the file that FILE.part.json does not name. The list that it names
 * therefore stays valid until FILE.part.json is replaced.
 */
export type Slot = 0 | 1;

/** Hint for a part that cannot be resumed. */
export const RESTART = "start again with --force";

/** A state with a committed page, and the pages after it. */
export interface ResumableState {
  state: PartState;
  pages: AsyncIterable<DownloadPage>;
}

/**
 * Reads the state of a part. Its cursor contains all remaining shards.
 *
 * @param path Path of FILE
 * @param queryJson Query of this run, compared with the query of the part
 * @param pagesAfter Returns the pages after a cursor; throws a `ValidationError` if the cursor does not
 *   belong to the query of this run
 * @returns The state, and the pages after its cursor if a page was committed
 * @throws {FileError} If the state is missing or damaged, or was written for another query or by an
 *   earlier version of weir
 */
export async function readState(
  path: string,
  queryJson: string,
  pagesAfter: (cursor: Cursor) => AsyncIterable<DownloadPage>,
): Promise<{ state: EmptyPartState } | ResumableState> {
  const state = await readStateFile(path);
  const isSameQuery = state.queryJson === queryJson;
  const stateError = () =>
    isSameQuery ? damagedError(statePathOf(path)) : otherQueryError(path, state);
  if (state.cursor === undefined) {
    if (isSameQuery) return { state };
    throw stateError();
  }
  const pages = unlessInvalid(() => pagesAfter(state.cursor), stateError);
  if (state.laterShards === 0) return { state, pages };
  const shardsPath = shardsPathOf(path, state.slot);
  const later = await readLaterShards(shardsPath, state.laterShards);
  const cursor = { ...state.cursor, shards: [...state.cursor.shards, ...later] };
  return {
    state: { ...state, cursor },
    pages: unlessInvalid(() => pagesAfter(cursor), () => damagedError(shardsPath)),
  };
}

/** Calls a function. If it throws a `ValidationError`, throws another error instead. */
function unlessInvalid<T>(call: () => T, toError: () => FileError): T {
  try {
    return call();
  } catch (error) {
    throw error instanceof ValidationError ? toError() : error;
  }
}

/** Reads FILE.part.json. The cursor is not validated, and contains only the current shard. */
async function readStateFile(path: string): Promise<PartState | EmptyPartState> {
  const statePath = statePathOf(path);
  let state: unknown;
  try {
    state = JSON.parse(await readFile(statePath, "utf8"));
  } catch (error) {
    // With another code, such as EACCES, the file may be valid. A SyntaxError (invalid JSON) has no code.
    if (error instanceof Error && "code" in error && error.code !== "ENOENT") throw error;
    throw damagedError(statePath);
  }
  if (Number((state as PartState | null)?.version) < STATE_VERSION) {
    throw new FileError(`${statePath} was written by an earlier version of weir: ${RESTART}`);
  }
  if (!isState(state)) throw damagedError(statePath);
  return state;
}

/** Reads the last elements of a file of shards. */
async function readLaterShards(path: string, count: number): Promise<unknown[]> {
  const shards: unknown = await readFile(path, "utf8").then(JSON.parse).catch(() => null);
  if (!Array.isArray(shards) || shards.length < count) throw damagedError(path);
  return shards.slice(-count);
}

function damagedError(path: string): FileError {
  return new FileError(`${path} is missing or damaged: ${RESTART}`);
}

function otherQueryError(path: string, { queryJson }: RunHeader): FileError {
  return new FileError(
    `${partPathOf(path)} belongs to another query (${queryJson}): ` +
      `pass the same flags as before, or ${RESTART}`,
  );
}

/** Whether a value has the members of a state. The cursor is validated by the client. */
function isState(value: unknown): value is PartState | EmptyPartState {
  if (typeof value !== "object" || value === null) return false;
  const state = value as Partial<PartState>;
  const { version, owner, queryJson, force, bytes, sha256, cursor, laterShards, slot } = state;
  if (
    version !== STATE_VERSION || typeof owner !== "string" || typeof queryJson !== "string" ||
    typeof force !== "boolean"
  ) return false;
  if (cursor === undefined) return bytes === 0;
  return [bytes, laterShards, state.datasets ?? 0].every(isCount) && typeof sha256 === "string" &&
    (slot === 0 || slot === 1);
}

/**
 * Writes FILE.part.json, without the shards after the current shard: write them first, with
 * {@linkcode writeShards}.
 *
 * @param path Path of FILE
 * @returns The text of FILE.part.json
 */
export async function writeState(path: string, state: PartState | EmptyPartState): Promise<string> {
  const { cursor } = state;
  const written = cursor === undefined
    ? state
    : { ...state, cursor: { ...cursor, shards: cursor.shards.slice(0, 1) } };
  return await replaceFile(statePathOf(path), written);
}

/**
 * Writes the shards after the current shard.
 *
 * @param path Path of FILE
 * @param slot The file that the current state does not name
 */
export async function writeShards(
  path: string,
  slot: Slot,
  shards: Cursor["shards"],
): Promise<void> {
  await replaceFile(shardsPathOf(path, slot), shards);
}

/** Returns the path of FILE.part. */
export function partPathOf(path: string): string {
  return `${path}.part`;
}

/** Returns the path of FILE.part.json. */
export function statePathOf(path: string): string {
  return `${path}.part.json`;
}

/** Returns the path of FILE.part.shards.json or FILE.part.shards2.json. */
function shardsPathOf(path: string, slot: Slot): string {
  return `${path}.part.shards${slot === 0 ? "" : "2"}.json`;
}

/** Returns the path of FILE.part.datasets.json. */
export function datasetsPathOf(path: string): string {
  return `${path}.part.datasets.json`;
}

/** Returns the path of FILE.incomplete.json. */
function incompletePathOf(path: string): string {
  return `${path}.incomplete.json`;
}

/** Returns the path under which a file is written before it is renamed. */
function temporaryPathOf(path: string): string {
  return `${path}.new`;
}

/** Returns the paths of all files that a download to FILE can write, including FILE itself. */
export function pathsOf(path: string): string[] {
  return [path, partPathOf(path), ...sidecarPathsOf(path), incompletePathOf(path)];
}

/** Returns the paths of the files that exist only as long as FILE.part does. */
function sidecarPathsOf(path: string): string[] {
  const paths = [
    statePathOf(path),
    shardsPathOf(path, 0),
    shardsPathOf(path, 1),
    datasetsPathOf(path),
  ];
  return [...paths, ...[...paths, incompletePathOf(path)].map(temporaryPathOf)];
}

/**
 * Replaces a JSON file atomically (write, then rename), because the process can be killed at any time.
 *
 * @returns The text of the file
 */
export async function replaceFile(path: string, content: unknown): Promise<string> {
  const text = JSON.stringify(content);
  const temporaryPath = temporaryPathOf(path);
  // If this path is a symbolic link, writing would change the link's target.
  await rm(temporaryPath, { force: true });
  await writeFile(temporaryPath, text, { flag: "wx" });
  await rename(temporaryPath, path);
  return text;
}

/** Removes the files that exist only as long as FILE.part does. */
export async function removeSidecars(path: string): Promise<void> {
  for (const name of sidecarPathsOf(path)) await rm(name, { force: true });
}

/** Removes FILE.part, then its sidecars. */
export async function removePart(path: string): Promise<void> {
  await rm(partPathOf(path), { force: true });
  await removeSidecars(path);
}

/** FILE.incomplete.json: a note that a finished file has fewer rows than the service counted. */
interface IncompleteNote {
  /** The resource and the flags that determine the content of the file, as JSON. */
  queryJson: string;
  /** Number of rows in the file. */
  rows: number;
  /** Number of rows that the service counted and did not deliver. */
  missingRows: number;
}

/** Writes the note if rows are missing; else removes the note of an earlier download to FILE. */
export async function updateIncompleteNote(path: string, note: IncompleteNote): Promise<void> {
  const notePath = incompletePathOf(path);
  if (note.missingRows > 0) await replaceFile(notePath, note);
  else await rm(notePath, { force: true });
}

/**
 * Removes the sidecars of a finished download. A run leaves them if it is killed just after it has
 * renamed FILE.part.
 *
 * A download counts as finished if FILE exists and FILE.part does not. FILE can be the result of another
 * query, because a complete file has no record of its query.
 *
 * @returns Text that continues the sentence "FILE is"; `undefined` if the download is not finished
 */
export async function cleanUpFinished(path: string): Promise<string | undefined> {
  if (await statIfExists(path) === undefined) return undefined;
  if (await statIfExists(partPathOf(path), lstat) !== undefined) return undefined;
  await removeSidecars(path);
  const note: Partial<IncompleteNote> = await readFile(incompletePathOf(path), "utf8")
    .then(JSON.parse).catch(() => ({}));
  const { rows, missingRows } = note;
  return missingRows === undefined
    ? "complete: it exists, and there is no part to resume"
    : `finished with ${rows} rows, ${missingRows} fewer than DataStream counted`;
}
