// The folder of a mirror: what `sync()` needs of a file system, and the implementation for Node, Deno and Bun.
import { randomUUID } from "node:crypto";
import {
  closeSync,
  createReadStream,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { link, mkdir, open, readdir, rename, rm, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { clearInterval, setInterval } from "node:timers";
import { explainFileError, FileError, requireDirectory, statIfExists } from "../files/output.ts";
import {
  describeOwner,
  isRunning,
  mayRead,
  type Owner,
  RENEWAL,
  startRun,
} from "../files/owner.ts";

/** A file of a folder. */
export interface FolderFile {
  /** Path in the folder, with `/`. */
  path: string;
  /** Size in bytes. */
  bytes: number;
}

/**
 * What `sync()` needs of a folder. Paths are relative to it, with `/`. Names that begin with `.` are not part of the
 * mirror.
 *
 * @example A folder of the file system
 * ```ts ignore
 * import { type Folder, openFolder } from "@weir/datastream/sync";
 *
 * const folder: Folder = openFolder("mirror");
 * for (const { path, bytes } of await folder.list("observations")) console.log(path, bytes);
 * ```
 */
export interface Folder {
  /** Returns the bytes of a file; `undefined` if there is none. */
  read(path: string): Promise<AsyncIterable<Uint8Array> | undefined>;
  /**
   * Writes a file wholly, or not at all: beside, with its bytes on disk, and then renamed.
   *
   * @param isNew Whether the write fails if the file exists, also if another process creates it at the same time
   * @returns Whether the file was written
   */
  write(
    path: string,
    content: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
    isNew?: boolean,
  ): Promise<boolean>;
  /** Renames a file, in one step for its readers. A file with the new name is replaced. */
  move(from: string, to: string): Promise<void>;
  /** Returns the size of a file in bytes; `undefined` if there is none. */
  size(path: string): Promise<number | undefined>;
  /** Returns the files directly in a folder, `""` for the mirror itself; none if there is no folder. */
  list(folder: string): Promise<FolderFile[]>;
  /** Removes a file, if there is one. */
  remove(path: string): Promise<void>;
  /** Returns the number of bytes that can be written; `undefined` if it is not known. */
  freeBytes?(): Promise<number | undefined>;
  /**
   * Makes the folder belong to this run.
   *
   * @throws If another run writes it
   * @returns A function that throws if the folder belongs to another run by now, and one that ends the run
   */
  lock(): Promise<{ check(): void; release(): Promise<void> }>;
}

/** Folders of the datasets. */
export const DATA_FOLDERS = ["observations", "records", "locations"] as const;

/** Folder for what is no part of the mirror. */
export const PRIVATE = ".weir";

/** Extension of a file that is not complete. */
const PART = ".new";

/**
 * Returns a folder of the file system, which the first write creates. For Node, Deno and Bun.
 *
 * @param path Path of the folder
 * @returns The folder; its methods throw an error that names the path if the file system refuses
 *
 * @example
 * ```ts ignore
 * import { openFolder } from "@weir/datastream/sync";
 *
 * const folder = openFolder("mirror");
 * await folder.write("note.txt", [new TextEncoder().encode("Copied by Weir\n")]);
 * ```
 */
export function openFolder(path: string): Folder {
  const at = (name: string) => join(path, name);
  const explaining = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw explainFileError(error, at(name));
    }
  };
  return {
    async read(name) {
      const isFile = (await statIfExists(at(name)))?.isFile();
      return isFile ? createReadStream(at(name)) : undefined;
    },
    write: (name, content, isNew = false) =>
      explaining(
        name,
        () => writeWhole(at(`${PRIVATE}/${randomUUID()}${PART}`), at(name), content, isNew),
      ),
    move: (from, to) =>
      explaining(to, async () => {
        await mkdir(dirname(at(to)), { recursive: true });
        await rename(at(from), at(to));
        await syncDirectory(dirname(at(to)));
      }),
    list: (name) =>
      explaining(name, async () => {
        if (!(await statIfExists(at(name)))?.isDirectory()) return [];
        const files: FolderFile[] = [];
        for (const entry of await readdir(at(name))) {
          const file = name === "" ? entry : `${name}/${entry}`;
          // It may be renamed meanwhile.
          const found = await statIfExists(at(file));
          if (found?.isFile()) files.push({ path: file, bytes: found.size });
        }
        return files;
      }),
    async size(name) {
      const found = await statIfExists(at(name));
      return found?.isFile() ? found.size : undefined;
    },
    remove: (name) => explaining(name, () => rm(at(name), { force: true })),
    freeBytes: async () => {
      // Not in every runtime and file system.
      const found = mayRead("statfs") ? await statfs(path).catch(() => undefined) : undefined;
      return found && found.bavail * found.bsize;
    },
    lock: () => explaining("", () => lockFolder(path)),
  };
}

