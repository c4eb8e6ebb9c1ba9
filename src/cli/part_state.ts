import { lstat, readFile, rename, rm, writeFile } from "node:fs/promises";
import type { Shard } from "../client/shards.ts";
import type { WriterState } from "../formats/page_writer.ts";
import { FileError, statIfExists } from "./files.ts";

/** How far a file has come, after a whole page. */
export interface Progressed {
  /** Shards of the query that are still to be requested. */
  rest: readonly Shard[];
  /** Number of rows so far. */
  rows: number;
  /** Number of bytes of the part that are whole pages. */
  bytes: number;
  /** How many rows are expected in all, where they were counted. */
  expectedRows: number | undefined;
  /** The state of the writer. */
  writer: WriterState;
  /** Number of rows that the service counted and did not deliver, accepted by `--allow-incomplete`. */
  missingRows?: number | undefined;
}

/**
 * The state file beside a part, in JSON. It is replaced after each page, so lists that can be long
 * are in files of their own: the remaining legs of the query, and the datasets.
 */
export interface State extends Omit<Progressed, "rest"> {
  /** The leg that is gone on with; none at the end. */
  next: readonly Shard[];
  /** How many of the last legs come after it. */
  after: number;
  /** Which of the two files has these legs. */
  slot: 0 | 1;
  version: typeof VERSION;
  /** Random identifier of the run that writes the part. */
  owner: string;
  /** What was asked for, as text: another question cannot go on with the part. */
  question: string;
  /** Whether FILE may be overwritten. */
  force: boolean;
  /** SHA-256 of the first `bytes` bytes of the part, in hexadecimal. */
  sha256: string;
  /** Number of datasets in their file; undefined for a download of one page. */
  datasets?: number | undefined;
}

/** The state file before the first page is whole. */
export interface Beginning extends Pick<State, "version" | "owner" | "question" | "force"> {
  bytes: 0;
  next?: undefined;
}

/** Version of the state file's format. */
export const VERSION = 2;

/** Hint for a part beside a file that it must not replace. */
export const MOVE = "move it, then resume";

/** Hint for a part that cannot be resumed. */
export const RESTART = "start again with --force";

/** The path of the part of a file. */
export function partPathOf(path: string): string {
  return `${path}.part`;
}

/** The path of the state file of a part. */
export function statePathOf(path: string): string {
  return `${path}.part.json`;
}

/**
 * The path of the legs that come after. There are two slots: the state names the one that it is of, so
 * that a run that is killed between the two files leaves a state with its own legs.
 */
export function legsPathOf(path: string, slot: 0 | 1 = 0): string {
  return `${path}.part.legs${slot === 0 ? "" : "2"}.json`;
}

/** The path of the list of datasets of a part. */
export function datasetsPathOf(path: string): string {
  return `${path}.part.datasets.json`;
}

/** The path of the record of a finished file that has not all of its rows. */
function incompletePathOf(path: string): string {
  return `${path}.incomplete.json`;
}

/** The record beside a finished file that has not all of its rows. */
interface Incomplete {
  /** What was asked for, as text. */
  question: string;
  /** Number of rows in the file. */
  rows: number;
  /** Number of rows that the service counted and did not deliver. */
  missingRows: number;
}

/** The paths of the files beside a part, and those that they are written under first. */
function statePathsOf(path: string): string[] {
  const paths = [statePathOf(path), legsPathOf(path), legsPathOf(path, 1), datasetsPathOf(path)];
  return paths.flatMap((name) => [name, newPathOf(name)]);
}

/** The paths of all files that a download to a path writes, the file itself among them. */
export function pathsOf(path: string): string[] {
  return [path, partPathOf(path), ...statePathsOf(path), incompletePathOf(path)];
}

function newPathOf(path: string): string {
  return `${path}.new`;
}

/**
 * Replaces a file of JSON in one step: a process can end at any time.
 *
 * @returns The text of the file
 */
export async function replaceFile(path: string, content: unknown): Promise<string> {
  const text = JSON.stringify(content);
  // Never through a symbolic link that somebody left under that name.
  await rm(newPathOf(path), { force: true });
  await writeFile(newPathOf(path), text, { flag: "wx" });
  await rename(newPathOf(path), path);
  return text;
}

