// The files beside FILE that a download writes, other than the rows in FILE.part:
//
// - FILE.part.json: how far FILE.part is complete, replaced after each page;
// - FILE.part.shards.json and FILE.part.shards2.json: the shards of a split query that are not yet started;
// - FILE.part.datasets.json: the versions of the datasets, requested after the first of several pages;
// - FILE.incomplete.json: a note that FILE is finished and has fewer rows than the service counted.
//
// Each is first written as NAME.new, then renamed.
import { lstat, readFile, rename, rm, writeFile } from "node:fs/promises";
import type { Cursor } from "../client/batches.ts";
import { amendError, DataStreamError, ValidationError } from "../errors.ts";
import { type DownloadPage, FileError, statIfExists } from "./output.ts";
import { isCount } from "../validation.ts";

/** Version of the format of FILE.part.json. */
export const STATE_VERSION = 3;

/** Members of a state that stay the same while one run writes a part. */
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
  /** Number of shards not yet started: the last N elements of the slot's file. */
  laterShards: number;
  /** The file that has these shards. */
  slot: Slot;
  /** Number of datasets in FILE.part.datasets.json; `undefined` for a download of one page. */
  datasets?: number | undefined;
}

/**
 * Number of one of the two files of shards. The shard list is written alternately to two files, so
 * that one valid copy always exists: FILE.part.json names the valid one.
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
  const statePath = statePathOf(path);
  const damaged = (file = statePath) => new FileError(`${file} is missing or damaged: ${RESTART}`);
  let state: unknown;
  try {
    state = JSON.parse(await readFile(statePath, "utf8"));
  } catch (error) {
    // With another code, such as EACCES, the file may be valid. A SyntaxError has no code.
    if (error instanceof Error && "code" in error && error.code !== "ENOENT") throw error;
    throw damaged();
  }
  if (Number((state as PartState | null)?.version) < STATE_VERSION) {
    throw new FileError(`${statePath} was written by an earlier version of weir: ${RESTART}`);
  }
  if (!isState(state)) throw damaged();
  const otherQuery = () =>
    new FileError(
      `${partPathOf(path)} belongs to another query (${(state as RunHeader).queryJson}): ` +
        `pass the same flags as before, or ${RESTART}`,
    );
  if (state.cursor === undefined) {
    if (state.queryJson === queryJson) return { state };
    throw otherQuery();
  }
  let pages: AsyncIterable<DownloadPage>;
  try {
    pages = pagesAfter(state.cursor);
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    throw state.queryJson === queryJson ? damaged() : otherQuery();
  }
  const { cursor, laterShards, slot } = state;
  if (laterShards === 0) return { state, pages };
  const shardsPath = shardsPathOf(path, slot);
  const shards: unknown = await readFile(shardsPath, "utf8").then(JSON.parse).catch(() => null);
  if (!Array.isArray(shards) || shards.length < laterShards) throw damaged(shardsPath);
  const fullCursor = {
    ...cursor,
    remaining: [...cursor.remaining, ...shards.slice(-laterShards)],
  };
  try {
    return { state: { ...state, cursor: fullCursor }, pages: pagesAfter(fullCursor) };
  } catch (error) {
    throw error instanceof ValidationError ? damaged(shardsPath) : error;
  }
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
 * Writes the state of a part. The shards after the current shard are left out: write them with
 * {@linkcode writeShards} first.
 *
 * @param path Path of FILE
 * @returns The text of FILE.part.json
 */
