import { createHash, type Hash, randomUUID } from "node:crypto";
import { type FileHandle, lstat, open, readFile, rename } from "node:fs/promises";
import type { Shard } from "../client/shards.ts";
import { DatasetRecord, type DatasetVersion } from "./dataset_versions.ts";
import { copyPermissions, FileError, requireReplaceable, statIfExists } from "./files.ts";
import {
  type Beginning,
  legsPathOf,
  MOVE,
  partPathOf,
  type Progressed,
  readLegs,
  readState,
  recordMissing,
  removeParts,
  removeState,
  replaceFile,
  RESTART,
  type State,
  statePathOf,
  VERSION,
} from "./part_state.ts";

/** An open part, and how far an earlier run had come; undefined where it begins. */
interface OpenPart {
  part: PartFile;
  from: Progressed | undefined;
}

/**
 * Opens the part of a file.
 *
 * @param path The path of the file
 * @throws {FileError} If the file or a part exists that the options do not allow to replace, or a
 *   part cannot be resumed
 * @throws {DataStreamError} If the datasets of a part cannot be compared
 */
export async function openPart(path: string, options: PartOptions): Promise<OpenPart> {
  const { question, resume } = options;
  const partPath = partPathOf(path);
  const found = await statIfExists(partPath, lstat);
  const state = !resume || found === undefined
    ? undefined
    : await readState(path, question).catch((error) => {
      // An empty part without a state is that of a run that was killed at its start.
      if (found.size > 0 || !(error instanceof FileError)) throw error;
    });
  const force = options.force || state?.force === true;
  const replaced = await requireReplaceable(path, force, found && resume ? MOVE : undefined);
  if (state?.next !== undefined) {
    if (!found!.isFile()) throw new FileError(`${partPath} is not a regular file: ${RESTART}`);
    return await resumePart(path, { ...options, force }, state);
  }
  if (force || resume) await removeParts(path);
  // Never more open to others than the file that it replaces, and readable to resume.
  const mode = replaced === undefined ? 0o666 : replaced.mode & 0o777 | 0o600;
  const file = await open(partPath, "wx", mode).catch((error) => {
    if (error.code !== "EEXIST") throw error;
    throw new FileError(
      `${partPath} already exists, of a download that is running or was interrupted: continue it with --resume, or ${RESTART}`,
    );
  });
  const part = new PartFile(path, { ...options, force }, file);
  await part.takeOver();
  return { part, from: undefined };
}

