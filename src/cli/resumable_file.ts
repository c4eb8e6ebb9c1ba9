import { createHash, type Hash, randomUUID } from "node:crypto";
import { type FileHandle, lstat, open, readFile, rename } from "node:fs/promises";
import type { Cursor } from "../client/batches.ts";
import {
  copyPermissions,
  explainingErrors,
  FileError,
  type Output,
  requireReplaceable,
  statIfExists,
} from "./output.ts";
import {
  DatasetRecord,
  type DatasetVersion,
  type EmptyState,
  type Identity,
  partPathOf,
  readState,
  recordMissingRows,
  removePart,
  removeState,
  replaceFile,
  RESTART,
  shardsPathOf,
  type Slot,
  type State,
  statePathOf,
  VERSION,
} from "./part_state.ts";

/** Options for {@linkcode openPart}. */
export interface PartOptions {
  /** Flags that determine the content of the file, as text. */
  fingerprint: string;
  /** Throws a `ValidationError` if a cursor is not one of the query. */
  validate: (cursor: Cursor) => void;
  /** Whether to continue an existing part. */
  resume: boolean;
  /** Whether to overwrite an existing file or part. */
  force: boolean;
  /** Requests the versions of the datasets that match the query. */
  requestDatasets: () => Promise<readonly DatasetVersion[]>;
}

/**
 * Opens a file as the output of a download.
 *
 * @param path Path after symbolic links
 * @returns The output, and the cursor to continue after; `undefined` for a new part
 * @throws {FileError} As {@linkcode openPart}
 */
export async function openFile(
  path: string,
  options: PartOptions,
): Promise<{ output: Output; after: Cursor | undefined }> {
  const explaining = <T>(work: Promise<T>) => explainingErrors(path, work);
  const { part, after } = await explaining(openPart(path, options));
  const output: Output = {
    async write({ data, cursor, hasMore, isLast }) {
      await explaining(part.write(data));
      // A run that resumes writes the end of the document again.
      if (!isLast) await explaining(part.commit(cursor, hasMore));
    },
    finish: (missingRows) => explaining(part.finish(missingRows)),
    async abandon(rows) {
      return await part.abandon(rows === 0) ? partPathOf(path) : undefined;
    },
  };
  return { output, after };
}

/** An open part, and the cursor of its last committed page. */
interface OpenPart {
  part: PartFile;
  after: Cursor | undefined;
}

/** Hint for a part beside a file that must not be replaced. */
const MOVE = "move it, then resume";

/**
 * Opens the part of a file.
 *
 * @throws {FileError} If a file or a part exists that the options do not allow to replace, or a part
 *   cannot be resumed
 * @throws {DataStreamError} If the dataset versions cannot be requested
 */
export async function openPart(path: string, options: PartOptions): Promise<OpenPart> {
  const { fingerprint, validate, resume } = options;
  const partPath = partPathOf(path);
  const found = await statIfExists(partPath, lstat);
  const state = !resume || found === undefined
    ? undefined
    : await readState(path, fingerprint, validate).catch((error) => {
      // A run that was killed at its start leaves an empty part without a state.
      if (found.size > 0 || !(error instanceof FileError)) throw error;
    });
  const force = options.force || state?.force === true;
  const replaced = await requireReplaceable(path, force, found && resume ? MOVE : undefined);
  if (state?.cursor !== undefined) {
    if (!found!.isFile()) throw new FileError(`${partPath} is not a regular file: ${RESTART}`);
    return await resumePart(path, { ...options, force }, state);
  }
  if (force || resume) await removePart(path);
  // Not more permissive than the file that it replaces, and readable for a run that resumes.
  const mode = replaced === undefined ? 0o666 : replaced.mode & 0o777 | 0o600;
  const file = await open(partPath, "wx", mode).catch((error) => {
    if (error.code !== "EEXIST") throw error;
    throw new FileError(
      `${partPath} already exists, of a download that is running or was interrupted: ` +
        `continue it with --resume, or ${RESTART}`,
    );
  });
  const part = new PartFile(path, { ...options, force }, file);
  await part.takeOver();
  return { part, after: undefined };
}

