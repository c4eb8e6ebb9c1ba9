import { type FileHandle, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import type { Place } from "../client/read_pages.ts";
import type { WriterState } from "../output/page_writer.ts";

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
  /** What was asked for, as text: another question cannot go on with the part. */
  question: string;
}

/** What stands there before the first page is whole. */
interface Beginning {
  question: string;
  bytes: 0;
  rest?: undefined;
}

/** A file that cannot be written as it was asked. */
export class FileError extends Error {
  override readonly name = "FileError";
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
 */
export class PartFile {
  readonly #path: string;
  readonly #question: string;
  readonly #file: FileHandle;
  #bytes: number;

  private constructor(path: string, question: string, file: FileHandle, bytes: number) {
    this.#path = path;
    this.#question = question;
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
    { question, resume, force }: PartOptions,
  ): Promise<{ part: PartFile; from: Progressed | undefined }> {
    const partPath = `${path}.part`;
    if (!force && await isThere(path)) {
      throw new FileError(`${path} is there: --force overwrites it, or choose another name`);
    }
    if (resume && await hasBytes(partPath)) {
      const from = await readState(path, question);
      const file = await open(partPath, "r+");
      try {
        const { size } = await file.stat();
        if (size < from.bytes) throw new FileError(`${partPath} is shorter than it was: ${ANEW}`);
        await file.truncate(from.bytes);
        const part = new PartFile(path, question, file, from.bytes);
        return { part, from: from.rest === undefined ? undefined : from };
      } catch (error) {
        await file.close();
        throw error;
      }
    }
    // What holds nothing is nothing to go on from.
    if (force || resume) await removeParts(path);
    const file = await open(partPath, "wx").catch((error) => {
      if (error.code !== "EEXIST") throw error;
      throw new FileError(
        `${partPath} is there: another download writes it, or one broke; go on with --resume, or begin anew with --force`,
      );
    });
    const part = new PartFile(path, question, file, 0);
    await part.#keep({ question, bytes: 0 });
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

  /** Keeps how far it has come: what is written so far are whole pages. */
  async keep(progressed: Omit<Progressed, "bytes">): Promise<void> {
    await this.#keep({ question: this.#question, bytes: this.#bytes, ...progressed });
  }

  async #keep(state: State | Beginning): Promise<void> {
    const statePath = statePathOf(this.#path);
    // Under its name only when whole, too: a process can end at any time.
    await writeFile(`${statePath}.new`, JSON.stringify(state));
    await rename(`${statePath}.new`, statePath);
  }

  /** Gives the file its name. */
  async finish(): Promise<void> {
    await this.#file.sync();
    await this.#file.close();
    await rename(`${this.#path}.part`, this.#path);
    await rm(statePathOf(this.#path), { force: true });
  }

  /** Leaves the part as it is; one that holds nothing is removed. */
  async leave(isEmpty: boolean): Promise<void> {
    await this.#file.close();
    if (isEmpty) await removeParts(this.#path);
  }
}

const ANEW = "begin anew with --force";

const statePathOf = (path: string) => `${path}.part.json`;

async function isThere(path: string): Promise<boolean> {
  return await sizeOf(path) !== undefined;
}

async function hasBytes(path: string): Promise<boolean> {
  return (await sizeOf(path) ?? 0) > 0;
}

/** How many bytes a file has; undefined where there is none. */
function sizeOf(path: string): Promise<number | undefined> {
  return stat(path).then(({ size }) => size, (error) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
}

async function removeParts(path: string): Promise<void> {
  for (const name of [`${path}.part`, statePathOf(path)]) await rm(name, { force: true });
}

async function readState(path: string, question: string): Promise<State | Beginning> {
  const statePath = statePathOf(path);
  let state: State | Beginning;
  try {
    state = JSON.parse(await readFile(statePath, "utf8"));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code !== "ENOENT") throw error;
    throw new FileError(`${statePath} does not say how far ${path}.part has come: ${ANEW}`);
  }
  if (state.question !== question) {
    throw new FileError(
      `${path}.part is of another query (${state.question}): ask as before to go on, or ${ANEW}`,
    );
  }
  return state;
}