/** Writes a part and renames it. Returns false if the file is there, and must be new. */
async function writeWhole(
  part: string,
  path: string,
  content: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  isNew: boolean,
): Promise<boolean> {
  for (const name of [part, path]) await mkdir(dirname(name), { recursive: true });
  try {
    await writeSynced(part, content);
    // A link fails if the name exists, a rename would replace it.
    if (isNew) await linkOrRename(part, path);
    else await rename(part, path);
  } catch (error) {
    if (isNew && (error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    await rm(part, { force: true });
  }
  await syncDirectory(dirname(path));
  return true;
}

async function writeSynced(
  path: string,
  content: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): Promise<void> {
  const file = await open(path, "wx");
  try {
    // Without a position: each write follows the one before.
    for await (const bytes of content) {
      for (let at = 0; at < bytes.length;) at += (await file.write(bytes, at)).bytesWritten;
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Some disks, such as USB sticks, have no links. There, only the lock keeps two runs from creating one file. */
async function linkOrRename(from: string, to: string): Promise<void> {
  await link(from, to).catch(async (error) => {
    if (!["EPERM", "ENOTSUP", "ENOSYS"].includes(error.code) || await statIfExists(to)) throw error;
    await rename(from, to);
  });
}

/** Without it, a name could be lost although the bytes are on disk. Windows has no such operation. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r").catch(() => undefined);
  await directory?.sync().catch(() => {});
  await directory?.close();
}

/**
 * Makes a file that names this run. The file of a run that was killed is replaced: it is moved away first, so that only
 * one of several runs that see it goes on.
 */
async function lockFolder(path: string): ReturnType<Folder["lock"]> {
  const lock = join(path, PRIVATE, "lock");
  await makeFolders(path, dirname(lock));
  const other = (owner: Owner | undefined) =>
    new FileError(
      `${path} is written by another run${
        owner?.process ? ` (${describeOwner(owner, Date.now())})` : ""
      }: wait for it, or stop it`,
    );
  const found = readOwner(lock);
  if (found !== undefined) {
    if (isRunning(found, lock, Date.now())) throw other(found);
    const moved = `${lock}-${randomUUID()}${PART}`;
    await rename(lock, moved).catch(() => {});
    const taken = readOwner(moved);
    if (taken !== undefined && taken.run !== found.run) {
      // Another run was faster: it gets its lock back.
      await rename(moved, lock);
      throw other(taken);
    }
  }
  try {
    closeSync(openSync(lock, "wx"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw other(readOwner(lock));
  }
  const { owner, end } = startRun(lock);
  // Each text has the same length and replaces the one before in place, so that it is never cut. A new file would lose
  // the lock of the system.
  const renew = () => {
    const file = openSync(lock, "r+");
    const now: Owner = { ...owner, renewedAt: Date.now() };
    writeSync(file, JSON.stringify(now), 0);
    closeSync(file);
  };
  renew();
  const check = () => {
    const now = readOwner(lock);
    if (now?.run !== owner.run) throw other(now);
  };
  const timer = setInterval(() => {
    try {
      check();
      renew();
    } catch {
      clearInterval(timer); // the next check of the run reports it
    }
  }, RENEWAL);
  timer.unref();
  await removeParts(dirname(lock));
  return {
    check,
    release() {
      clearInterval(timer);
      end();
      if (readOwner(lock)?.run === owner.run) rmSync(lock, { force: true });
      return Promise.resolve();
    },
  };
}

/** Not recursively: Node then hides that a disk is read-only. */
async function makeFolders(path: string, ...others: readonly string[]): Promise<void> {
  await requireDirectory(path);
  if ((await statIfExists(path))?.isDirectory() === false) {
    throw new FileError(`${path} is not a folder: name a folder, which the first run creates`);
  }
  for (const folder of [path, ...others]) {
    await mkdir(folder).catch((error) => {
      if (error.code !== "EEXIST") throw error;
    });
  }
}

/** Removes what a run that was killed has not renamed. */
async function removeParts(folder: string): Promise<void> {
  const parts = (await readdir(folder)).filter((name) => name.endsWith(PART));
  for (const name of parts) await rm(join(folder, name), { force: true });
}

/** Returns `undefined` without a lock. An empty lock is of a run that has just created it, or was killed then. */
function readOwner(lock: string): Owner | undefined {
  const stats = statSync(lock, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  try {
    return JSON.parse(readFileSync(lock, "utf8"));
  } catch {
    return { run: "", process: 0, hasLock: false, renewedAt: stats.mtimeMs };
  }
}