/** Removes the files beside a part. */
export async function removeState(path: string): Promise<void> {
  for (const name of statePathsOf(path)) await rm(name, { force: true });
}

/** Removes a part, then the files beside it. */
export async function removeParts(path: string): Promise<void> {
  await rm(partPathOf(path), { force: true });
  await removeState(path);
}

/**
 * Describes a finished download: its file exists and no part is beside it.
 *
 * A run that is killed just after it has named the file leaves a state, which is removed.
 *
 * Weir keeps no record of the query of a finished file, so any file counts as finished.
 *
 * @returns What to say of it: complete, or how many rows it lacks; undefined if it is not finished
 */
export async function completionOf(path: string): Promise<string | undefined> {
  if (await statIfExists(path) === undefined) return undefined;
  if (await statIfExists(partPathOf(path), lstat) !== undefined) return undefined;
  await removeState(path);
  const record: Partial<Incomplete> = await readFile(incompletePathOf(path), "utf8")
    .then(JSON.parse).catch(() => ({}));
  const { rows, missingRows } = record;
  return missingRows === undefined
    ? "complete: it exists, and no part of it is left to resume"
    : `finished with ${rows} rows, ${missingRows} fewer than the service counted`;
}

/** Records that a finished file has not all of its rows, or removes the record of an earlier file. */
export async function recordMissing(path: string, record: Incomplete): Promise<void> {
  const recordPath = incompletePathOf(path);
  if (record.missingRows > 0) await replaceFile(recordPath, record);
  else await rm(recordPath, { force: true });
}

/**
 * Reads how far a part has come.
 *
 * @throws {FileError} If that is not there, or not of the same question
 */
export async function readState(path: string, question: string): Promise<State | Beginning> {
  const statePath = statePathOf(path);
  const unknown = () => lost(path, statePath);
  let state: unknown;
  try {
    state = JSON.parse(await readFile(statePath, "utf8"));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code !== "ENOENT") throw error;
    throw unknown();
  }
  if (Number((state as State | null)?.version) < VERSION) {
    throw new FileError(`${statePath} was written by an earlier version of weir: ${RESTART}`);
  }
  if (!isState(state)) throw unknown();
  if (state.question !== question) {
    throw new FileError(
      `${path}.part is of another query (${state.question}): ask as before to go on, or ${RESTART}`,
    );
  }
  return state;
}

/** Whether that was written here, as far as it must be to go on. */
function isState(value: unknown): value is State | Beginning {
  if (typeof value !== "object" || value === null) return false;
  const { version, question, force, bytes, next } = value as Partial<State>;
  if (version !== VERSION || typeof question !== "string" || typeof force !== "boolean") {
    return false;
  }
  if (next === undefined) return bytes === 0;
  const { sha256, datasets, after, slot, rows, writer, missingRows } = value as Partial<State>;
  return [bytes, rows, after, datasets ?? 0, missingRows ?? 0].every(isCount) && isLegs(next) &&
    (slot === 0 || slot === 1) && typeof sha256 === "string" &&
    typeof writer?.isBegun === "boolean";
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** The last legs of those that were kept. */
export async function readLegs(
  path: string,
  count: number,
  slot: 0 | 1,
): Promise<readonly Shard[]> {
  if (count === 0) return [];
  const legsPath = legsPathOf(path, slot);
  const legs: unknown = await readFile(legsPath, "utf8").then(JSON.parse).catch(() => undefined);
  if (!isLegs(legs) || legs.length < count) throw lost(path, legsPath);
  return legs.slice(-count);
}

function isLegs(value: unknown): value is readonly Shard[] {
  return Array.isArray(value) &&
    value.every((leg) =>
      typeof leg === "object" && leg !== null && Array.isArray(leg.clauses) &&
      (leg.skipToken === undefined || typeof leg.skipToken === "string")
    );
}

function lost(path: string, file: string): FileError {
  return new FileError(`${file} does not say how far ${path}.part has come: ${RESTART}`);
}
