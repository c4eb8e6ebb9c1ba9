import { createHash, type Hash, randomUUID } from "node:crypto";
import { type FileHandle, lstat, open, readFile, rename } from "node:fs/promises";
import type { Cursor } from "../client/batches.ts";
import {
  copyPermissions,
  type DownloadPage,
  explainingErrors,
  FileError,
  type Output,
  requireReplaceable,
  statIfExists,
} from "./output.ts";
import type { DatasetVersion } from "../client/dataset_versions.ts";
import { DatasetVersionFile } from "./dataset_versions.ts";
import {
  type EmptyPartState,
  partPathOf,
  type PartState,
  readState,
  removePart,
  removeSidecars,
  RESTART,
  type ResumableState,
  type RunHeader,
  type Slot,
  STATE_VERSION,
  statePathOf,
  updateIncompleteNote,
  writeShards,
  writeState,
} from "./part_state.ts";

/** Options for {@linkcode openPart}. */
export interface PartOptions {
  /** The resource and the flags that determine the content of the file, as JSON. */
  queryJson: string;
  /**
   * Returns the pages of the query after a cursor. Throws a `ValidationError` if the cursor does not
   * belong to the query.
   */
  pagesAfter: (cursor: Cursor) => AsyncIterable<DownloadPage>;
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
 * @param path Path of FILE, with symbolic links resolved
 * @returns The output; for a part that is resumed also its cursor, and the pages after the cursor
 * @throws {FileError} If a file or a part exists and may not be replaced, or a part cannot be resumed
 * @throws {DataStreamError} If the dataset versions cannot be requested
 */
export async function openFile(
  path: string,
  options: PartOptions,
): Promise<{ output: Output; after?: Cursor; pages?: AsyncIterable<DownloadPage> }> {
  const explaining = <T>(work: Promise<T>) => explainingErrors(path, work);
  const { part, ...position } = await explaining(openPart(path, options));
  const output: Output = {
    async write({ data, cursor, hasMore, isLast }) {
      await explaining(part.write(data));
      // The end of the document is not committed: a run that resumes writes it again.
      if (!isLast) await explaining(part.commit(cursor, hasMore));
    },
    finish: (missingRows) => explaining(part.finish(missingRows)),
    async abandon(rows) {
      return await part.abandon(rows === 0) ? partPathOf(path) : undefined;
    },
  };
  return { output, ...position };
}

/** An open part. */
interface OpenPart {
  part: PartFile;
  /** Cursor of the last committed page, if the part is resumed. */
  after?: Cursor;
  /** The pages after this cursor. */
  pages?: AsyncIterable<DownloadPage>;
}

/** Hint if both FILE and FILE.part exist, and FILE may not be overwritten. */
const MOVE = "move it, then resume";

/**
 * Creates FILE.part, or opens it to continue an earlier run.
 *
 * @param path Path of FILE, with symbolic links resolved
 * @throws {FileError} If a file or a part exists and may not be replaced, or a part cannot be resumed
 * @throws {DataStreamError} If the dataset versions cannot be requested
 */
export async function openPart(path: string, options: PartOptions): Promise<OpenPart> {
  const { queryJson, pagesAfter, resume } = options;
  const partPath = partPathOf(path);
  const found = await statIfExists(partPath, lstat);
  const existing = !resume || found === undefined
    ? undefined
    : await readState(path, queryJson, pagesAfter).catch((error) => {
      // A run that was killed at its start leaves an empty part without a state.
      if (found.size > 0 || !(error instanceof FileError)) throw error;
    });
  const force = options.force || existing?.state.force === true;
  const replaced = await requireReplaceable(path, force, found && resume ? MOVE : undefined);
  if (existing !== undefined && "pages" in existing) {
    if (!found!.isFile()) throw new FileError(`${partPath} is not a regular file: ${RESTART}`);
    return await resumePart(path, { ...options, force }, existing);
  }
  if (force || resume) await removePart(path);
  // The permissions of the file to replace, with read and write for the owner, which --resume needs.
  const mode = replaced === undefined ? 0o666 : replaced.mode & 0o777 | 0o600;
  const file = await open(partPath, "wx", mode).catch((error) => {
    if (error.code !== "EEXIST") throw error;
    throw new FileError(
      `${partPath} already exists: another download is running or was interrupted: ` +
        `continue it with --resume, or ${RESTART}`,
    );
  });
  const part = new PartFile(path, { ...options, force }, file);
  try {
    await part.takeOver();
  } catch (error) {
    await file.close();
    throw error;
  }
  return { part };
}

async function resumePart(
  path: string,
  options: PartOptions,
  { state, pages }: ResumableState,
): Promise<OpenPart> {
  const file = await open(partPathOf(path), "r+");
  try {
    const hash = await hashPart(path, file, state.bytes, state.sha256);
    const datasets = new DatasetVersionFile(path, options.requestDatasets);
    if (state.datasets !== undefined) {
      await datasets.read(state.datasets);
      await datasets.compare();
    }
    const part = new PartFile(path, options, file, { state, hash, datasets });
    await part.takeOver(state);
    return { part, after: state.cursor, pages };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Content of a part that an earlier run wrote. */
interface ExistingPart {
  state: PartState;
  /** Hash of the committed bytes. */
  hash: Hash;
  datasets: DatasetVersionFile;
}

/**
 * `FILE.part`: written page by page, and renamed to FILE when it is complete.
 *
 * A page is committed once its bytes are on disk and a `FILE.part.json` that includes them has been
 * renamed into place. A run that resumes overwrites the bytes after the last committed page;
 * {@linkcode PartFile.finish} truncates the rest.
 *
 * A run can resume a part while the run that started it is still alive. The later run takes over, and the
 * earlier one stops. Each run writes a random `owner` into FILE.part.json. Before each step, it checks
 * that the file still has the text that it last wrote. A file lock is not used, because no portable lock is
 * released when the process that holds it is killed.
 *
 * The later run can take over between the check and the step of the earlier run. Then the step has one of
 * these effects:
 *
 * - Bytes that the earlier run writes are after the committed bytes, where the later run writes the same
 *   rows. If the bytes differ, the later run detects it when it hashes the whole part at its end.
 * - If the earlier run replaces FILE.part.json, the later run finds a text that it did not write, and
 *   stops. The new state is valid: the part contains the bytes that it describes, because only the run
 *   that finishes a part truncates it.
 * - If the later run starts again with `--force`, it removes the part and creates another file. The earlier
 *   run finds that the inode differs, and stops.
 */
export class PartFile {
  readonly #path: string;
  readonly #options: PartOptions;
  readonly #file: FileHandle;
  readonly #owner = randomUUID();
  /** Hash of the written bytes. */
  readonly #hash: Hash;
  /** The dataset versions. They are fetched at the first commit of a page that is not the last one. */
  readonly #datasets: DatasetVersionFile;
  readonly #isResumed: boolean;
  /** Number of written bytes. */
  #bytes: number;
  /** Number of committed rows. */
  #rows: number;
  /** Shards in the slot's file, or the last of them. */
  #shards: Cursor["shards"];
  #slot: Slot;
  /** Text of FILE.part.json as this run last wrote it. */
  #stateText = "";
  /** Whether a page was committed since the datasets were last compared. */
  #hasNewPages = false;
  /** Whether a later run can complete the part. */
  #canResume = true;

  /**
   * @param path Path of FILE
   * @param file FILE.part, open for writing; also for reading if it is resumed
   * @param existing Content of the part if it is resumed
   */
  constructor(path: string, options: PartOptions, file: FileHandle, existing?: ExistingPart) {
    this.#path = path;
    this.#options = options;
    this.#file = file;
    this.#isResumed = existing !== undefined;
    this.#hash = existing?.hash ?? createHash("sha256");
    this.#datasets = existing?.datasets ?? new DatasetVersionFile(path, options.requestDatasets);
    this.#bytes = existing?.state.bytes ?? 0;
    this.#rows = existing?.state.cursor.rows ?? 0;
    this.#shards = existing?.state.cursor.shards.slice(1) ?? [];
    this.#slot = existing?.state.slot ?? 1;
  }

  /**
   * Makes this run the owner of the part.
   *
   * @param state State of an earlier run if the part is resumed
   * @throws {FileError} If another download has replaced the part
   */
  async takeOver(state?: PartState): Promise<void> {
    await this.#writeState(
      state === undefined ? { ...this.#header, bytes: 0 } : { ...state, ...this.#header },
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
   * Commits the bytes that were written so far. They must be complete pages.
   *
   * @param cursor Cursor after the last of these pages
   * @param hasMore Whether another page follows
   * @throws {FileError} If another download has taken over
   * @throws {DataStreamError} If the dataset versions cannot be requested
   */
  async commit(cursor: Cursor, hasMore: boolean): Promise<void> {
    if (hasMore) await this.#datasets.fetch();
    await this.#file.datasync();
    await this.#requireOwned();
    await this.#datasets.write();
    const later = cursor.shards.slice(1);
    const offset = this.#shards.length - later.length;
    if (!later.every((shard, index) => shard === this.#shards[offset + index])) {
      this.#slot = this.#slot === 0 ? 1 : 0;
      await writeShards(this.#path, this.#slot, later);
      this.#shards = later;
    }
    await this.#writeState({
      ...this.#header,
      bytes: this.#bytes,
      sha256: this.#hash.copy().digest("hex"),
      datasets: this.#datasets.length,
      cursor,
      laterShards: later.length,
      slot: this.#slot,
    });
    this.#hasNewPages = true;
    this.#rows = cursor.rows;
  }

  /**
   * Renames FILE.part to FILE.
   *
   * @param missingRows Number of rows that the service counted and did not deliver, if accepted
   * @returns Size of the file in bytes
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
    const { queryJson } = this.#options;
    await updateIncompleteNote(this.#path, { queryJson, rows: this.#rows, missingRows });
    await rename(partPathOf(this.#path), this.#path);
    await removeSidecars(this.#path);
    return this.#bytes;
  }

  /**
   * Closes an incomplete part. Removes it if it has no rows and FILE does not exist.
   *
   * @param isEmpty Whether the part has no rows
   * @returns Whether a later run can continue the part
   */
  async abandon(isEmpty: boolean): Promise<boolean> {
    const isOwned = await this.#isOwned();
    await this.#file.close().catch(() => {});
    // If FILE exists, an empty part is kept: without FILE.part, --resume would report the old FILE as
    // the finished download.
    const isNeeded = !isEmpty || await statIfExists(this.#path) !== undefined;
    if (isOwned && !isNeeded) await removePart(this.#path);
    return isOwned && isNeeded && this.#canResume;
  }

  /** Rethrows an error. After a `FileError` the part cannot be resumed: a later run would fail too. */
  #fail(error: unknown): never {
    this.#canResume = !(error instanceof FileError);
    throw error;
  }

  get #header(): RunHeader {
    const { queryJson, force } = this.#options;
    return { version: STATE_VERSION, owner: this.#owner, queryJson, force };
  }

  async #writeState(state: PartState | EmptyPartState): Promise<void> {
    this.#stateText = await writeState(this.#path, state).catch((error) => {
      // Another run has written, renamed or removed the same temporary file.
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

  /** Whether no other run has replaced FILE.part or FILE.part.json. */
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

/** Number of bytes per read. */
const READ_SIZE = 1 << 20;

/**
 * Hashes the first bytes of a part, and compares the hash with the expected one.
 *
 * @param path Path of FILE, for the error message
 * @param file FILE.part
 * @param bytes Number of bytes to hash
 * @param sha256 Expected hash, in hexadecimal
 * @returns The hash, which can be updated with more bytes
 * @throws {FileError} If the hash differs, or the part has fewer bytes
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
  throw changed(`its first ${bytes} bytes differ from what weir wrote`);
}
