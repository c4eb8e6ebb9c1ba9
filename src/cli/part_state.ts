// The files beside FILE.part: its state, the shards and datasets that are too long for the state, and
// the record of a finished file that lacks rows.
import { lstat, readFile, rename, rm, writeFile } from "node:fs/promises";
import type { Cursor } from "../client/batches.ts";
import { amendError, DataStreamError, ValidationError } from "../errors.ts";
import { FileError, statIfExists } from "./output.ts";

/** Version of the state file's format. */
export const VERSION = 3;

/** Members of a state that do not change while one run writes a part. */
export interface Identity {
  version: typeof VERSION;
  /** Random identifier of the run that writes the part. */
  owner: string;
  /** Flags that determine the content of the file, as text. */
  fingerprint: string;
  /** Whether the run may overwrite FILE. */
  force: boolean;
}

/** State of a part before its first page is committed. */
export interface EmptyState extends Identity {
  bytes: 0;
  cursor?: undefined;
}

/**
 * State of a part, in a JSON file beside it. The file is replaced after each page, so lists that can
 * be long are in files of their own: the datasets, and the shards of the query after the current one.
 */
export interface State extends Identity {
  /** Number of committed bytes. */
  bytes: number;
  /** SHA-256 of these bytes, in hexadecimal. */
  sha256: string;
  /** Cursor of the last committed page, with the current shard alone. */
  cursor: Cursor;
  /** Number of shards after the current one: the last ones in the file of the slot. */
  laterShards: number;
  /** Which of the two files has these shards. */
  slot: Slot;
  /** Number of datasets in their file; `undefined` for a download of one page. */
  datasets?: number | undefined;
}

/**
 * One of two files of shards. Only the one that the state does not name is replaced, so that a run
 * that is killed between the two writes leaves a state with its own shards.
 */
export type Slot = 0 | 1;

/** Hint for a part that cannot be resumed. */
export const RESTART = "start again with --force";

/**
 * Reads the state of a part, and adds the shards of their file to its cursor.
 *
 * @param fingerprint Flags of this run
 * @param validate Throws a `ValidationError` if a cursor is not one of the query of this run
 * @throws {FileError} If the state is missing or invalid, or of another query or an earlier version
 */
export async function readState(
  path: string,
  fingerprint: string,
  validate: (cursor: Cursor) => void,
): Promise<State | EmptyState> {
  const statePath = statePathOf(path);
  const invalid = (file = statePath) =>
    new FileError(`${file} does not say how to continue ${partPathOf(path)}: ${RESTART}`);
  let state: unknown;
  try {
    state = JSON.parse(await readFile(statePath, "utf8"));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code !== "ENOENT") throw error;
    throw invalid();
  }
  if (Number((state as State | null)?.version) < VERSION) {
    throw new FileError(`${statePath} was written by an earlier version of weir: ${RESTART}`);
  }
  if (!isState(state)) throw invalid();
  const otherQuery = () =>
    new FileError(
      `${partPathOf(path)} is of another query (${(state as Identity).fingerprint}): ` +
        `pass the same flags as before, or ${RESTART}`,
    );
  if (state.cursor === undefined) {
    if (state.fingerprint === fingerprint) return state;
    throw otherQuery();
  }
  try {
    validate(state.cursor);
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    throw state.fingerprint === fingerprint ? invalid() : otherQuery();
  }
  const { cursor, laterShards, slot } = state;
  if (laterShards === 0) return state;
  const shardsPath = shardsPathOf(path, slot);
  const shards: unknown = await readFile(shardsPath, "utf8").then(JSON.parse).catch(() => null);
  if (!Array.isArray(shards) || shards.length < laterShards) throw invalid(shardsPath);
  const complete = {
    ...cursor,
    remaining: [...cursor.remaining, ...shards.slice(-laterShards)],
  };
  try {
    validate(complete);
  } catch (error) {
    throw error instanceof ValidationError ? invalid(shardsPath) : error;
  }
  return { ...state, cursor: complete };
}

