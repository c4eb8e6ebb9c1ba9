import { readFile, rename, writeFile } from "node:fs/promises";
import type { Leg } from "../client/legs.ts";
import type { Place } from "../client/read_pages.ts";
import type { WriterState } from "../output/page_writer.ts";
import { FileError } from "./files.ts";

/** How far a file has come, after a whole page. */
export interface Progressed extends Place {
  /** How many bytes of the part are whole pages. */
  bytes: number;
  /** How many rows are expected in all, where they were counted. */
  expectedRows: number | undefined;
  /** The state of the writer. */
  writer: WriterState;
}

/**
 * What stands beside a part, in JSON. Of what is left of the query only what changes with each page,
 * and how much comes after it: that stands in a file of its own, for it can be long.
 */
export interface State extends Omit<Progressed, "rest"> {
  /** The leg that is gone on with; none at the end. */
  next: readonly Leg[];
  /** How many of the last legs come after it. */
  after: number;
  version: 1;
  /** What was asked for, as text: another question cannot go on with the part. */
  question: string;
  /** Whether FILE may be overwritten. */
  force: boolean;
}

/** What stands there before the first page is whole. */
export interface Beginning extends Pick<State, "version" | "question" | "force"> {
  bytes: 0;
  next?: undefined;
}

/** What helps where nothing else does. */
export const ANEW = "begin anew with --force";

/** Where the state of a part is kept. */
export function statePathOf(path: string): string {
  return `${path}.part.json`;
}

/** Where the legs that come after are kept. */
export function legsPathOf(path: string): string {
  return `${path}.part.legs.json`;
}

/** Writes a file of JSON that has its name only when it is whole: a process can end at any time. */
export async function replaceFile(path: string, content: unknown): Promise<void> {
  await writeFile(`${path}.new`, JSON.stringify(content));
  await rename(`${path}.new`, path);
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
  if (!isState(state)) throw unknown();
  if (state.question !== question) {
    throw new FileError(
      `${path}.part is of another query (${state.question}): ask as before to go on, or ${ANEW}`,
    );
  }
  return state;
}

/** Whether that was written here, as far as it must be to go on. */
function isState(value: unknown): value is State | Beginning {
  if (typeof value !== "object" || value === null) return false;
  const { version, question, force, bytes, next, after, rows, writer } = value as Partial<State>;
  if (version !== 1 || typeof question !== "string" || typeof force !== "boolean") return false;
  if (next === undefined) return bytes === 0;
  const isCount = (number: unknown) => Number.isSafeInteger(number) && Number(number) >= 0;
  return isCount(bytes) && isCount(rows) && isCount(after) && isLegs(next) &&
    typeof writer?.isBegun === "boolean";
}

/** The last legs of those that were kept. */
export async function readLegs(path: string, count: number): Promise<readonly Leg[]> {
  if (count === 0) return [];
  const legsPath = legsPathOf(path);
  const legs: unknown = await readFile(legsPath, "utf8").then(JSON.parse).catch(() => undefined);
  if (!isLegs(legs) || legs.length < count) throw lost(path, legsPath);
  return legs.slice(-count);
}

function isLegs(value: unknown): value is readonly Leg[] {
  return Array.isArray(value) &&
    value.every((leg) =>
      typeof leg === "object" && leg !== null && Array.isArray(leg.clauses) &&
      (leg.skipToken === undefined || typeof leg.skipToken === "string")
    );
}

function lost(path: string, file: string): FileError {
  return new FileError(`${file} does not say how far ${path}.part has come: ${ANEW}`);
}