export async function writeState(path: string, state: PartState | EmptyPartState): Promise<string> {
  const { cursor } = state;
  const written = cursor === undefined
    ? state
    : { ...state, cursor: { ...cursor, remaining: cursor.remaining.slice(0, 1) } };
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
  shards: Cursor["remaining"],
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
function datasetsPathOf(path: string): string {
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
async function replaceFile(path: string, content: unknown): Promise<string> {
  const text = JSON.stringify(content);
  const temporaryPath = temporaryPathOf(path);
  // If a symbolic link has this name, writing would change the file that it points to.
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

/** A published dataset: its `DOI`, `Version` and `PublishedTimestamp`. */
export type DatasetVersion = readonly [doi: string, version: string, published: string];

/**
 * FILE.part.datasets.json: the versions of the datasets that match the query of a download.
 *
 * It is written once, because a service can have hundreds of datasets.
 */
export class DatasetVersionFile {
  readonly #path: string;
  readonly #request: () => Promise<readonly DatasetVersion[]>;
  #datasets: readonly DatasetVersion[] | undefined;
  #needsWrite = false;

  /**
   * @param path Path of FILE
   * @param request Requests the current versions
   */
  constructor(path: string, request: () => Promise<readonly DatasetVersion[]>) {
    this.#path = path;
    this.#request = request;
  }

  /** Number of datasets; `undefined` if they were neither fetched nor read. */
  get length(): number | undefined {
    return this.#datasets?.length;
  }

  /**
   * Reads the versions that an earlier run wrote.
   *
   * @param length Number of datasets according to FILE.part.json
   * @throws {FileError} If the file is missing or damaged
   */
  async read(length: number): Promise<void> {
    const path = datasetsPathOf(this.#path);
    const datasets: unknown = await readFile(path, "utf8").then(JSON.parse).catch(() => undefined);
    if (!isDatasets(datasets) || datasets.length !== length) {
      throw new FileError(`${path} is missing or damaged: ${RESTART}`);
    }
    this.#datasets = datasets;
  }

  /** Requests the current versions, unless they were already fetched or read. */
  async fetch(): Promise<void> {
    if (this.#datasets !== undefined) return;
    this.#datasets = await this.#requestVersions();
    this.#needsWrite = true;
  }

  /** Requests the current versions. Adds the reason for this request to the error's hint. */
  async #requestVersions(): Promise<readonly DatasetVersion[]> {
    return await this.#request().catch((error) => {
      if (!(error instanceof DataStreamError)) throw error;
      const hint =
        `${error.hint}; this request checks that no dataset was republished during the ` +
        "download; writing to standard output skips it";
      throw amendError(error, { hint });
    });
  }

  /** Writes the fetched versions, unless they are already written. */
  async write(): Promise<void> {
    if (!this.#needsWrite) return;
    await replaceFile(datasetsPathOf(this.#path), this.#datasets);
    this.#needsWrite = false;
  }

  /**
   * Requests the current versions and compares them with those that were fetched or read earlier.
   * Does nothing if there are none.
   *
   * @throws {FileError} If they differ
   */
  async compare(): Promise<void> {
    if (this.#datasets === undefined) return;
    const changes = describeChanges(this.#datasets, await this.#requestVersions());
    if (changes === undefined) return;
    const part = partPathOf(this.#path);
    throw new FileError(
      `DataStream has published new data since ${part} was started (${changes}): ${RESTART}`,
    );
  }
}

function isDatasets(value: unknown): value is readonly DatasetVersion[] {
  return Array.isArray(value) &&
    value.every((dataset) =>
      Array.isArray(dataset) && dataset.length === 3 &&
      dataset.every((text) => typeof text === "string")
    );
}

/** Maximum number of changes that a message names. */
const MAX_CHANGES = 3;

/** Describes the differences between two lists of datasets; `undefined` if they are equal. */
function describeChanges(
  before: readonly DatasetVersion[],
  after: readonly DatasetVersion[],
): string | undefined {
  const removed = changedDatasets(before, after);
  const added = changedDatasets(after, before);
  const texts = added.map(([doi, version, published]) => {
    const old = removed.find((dataset) => dataset[0] === doi);
    if (old === undefined) return `${doi} was added`;
    return `${doi} was version ${old[1]}, published ${old[2]}, and is now version ${version}, ` +
      `published ${published}`;
  });
  for (const [doi] of removed) {
    if (!added.some((dataset) => dataset[0] === doi)) texts.push(`${doi} was removed`);
  }
  if (texts.length === 0) return undefined;
  const shown = texts.slice(0, MAX_CHANGES);
  const others = texts.length - shown.length;
  if (others > 0) shown.push(`and ${others} more`);
  return shown.join("; ");
}

/** Returns the datasets of `list` that `other` lacks or has in another version. */
function changedDatasets(
  list: readonly DatasetVersion[],
  other: readonly DatasetVersion[],
): readonly DatasetVersion[] {
  const unchanged = new Set(other.map((dataset) => JSON.stringify(dataset)));
  return list.filter((dataset) => !unchanged.has(JSON.stringify(dataset)));
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
 * A download counts as finished if FILE exists and FILE.part does not; which query wrote FILE is
 * unknown.
 *
 * @returns A description of FILE, to follow "FILE is"; `undefined` if the download is not finished
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