async function resumePart(path: string, options: PartOptions, state: State): Promise<OpenPart> {
  const file = await open(partPathOf(path), "r+");
  try {
    const { bytes, sha256, rows, expectedRows, writer, after, missingRows } = state;
    const hash = await hashPart(path, file, bytes, sha256);
    const legs = await readLegs(path, after, state.slot);
    const rest = [...state.next, ...legs];
    const datasets = new DatasetRecord(path, options.requestDatasets);
    if (state.datasets !== undefined) {
      await datasets.read(state.datasets);
      await datasets.compare();
    }
    const part = new PartFile(path, options, file, {
      bytes,
      rows,
      hash,
      legs,
      slot: state.slot,
      datasets,
    });
    await part.takeOver(state);
    return { part, from: { rest, rows, bytes, expectedRows, writer, missingRows } };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** How a file is begun. */
export interface PartOptions extends Pick<State, "question"> {
  /** Whether to go on with a part that is there. */
  resume: boolean;
  /** Whether to overwrite what is there. */
  force: boolean;
  /** Requests the versions of the datasets that match the query. */
  requestDatasets: () => Promise<readonly DatasetVersion[]>;
}

/** What an earlier run wrote. */
interface EarlierRun extends Pick<State, "bytes" | "rows" | "slot"> {
  hash: Hash;
  legs: readonly Shard[];
  datasets: DatasetRecord;
}

/**
 * A file that is written page by page: as `FILE.part`, with its state in `FILE.part.json` beside it,
 * under its own name only when whole. What breaks in between can go on from the last whole page.
 *
 * The state file is the commit point: a page counts once its bytes are on disk and the state that
 * includes them has been renamed into place. Bytes after that are overwritten by the run that
 * resumes, and cut off at the end.
 *
 * A run that resumes writes to the same part, while the run before it may still be alive. Each run
 * therefore writes a random `owner` into the state and, before each step, compares the state file
 * with the text that it last wrote: the later run takes over, the earlier one stops. No portable
 * lock ends with its process, so a run can be overtaken between a check and its step:
 *
 * - A late write lands after the committed bytes, at the offset where the later run writes the same
 *   rows. If its bytes differ, the later run's hash of the whole part shows it.
 * - A late state describes bytes that are in the part, because no run cuts a part before its end.
 *   The later run then finds that state, and stops.
 * - A run that starts again removes the part first, so the inode differs.
 */
export class PartFile {
  readonly #path: string;
  readonly #options: PartOptions;
  readonly #file: FileHandle;
  readonly #owner = randomUUID();
  /** Hash of the bytes that were written. */
  readonly #hash: Hash;
  /** The datasets; recorded when a page is committed that has a next page. */
  readonly #datasets: DatasetRecord;
  readonly #isResumed: boolean;
  #bytes: number;
  /** The legs in the file of the current slot. */
  #legs: readonly Shard[];
  #slot: 0 | 1;
  /** The state file as this run last wrote it. */
  #stateText = "";
  /** Whether a page was committed since the datasets were last compared. */
  #hasNewPages = false;
  /** Number of committed rows. */
  #rows: number;
  /** Whether a later run can complete the part. */
  #canResume = true;

  /**
   * @param file The part, open for writing, and for reading if it is resumed
   */
  constructor(
    path: string,
    options: PartOptions,
    file: FileHandle,
    from?: EarlierRun,
  ) {
    this.#path = path;
    this.#options = options;
    this.#file = file;
    this.#isResumed = from !== undefined;
    this.#hash = from?.hash ?? createHash("sha256");
    this.#datasets = from?.datasets ?? new DatasetRecord(path, options.requestDatasets);
    this.#bytes = from?.bytes ?? 0;
    this.#rows = from?.rows ?? 0;
    this.#legs = from?.legs ?? [];
    this.#slot = from?.slot ?? 1;
  }

  /**
   * Makes this run the owner of the part.
   *
   * @param from The state of an earlier run
   * @throws {FileError} If another download has replaced the part
   */
  async takeOver(from: State | { bytes: 0 } = { bytes: 0 }): Promise<void> {
    await this.#replaceState({ ...from, ...this.#identity });
    await this.#requireOwn();
  }

  /**
   * Adds bytes after those that are there.
   *
   * @throws {FileError} If another download has taken over, or the bytes cannot be written
   */
  async write(bytes: Uint8Array): Promise<void> {
    await this.#requireOwn();
    this.#hash.update(bytes);
    for (let at = 0; at < bytes.length;) {
      const { bytesWritten } = await this.#file.write(bytes, at, bytes.length - at, this.#bytes);
      at += bytesWritten;
      this.#bytes += bytesWritten;
    }
  }

  /**
   * Commits what was written so far, which are whole pages.
   *
   * @param progressed How far the query has come, and whether that was its last page
   * @throws {FileError} If another download has taken over
   * @throws {DataStreamError} If the datasets cannot be requested
   */
  async keep(
    { rest, isLast, ...progressed }: Omit<Progressed, "bytes"> & { isLast: boolean },
  ): Promise<void> {
    if (!isLast) await this.#datasets.record();
    await this.#file.datasync();
    await this.#requireOwn();
    await this.#datasets.write();
    const [next, ...after] = rest;
    const kept = this.#legs.length - after.length;
    if (!after.every((leg, index) => leg === this.#legs[kept + index])) {
      this.#slot = this.#slot === 0 ? 1 : 0;
      await replaceFile(legsPathOf(this.#path, this.#slot), after);
      this.#legs = after;
    }
    await this.#replaceState({
      ...this.#identity,
      bytes: this.#bytes,
      sha256: this.#hash.copy().digest("hex"),
      datasets: this.#datasets.length,
      next: next === undefined ? [] : [next],
      after: after.length,
      slot: this.#slot,
      ...progressed,
    });
    this.#hasNewPages = true;
    this.#rows = progressed.rows;
  }

  /**
   * Gives the file its name.
   *
   * @param missingRows Number of rows that were counted and are accepted as missing
   * @returns How many bytes it has
   * @throws {FileError} If another download has taken over, the datasets or the part changed, or the
   *   file must not be replaced
   * @throws {DataStreamError} If the datasets cannot be requested
   */
  async finish(missingRows = 0): Promise<number> {
    if (this.#hasNewPages) await this.#datasets.compare().catch((error) => this.#fail(error));
    await this.#requireOwn();
    await this.#file.truncate(this.#bytes);
    if (this.#isResumed) {
      await hashPart(this.#path, this.#file, this.#bytes, this.#hash.digest("hex"))
        .catch((error) => this.#fail(error));
    }
    const replaced = await requireReplaceable(this.#path, this.#options.force, MOVE);
    if (replaced !== undefined) await copyPermissions(this.#file, replaced);
    await this.#file.sync();
    await this.#requireOwn();
    await this.#file.close();
    const { question } = this.#options;
    await recordMissing(this.#path, { question, rows: this.#rows, missingRows });
    await rename(partPathOf(this.#path), this.#path);
    await removeState(this.#path);
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
    // Of a download that replaces a file, --resume must not take that file for the download.
    const isNeeded = !isEmpty || await statIfExists(this.#path) !== undefined;
    if (isOwn && !isNeeded) await removeParts(this.#path);
    return isOwn && isNeeded && this.#canResume;
  }

  /** Throws an error; if it is about the part, a later run that resumes would throw it too. */
  #fail(error: unknown): never {
    this.#canResume = !(error instanceof FileError);
    throw error;
  }

  /** The members of a state that do not change while this run writes. */
  get #identity(): Pick<State, "version" | "owner" | "question" | "force"> {
    const { question, force } = this.#options;
    return { version: VERSION, owner: this.#owner, question, force };
  }

  async #replaceState(state: State | Beginning): Promise<void> {
    this.#stateText = await replaceFile(statePathOf(this.#path), state).catch((error) => {
      // Another run has written, renamed or removed the new file before this one could.
      throw ["ENOENT", "EEXIST"].includes(error.code) ? this.#takenOver() : error;
    });
  }

  async #requireOwn(): Promise<void> {
    if (!await this.#isOwn()) throw this.#takenOver();
  }

  #takenOver(): FileError {
    return new FileError(
      `${partPathOf(this.#path)} was taken over by another download, moved or removed: ${RESTART}`,
    );
  }

  /** Returns whether the part under its name is this run's, and its state too. */
  async #isOwn(): Promise<boolean> {
    try {
      if (await readFile(statePathOf(this.#path), "utf8") !== this.#stateText) return false;
      const [own, named] = [await this.#file.stat(), await lstat(partPathOf(this.#path))];
      return own.ino === named.ino && own.dev === named.dev;
    } catch {
      return false;
    }
  }
}

/** Number of bytes to read at once. */
const READ_SIZE = 1 << 20;

/**
 * Hashes the first bytes of a part; bytes after them do not matter.
 *
 * @param sha256 The hash that they had when they were written, in hexadecimal
 * @returns The hash, to add more bytes to
 * @throws {FileError} If they are not those that were written
 */
async function hashPart(
  path: string,
  file: FileHandle,
  bytes: number,
  sha256: string,
): Promise<Hash> {
  const changed = (how: string) =>
    new FileError(`${partPathOf(path)} was changed: ${how}: ${RESTART}`);
  const { size } = await file.stat();
  if (size < bytes) throw changed(`it has ${size} bytes, weir wrote ${bytes}`);
  const hash = createHash("sha256");
  const buffer = new Uint8Array(READ_SIZE);
  for (let at = 0; at < bytes;) {
    const { bytesRead } = await file.read(buffer, 0, Math.min(READ_SIZE, bytes - at), at);
    if (bytesRead === 0) break;
    hash.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
  if (hash.copy().digest("hex") === sha256) return hash;
  throw changed(`its first ${bytes} bytes are not those that weir wrote`);
}