/** Whether a value has the members of a state. The cursor is validated by the client. */
function isState(value: unknown): value is State | EmptyState {
  if (typeof value !== "object" || value === null) return false;
  const state = value as Partial<State>;
  const { version, owner, fingerprint, force, bytes, sha256, cursor, laterShards, slot } = state;
  if (
    version !== VERSION || typeof owner !== "string" || typeof fingerprint !== "string" ||
    typeof force !== "boolean"
  ) return false;
  if (cursor === undefined) return bytes === 0;
  return [bytes, laterShards, state.datasets ?? 0].every(isCount) && typeof sha256 === "string" &&
    (slot === 0 || slot === 1);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** Returns the path of the part of a file. */
export function partPathOf(path: string): string {
  return `${path}.part`;
}

/** Returns the path of the state of a part. */
export function statePathOf(path: string): string {
  return `${path}.part.json`;
}

/** Returns the path of the shards in a slot; earlier versions called shards legs. */
export function shardsPathOf(path: string, slot: Slot): string {
  return `${path}.part.legs${slot === 0 ? "" : "2"}.json`;
}

/** Returns the path of the datasets of a part. */
export function datasetsPathOf(path: string): string {
  return `${path}.part.datasets.json`;
}

/** Returns the path of the record of a finished file that lacks rows. */
function incompletePathOf(path: string): string {
  return `${path}.incomplete.json`;
}

/** Returns the path that a new version of a file has until it is complete. */
function newPathOf(path: string): string {
  return `${path}.new`;
}

/** Returns the paths of all files that a download to a path can write, including the path itself. */
export function pathsOf(path: string): string[] {
  return [path, partPathOf(path), ...temporaryPathsOf(path), incompletePathOf(path)];
}

/** Returns the paths of the files that exist only while a part does. */
function temporaryPathsOf(path: string): string[] {
  const paths = [
    statePathOf(path),
    shardsPathOf(path, 0),
    shardsPathOf(path, 1),
    datasetsPathOf(path),
  ];
  return [...paths, ...[...paths, incompletePathOf(path)].map(newPathOf)];
}

/**
 * Replaces a JSON file in one step, because a process can be killed at any time.
 *
 * @returns The text of the file
 */
export async function replaceFile(path: string, content: unknown): Promise<string> {
  const text = JSON.stringify(content);
  // A symbolic link of that name must not be followed.
  await rm(newPathOf(path), { force: true });
  await writeFile(newPathOf(path), text, { flag: "wx" });
  await rename(newPathOf(path), path);
  return text;
}

/** Removes the files beside a part. */
export async function removeState(path: string): Promise<void> {
  for (const name of temporaryPathsOf(path)) await rm(name, { force: true });
}

/** Removes a part, then the files beside it. */
export async function removePart(path: string): Promise<void> {
  await rm(partPathOf(path), { force: true });
  await removeState(path);
}

/** A published dataset: its `DOI`, `Version` and `PublishedTimestamp`. */
export type DatasetVersion = readonly [doi: string, version: string, published: string];

/**
 * The versions of the datasets that the rows of a part come from.
 *
 * They have a file of their own, which is written once: a service can have hundreds of datasets, and
 * the state file is written for each page.
 */
export class DatasetRecord {
  readonly #path: string;
  readonly #request: () => Promise<readonly DatasetVersion[]>;
  #datasets: readonly DatasetVersion[] | undefined;
  #isWritten = true;

  /**
   * @param path Path of the file that is downloaded
   * @param request Requests the current versions
   */
  constructor(path: string, request: () => Promise<readonly DatasetVersion[]>) {
    this.#path = path;
    this.#request = request;
  }

  /** Number of recorded datasets; undefined if none were recorded. */
  get length(): number | undefined {
    return this.#datasets?.length;
  }

  /**
   * Reads the versions that an earlier run recorded.
   *
   * @param length Number of datasets according to the state file
   * @throws {FileError} If the record is missing or invalid
   */
  async read(length: number): Promise<void> {
    const path = datasetsPathOf(this.#path);
    const datasets: unknown = await readFile(path, "utf8").then(JSON.parse).catch(() => undefined);
    if (!isDatasets(datasets) || datasets.length !== length) {
      throw new FileError(
        `${path} does not list the datasets of ${partPathOf(this.#path)}: ${RESTART}`,
      );
    }
    this.#datasets = datasets;
  }

  /** Requests the current versions, unless some were recorded. */
  async record(): Promise<void> {
    if (this.#datasets !== undefined) return;
    this.#datasets = await this.#requestVersions();
    this.#isWritten = false;
  }

  /** Requests the current versions. An error says why they are requested. */
  async #requestVersions(): Promise<readonly DatasetVersion[]> {
    return await this.#request().catch((error) => {
      if (!(error instanceof DataStreamError)) throw error;
      const hint = `${error.hint}; weir compares dataset versions for a file of several pages, ` +
        "not for standard output";
      throw amendError(error, { hint });
    });
  }

  /** Writes the record to its file, unless it is already written. */
  async write(): Promise<void> {
    if (this.#isWritten) return;
    await replaceFile(datasetsPathOf(this.#path), this.#datasets);
    this.#isWritten = true;
  }

  /**
   * Requests the current versions and compares them with the recorded ones, if any.
   *
   * @throws {FileError} If they differ
   */
  async compare(): Promise<void> {
    if (this.#datasets === undefined) return;
    const changes = describeChanges(this.#datasets, await this.#requestVersions());
    if (changes === undefined) return;
    const part = partPathOf(this.#path);
    throw new FileError(
      `The service has published new data since ${part} was started (${changes}): ${RESTART}`,
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

/** Describes the differences between two lists of datasets; `undefined` if there are none. */
function describeChanges(
  before: readonly DatasetVersion[],
  after: readonly DatasetVersion[],
): string | undefined {
  const removed = without(before, after);
  const added = without(after, before);
  const texts = added.map(([doi, version, published]) => {
    const old = removed.find((dataset) => dataset[0] === doi);
    if (old === undefined) return `${doi} was added`;
    return `${doi} was version ${old[1]}, published ${old[2]}, and is now version ${version}, ` +
      `published ${published}`;
  });
  for (const [doi] of removed) {
    if (!added.some((dataset) => dataset[0] === doi)) texts.push(`${doi} was removed`);
  }
  if (texts.length > MAX_CHANGES) {
    texts.push(`and ${texts.splice(MAX_CHANGES).length} more`);
  }
  return texts.length === 0 ? undefined : texts.join("; ");
}

/** Returns the datasets of a list that are not in another list in the same version. */
function without(
  list: readonly DatasetVersion[],
  other: readonly DatasetVersion[],
): readonly DatasetVersion[] {
  const known = new Set(other.map((dataset) => JSON.stringify(dataset)));
  return list.filter((dataset) => !known.has(JSON.stringify(dataset)));
}

/** The record beside a finished file that lacks rows. */
interface IncompleteRecord {
  /** Flags that determine the content of the file, as text. */
  fingerprint: string;
  /** Number of rows in the file. */
  rows: number;
  /** Number of rows that the service counted and did not deliver. */
  missingRows: number;
}

/** Records that a finished file lacks rows, or removes the record of an earlier file. */
export async function recordMissingRows(path: string, record: IncompleteRecord): Promise<void> {
  const recordPath = incompletePathOf(path);
  if (record.missingRows > 0) await replaceFile(recordPath, record);
  else await rm(recordPath, { force: true });
}

/**
 * Describes a finished download: its file exists without a part. Any file counts as finished, because
 * the query of a finished file is not recorded.
 *
 * Removes the state that a run leaves if it is killed after it has renamed the part.
 *
 * @returns What is known about the file; `undefined` if the download is not finished
 */
export async function describeFinished(path: string): Promise<string | undefined> {
  if (await statIfExists(path) === undefined) return undefined;
  if (await statIfExists(partPathOf(path), lstat) !== undefined) return undefined;
  await removeState(path);
  const record: Partial<IncompleteRecord> = await readFile(incompletePathOf(path), "utf8")
    .then(JSON.parse).catch(() => ({}));
  const { rows, missingRows } = record;
  return missingRows === undefined
    ? "complete: it exists, and there is no part to resume"
    : `finished with ${rows} rows, ${missingRows} fewer than the service counted`;
}