async function resumePart(path: string, options: PartOptions, state: State): Promise<OpenPart> {
  const file = await open(partPathOf(path), "r+");
  try {
    const hash = await hashPart(path, file, state.bytes, state.sha256);
    const datasets = new DatasetRecord(path, options.requestDatasets);
    if (state.datasets !== undefined) {
      await datasets.read(state.datasets);
      await datasets.compare();
    }
    const part = new PartFile(path, options, file, { state, hash, datasets });
    await part.takeOver(state);
    return { part, after: state.cursor };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Content of a part that an earlier run wrote. */
interface ExistingPart {
  state: State;
  /** Hash of the committed bytes. */
  hash: Hash;
  datasets: DatasetRecord;
}

/**
 * A file that is written page by page as `FILE.part`, with its state in `FILE.part.json`, and renamed
 * when it is complete.
 *
 * The state file is the commit point: a page counts once its bytes are on disk and the state that
 * includes them has been renamed into place. Bytes after that are overwritten by the run that
 * resumes, and truncated at the end.
 *
 * A run that resumes writes to the same part, while the run before it may still be alive. Each run
 * therefore writes a random `owner` into the state and, before each step, compares the state file
 * with the text that it last wrote: the later run takes over, the earlier one stops. No portable
 * lock ends with its process, so another run can take over between a check and its step:
 *
 * - A late write lands after the committed bytes, at the offset where the later run writes the same
 *   rows. If its bytes differ, the later run's hash of the whole part shows it.
 * - A late state describes bytes that are in the part, because no run truncates a part before its
 *   end. The later run then finds that state, and stops.
 * - A run that starts again removes the part first, so the inode differs.
 */
export class PartFile {
  readonly #path: string;
  readonly #options: PartOptions;
  readonly #file: FileHandle;
  readonly #owner = randomUUID();
  /** Hash of the written bytes. */
  readonly #hash: Hash;
  /** The datasets; recorded when a page is committed that has a next page. */
  readonly #datasets: DatasetRecord;
  readonly #isResumed: boolean;
  /** Number of written bytes. */
  #bytes: number;
  /** Number of committed rows. */
  #rows: number;
  /** Shards in the file of the slot. */
  #shards: Cursor["remaining"];
  #slot: Slot;
  /** The state file as this run last wrote it. */
  #stateText = "";
  /** Whether a page was committed since the datasets were last compared. */
  #hasNewPages = false;
  /** Whether a later run can complete the part. */
  #canResume = true;

  /**
   * @param file The part, open for writing, and for reading if it is resumed
   */
  constructor(path: string, options: PartOptions, file: FileHandle, existing?: ExistingPart) {
    this.#path = path;
    this.#options = options;
    this.#file = file;
    this.#isResumed = existing !== undefined;
    this.#hash = existing?.hash ?? createHash("sha256");
    this.#datasets = existing?.datasets ?? new DatasetRecord(path, options.requestDatasets);
    this.#bytes = existing?.state.bytes ?? 0;
    this.#rows = existing?.state.cursor.rows ?? 0;
    this.#shards = existing?.state.cursor.remaining.slice(1) ?? [];
    this.#slot = existing?.state.slot ?? 1;
  }

  /**
   * Makes this run the owner of the part.
   *
   * @param state State of an earlier run
   * @throws {FileError} If another download has replaced the part
   */
  async takeOver(state?: State): Promise<void> {
    await this.#replaceState(
      state === undefined ? { ...this.#identity, bytes: 0 } : {
        ...state,
        ...this.#identity,
        cursor: withCurrentShard(state.cursor),
      },
    );
    await this.#requireOwned();
  }

  /**
   * Appends bytes.
   *
   * @throws {FileError} If another download has taken over, or the bytes cannot be written
   */
  async write(bytes: Uint8Array): Promise<void> {
    await this.#requireOwned();
    this.#hash.update(bytes);
    for (let at = 0; at < bytes.length;) {
      const { bytesWritten } = await this.#file.write(bytes, at, bytes.length - at, this.#bytes);
      at += bytesWritten;
      this.#bytes += bytesWritten;
    }
  }

  /**
   * Commits the bytes that were written so far, which are complete pages.
   *
   * @param cursor Cursor after the last of these pages
   * @param hasMore Whether another page follows
   * @throws {FileError} If another download has taken over
   * @throws {DataStreamError} If the dataset versions cannot be requested
   */
  async commit(cursor: Cursor, hasMore: boolean): Promise<void> {
    if (hasMore) await this.#datasets.record();
    await this.#file.datasync();
    await this.#requireOwned();
    await this.#datasets.write();
    const later = cursor.remaining.slice(1);
    const offset = this.#shards.length - later.length;
    if (!later.every((shard, index) => shard === this.#shards[offset + index])) {
      this.#slot = this.#slot === 0 ? 1 : 0;
      await replaceFile(shardsPathOf(this.#path, this.#slot), later);
      this.#shards = later;
    }
    await this.#replaceState({
      ...this.#identity,
      bytes: this.#bytes,
      sha256: this.#hash.copy().digest("hex"),
      datasets: this.#datasets.length,
      cursor: withCurrentShard(cursor),
      laterShards: later.length,
      slot: this.#slot,
    });
    this.#hasNewPages = true;
    this.#rows = cursor.rows;
  }

  /**
   * Renames the part to its final name.
   *
   * @param missingRows Number of counted rows that are missing and accepted
   * @returns The number of bytes
   * @throws {FileError} If another download has taken over, the datasets or the part changed, or the
   *   file must not be replaced
   * @throws {DataStreamError} If the dataset versions cannot be requested
   */
  async finish(missingRows = 0): Promise<number> {
    if (this.#hasNewPages) await this.#datasets.compare().catch((error) => this.#fail(error));
    await this.#requireOwned();
    await this.#file.truncate(this.#bytes);
    if (this.#isResumed) {
      await hashPart(this.#path, this.#file, this.#bytes, this.#hash.digest("hex"))
        .catch((error) => this.#fail(error));
    }
    const replaced = await requireReplaceable(this.#path, this.#options.force, MOVE);
    if (replaced !== undefined) await copyPermissions(this.#file, replaced);
    await this.#file.sync();
    await this.#requireOwned();
    await this.#file.close();
    const { fingerprint } = this.#options;
    await recordMissingRows(this.#path, { fingerprint, rows: this.#rows, missingRows });
    await rename(partPathOf(this.#path), this.#path);
    await removeState(this.#path);
    return this.#bytes;
  }

  /**
   * Closes an incomplete part. Removes it if it is empty.
   *
   * @returns Whether a later run can continue the part
   */
  async abandon(isEmpty: boolean): Promise<boolean> {
    const isOwned = await this.#isOwned();
    await this.#file.close().catch(() => {});
    // With a file to replace, an empty part stays: without it, --resume would take that file for the
    // finished download.
    const isNeeded = !isEmpty || await statIfExists(this.#path) !== undefined;
    if (isOwned && !isNeeded) await removePart(this.#path);
    return isOwned && isNeeded && this.#canResume;
  }

  /** Throws an error. A `FileError` is about the part, so that a later run would throw it too. */
  #fail(error: unknown): never {
    this.#canResume = !(error instanceof FileError);
    throw error;
  }

  get #identity(): Identity {
    const { fingerprint, force } = this.#options;
    return { version: VERSION, owner: this.#owner, fingerprint, force };
  }

  async #replaceState(state: State | EmptyState): Promise<void> {
    this.#stateText = await replaceFile(statePathOf(this.#path), state).catch((error) => {
      // Another run has written, renamed or removed the new file first.
      throw ["ENOENT", "EEXIST"].includes(error.code) ? this.#takenOver() : error;
    });
  }

  async #requireOwned(): Promise<void> {
    if (!await this.#isOwned()) throw this.#takenOver();
  }

  #takenOver(): FileError {
    return new FileError(
      `${partPathOf(this.#path)} was taken over by another download, moved or removed: ${RESTART}`,
    );
  }

  /** Whether the part and the state under their names are those of this run. */
  async #isOwned(): Promise<boolean> {
    try {
      if (await readFile(statePathOf(this.#path), "utf8") !== this.#stateText) return false;
      const [opened, named] = [await this.#file.stat(), await lstat(partPathOf(this.#path))];
      return opened.ino === named.ino && opened.dev === named.dev;
    } catch {
      return false;
    }
  }
}

/** Returns a cursor without the shards after the current one, which are in a file of their own. */
function withCurrentShard(cursor: Cursor): Cursor {
  return { ...cursor, remaining: cursor.remaining.slice(0, 1) };
}

/** Number of bytes per read. */
const READ_SIZE = 1 << 20;

/**
 * Hashes the first bytes of a part.
 *
 * @param sha256 Expected hash, in hexadecimal
 * @returns The hash, which can be updated with more bytes
 * @throws {FileError} If the bytes differ from those that were written
 */
async function hashPart(
  path: string,
  file: FileHandle,
  bytes: number,
  sha256: string,
): Promise<Hash> {
  const changed = (reason: string) =>
    new FileError(`${partPathOf(path)} was changed: ${reason}: ${RESTART}`);
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
