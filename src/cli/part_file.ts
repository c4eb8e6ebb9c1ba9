import { copyFile, type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import { FileError, requireFolder, sizeOf } from "./files.ts";
import {
  ANEW,
  type Beginning,
  legsPathOf,
  type Progressed,
  readLegs,
  readState,
  replaceFile,
  type State,
  statePathOf,
} from "./part_state.ts";

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
  /** How many legs are kept in the file of theirs. */
  #legs = 0;

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
      const state = await readState(path, question);
      if (!state.force) await requireNone(path);
      if ((await stat(partPath)).size < state.bytes) {
        throw new FileError(`${partPath} is shorter than it was: ${ANEW}`);
      }
      // A copy: another download may be writing to this one still.
      await copyFile(partPath, `${partPath}.new`);
      const file = await open(`${partPath}.new`, "r+");
      await file.truncate(state.bytes);
      await rename(`${partPath}.new`, partPath);
      const part = new PartFile(path, { ...options, force: state.force }, file, state.bytes);
      if (state.next === undefined) return { part, from: undefined };
      part.#legs = state.after;
      const { bytes, rows, expectedRows, writer } = state;
      const rest = [...state.next, ...await readLegs(path, state.after)];
      return { part, from: { rest, rows, bytes, expectedRows, writer } };
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
  async keep({ rest, ...progressed }: Omit<Progressed, "bytes">): Promise<void> {
    await this.#requireOwn();
    const [next, ...after] = rest;
    if (after.length > this.#legs) {
      // Legs are only ever taken from the front, or put before what is left of them.
      await replaceFile(legsPathOf(this.#path), after);
      this.#legs = after.length;
    }
    await this.#keep({
      version: 1,
      question: this.#options.question,
      force: this.#options.force,
      bytes: this.#bytes,
      next: next === undefined ? [] : [next],
      after: after.length,
      ...progressed,
    });
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
    await replaceFile(statePathOf(this.#path), state);
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

async function requireNone(path: string): Promise<void> {
  if (await sizeOf(path) === undefined) return;
  throw new FileError(`${path} is there: --force overwrites it, or choose another name`);
}

async function removeParts(path: string): Promise<void> {
  for (const name of [`${path}.part`, statePathOf(path), legsPathOf(path)]) {
    await rm(name, { force: true });
    await rm(`${name}.new`, { force: true });
  }
}
