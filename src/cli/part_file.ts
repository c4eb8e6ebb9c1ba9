import {
  copyFile,
  type FileHandle,
  open,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import type { Place } from "../client/read_pages.ts";
import type { WriterState } from "../output/page_writer.ts";
import { FileError, requireFolder, sizeOf } from "./files.ts";

/** How far a file has come, after a whole page. */
export interface Progressed extends Place {
  /** How many bytes of the part are whole pages. */
  bytes: number;
  /** How many rows are expected in all, where they were counted. */
  expectedRows: number | undefined;
  /** The state of the writer. */
  writer: WriterState;
}

/** What stands beside a part, in JSON. */
interface State extends Progressed {
  version: 1;
  /** What was asked for, as text: another question cannot go on with the part. */
  question: string;
  /** Whether FILE may be overwritten. */
  force: boolean;
}

/** What stands there before the first page is whole. */
interface Beginning extends Pick<State, "version" | "question" | "force"> {
  bytes: 0;
  rest?: undefined;
}

/** How a file is begun. */
export interface PartOptions {
  /** What is asked for, as text. */
  question: string;
  /** Whether to go on with a part that is there. */
  resume: boolean;
  /** Whether to overwrite what is there. */
  force: boolean;
}

/**
 * A file that is written page by page: as `FILE.part`, with its state in `FILE.part.json` beside it,
 * under its own name only when whole. What breaks in between can go on from the last whole page.
 *
 * Two downloads of one name do not mix: whoever begins later, or goes on, has a part of its own, and
 * the other one finds that its part is there no more.
 */
export class PartFile {
  readonly #path: string;
  readonly #options: PartOptions;
  readonly #file: FileHandle;
  #bytes: number;

  private constructor(path: string, options: PartOptions, file: FileHandle, bytes: number) {
    this.#path = path;
    this.#options = options;
    this.#file = file;
    this.#bytes = bytes;
  }

  /**
   * Opens the part of a file.
   *
   * @returns The part, and how far it had come; undefined where it begins
   * @throws {FileError} If the file is there, or a part that is not to be gone on with, or cannot be
   */
  static async open(
    path: string,
    options: PartOptions,
  ): Promise<{ part: PartFile; from: Progressed | undefined }> {
    const { question, resume, force } = options;
    const partPath = `${path}.part`;
    await requireFolder(path);
    if (resume && (await sizeOf(partPath) ?? 0) > 0) {
      const from = await readState(path, question);
      if (!from.force) await requireNone(path);
      if ((await stat(partPath)).size < from.bytes) {
        throw new FileError(`${partPath} is shorter than it was: ${ANEW}`);
      }
      // A copy: another download may be writing to this one still.
      await copyFile(partPath, `${partPath}.new`);
      const file = await open(`${partPath}.new`, "r+");
      await file.truncate(from.bytes);
      await rename(`${partPath}.new`, partPath);
      const part = new PartFile(path, { ...options, force: from.force }, file, from.bytes);
      return { part, from: from.rest === undefined ? undefined : from };
    }
    if (!force) await requireNone(path);
    // What holds nothing is nothing to go on from.
    if (force || resume) await removeParts(path);
    const file = await open(partPath, "wx").catch((error) => {
      if (error.code !== "EEXIST") throw error;
      throw new FileError(
        `${partPath} is there: another download writes it, or one broke; go on with --resume, or begin anew with --force`,
      );
    });
    const part = new PartFile(path, options, file, 0);
    await part.#keep({ version: 1, question, force, bytes: 0 });
    return { part, from: undefined };
  }

  /** Adds bytes after those that are there. */
  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      const { bytesWritten } = await this.#file.write(bytes, at, bytes.length - at, this.#bytes);
      at += bytesWritten;
      this.#bytes += bytesWritten;
    }
  }

  /**
   * Keeps how far it has come: what is written so far are whole pages.
   *
   * @throws {FileError} If another download has taken its place
   */
  async keep(progressed: Omit<Progressed, "bytes">): Promise<void> {
    await this.#requireOwn();
    const { question, force } = this.#options;
    await this.#keep({ version: 1, question, force, bytes: this.#bytes, ...progressed });
  }

  /**
   * Gives the file its name.
   *
   * @returns How many bytes it has
   * @throws {FileError} If another download has taken its place, or the name
   */
  async finish(): Promise<number> {
    await this.#requireOwn();
    if (!this.#options.force) await requireNone(this.#path);
    await this.#file.sync();
    await this.#file.close();
    await rename(`${this.#path}.part`, this.#path);
    await removeParts(this.#path);
    return this.#bytes;
  }

  /**
   * Leaves the part as it is; one that holds nothing is removed.
   *
   * @returns Whether there is something to go on from
   */
  async leave(isEmpty: boolean): Promise<boolean> {
    const isOwn = await this.#isOwn();
    await this.#file.close().catch(() => {});
    if (isOwn && isEmpty) await removeParts(this.#path);
    return isOwn && !isEmpty;
  }

  async #keep(state: State | Beginning): Promise<void> {
    const statePath = statePathOf(this.#path);
    // Under its name only when whole, too: a process can end at any time.
    await writeFile(`${statePath}.new`, JSON.stringify(state));
    await rename(`${statePath}.new`, statePath);
  }

  async #requireOwn(): Promise<void> {
    if (await this.#isOwn()) return;
    throw new FileError(
      `Another download has taken the place of ${this.#path}.part: let one end first`,
    );
  }

  /** Whether the part under its name is the one that is written here. */
  async #isOwn(): Promise<boolean> {
    try {
      const [own, named] = [await this.#file.stat(), await stat(`${this.#path}.part`)];
      return own.ino === named.ino && own.dev === named.dev;
    } catch {
      return false;
    }
  }
}

const ANEW = "begin anew with --force";

const statePathOf = (path: string) => `${path}.part.json`;

async function requireNone(path: string): Promise<void> {
  if (await sizeOf(path) === undefined) return;
  throw new FileError(`${path} is there: --force overwrites it, or choose another name`);
}

async function removeParts(path: string): Promise<void> {
  for (const name of [`${path}.part`, statePathOf(path)]) {
    await rm(name, { force: true });
    await rm(`${name}.new`, { force: true });
  }
}

async function readState(path: string, question: string): Promise<State | Beginning> {
  const statePath = statePathOf(path);
  const unknown = () =>
    new FileError(`${statePath} does not say how far ${path}.part has come: ${ANEW}`);
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
  const { version, question, force, bytes, rest, rows, writer } = value as Partial<State>;
  if (version !== 1 || typeof question !== "string" || typeof force !== "boolean") return false;
  if (rest === undefined) return bytes === 0;
  const isCount = (number: unknown) => Number.isSafeInteger(number) && Number(number) >= 0;
  const isLeg = (leg: unknown) =>
    typeof leg === "object" && leg !== null && "clauses" in leg && Array.isArray(leg.clauses) &&
    ("skipToken" in leg ? typeof leg.skipToken === "string" : true);
  return isCount(bytes) && isCount(rows) && Array.isArray(rest) && rest.every(isLeg) &&
    typeof writer?.isBegun === "boolean";
}
