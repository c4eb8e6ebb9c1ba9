// Where a download is written: standard output, a device, a pipe, or the path of a file.
import { randomUUID } from "node:crypto";
import {
  closeSync,
  constants,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
} from "node:fs";
import { type FileHandle, lstat, open, realpath, stat } from "node:fs/promises";
import { dirname, relative } from "node:path";
import { constants as systemConstants } from "node:os";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import type { Bytes } from "../bytes.ts";
import type { Batch } from "../client/query.ts";
import { abortable } from "../clock.ts";
import { oneLine } from "../errors.ts";
import type { DatasetVersion } from "../formats/citations.ts";

/** Not a bug, such as a file that cannot be written. */
export class FileError extends Error {}

/** The reader of a pipe has closed it, which is not an error of a command. */
export class ClosedPipe extends Error {}

/** Functions of the process that writes. */
export interface OutputContext {
  /** Writes to standard output. */
  write(bytes: Uint8Array): Promise<void>;
  print(text: string): Promise<void>;
  signal: AbortSignal;
}

/** Hint for a file that no flag but `--force` replaces. */
export const REPLACE = "pass --force to replace it, or choose another name";

export type DownloadPage = Batch<Uint8Array>;

export interface Output {
  /**
   * A file also records the cursor and the versions of the datasets, so that a later run can continue after it. Without
   * versions it does not, because that run could not tell whether the other pages have the same ones.
   */
  write(page: DownloadPage, versions?: readonly DatasetVersion[]): Promise<void>;
  /** Returns the size of a file, and the name by which the file that it replaced is kept. */
  finish(): Promise<{ bytes?: number; kept?: string | undefined }>;
  /** Returns the path of a part that a later run can continue, and the number of its rows, if there is one. */
  abandon(): Promise<{ path: string; rows: number } | undefined>;
}

/** A reader that stopped can block a write, which an interruption then ends. */
export function openStandardOutput({ write, signal }: OutputContext): Output {
  return {
    write: ({ data }) => abortable(write(data), signal),
    finish: () => Promise.resolve({}),
    abandon: () => Promise.resolve(undefined),
  };
}

/** Interval (ms) between attempts to use a pipe that has no reader, or a slow one. */
const PIPE_INTERVAL = 50;

/** Waits until another process reads a pipe. */
export async function openStream(path: string, { signal }: OutputContext): Promise<Output> {
  const isPipe = (await statIfExists(path))?.isFIFO();
  // Without O_CREAT and O_TRUNC: others can write to the file of a descriptor. With O_NONBLOCK:
  // Node cannot exit while a pipe blocks a thread. Deno can, but does not tell how much of a
  // blocking write it wrote.
  const { O_WRONLY, O_APPEND, O_NONBLOCK } = constants;
  const mayBlock = !isPipe || process.versions.deno !== undefined;
  const flags = O_WRONLY | O_APPEND | (mayBlock ? 0 : O_NONBLOCK);
  const attempt = async <T>(step: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await abortable(step(), signal);
      } catch (error) {
        const { code = "" } = error as { code?: string };
        if (signal.aborted) throw error;
        if (code === "EPIPE") throw new ClosedPipe();
        if (mayBlock || !["ENXIO", "EAGAIN"].includes(code)) {
          throw new FileError(`Cannot write ${path}: ${oneLine(error)}`);
        }
      }
      await setTimeout(PIPE_INTERVAL, undefined, { signal });
    }
  };
  const file = await attempt(() => open(path, flags));
  let size = 0;
  return {
    async write({ data }) {
      for (let at = 0; at < data.length;) {
        const { bytesWritten } = await attempt(() => file.write(data, at));
        at += bytesWritten;
        size += bytesWritten;
      }
    },
    async finish() {
      await attempt(() => file.close());
      return { bytes: size };
    },
    abandon: () => file.close().then(() => undefined, () => undefined),
  };
}

/** Writes a whole file atomically, or to standard output, a device or a pipe. */
export async function writeContent(
  path: string,
  content: Bytes,
  context: OutputContext,
): Promise<void> {
  if (isStandardOutput(path)) return await context.write(content);
  const target = await resolveOutput(path);
  // A name of its own, because another file of the user can have the name `.new`.
  if (!target.isStream) return replaceFile(target.path, content, `${target.path}.${randomUUID()}`);
  const stream = await openStream(target.path, context);
  await stream.write({ data: content } as DownloadPage);
  await stream.finish();
}

/** Replaces a file atomically. An earlier `part` is removed. */
export function replaceFile(path: string, content: string | Bytes, part = `${path}.new`): void {
  // If this path is a symbolic link, writing would change the link's target.
  rmSync(part, { force: true });
  try {
    const file = openSync(part, "wx");
    try {
      writeFileSync(file, content);
      fsyncSync(file); // else the name could be on disk before the content
    } finally {
      closeSync(file);
    }
  } catch (error) {
    // Such as a full disk. The file of another run is not removed.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") rmSync(part, { force: true });
    throw error;
  }
  renameSync(part, path);
}

export interface OutputPath {
  /** After symbolic links. */
  path: string;
  /** A device, a pipe, a socket or a file descriptor. */
  isStream: boolean;
}

/** Compares text: opening `/dev/stdout` would overwrite a redirected file from its start. */
export function isStandardOutput(path: string): boolean {
  return /^(-|\/dev\/stdout|\/dev\/fd\/1|\/proc\/self\/fd\/1)$/.test(path);
}

/** The file may be missing, but not its directory. */
export async function resolveOutput(path: string): Promise<OutputPath> {
  // Names of file descriptors, whose files belong to other processes.
  if (isStandardOutput(path) || /^\/(proc\/|dev\/(fd\/|std))/.test(path)) {
    return { path, isStream: true };
  }
  const found = await statIfExists(path).catch(async (error) => {
    // The missing permission to read the directory is reported first, because a download needs it.
    await requireDirectory(path);
    throw error;
  });
  if (found?.isDirectory() || /[\\/]$/.test(path)) {
    throw new FileError(`${path} is a directory: name a file in it`);
  }
  if (found?.isFile() === false) return { path, isStream: true };
  await requireDirectory(path);
  const isLink = (await statIfExists(path, lstat))?.isSymbolicLink();
  if (isLink && found === undefined) {
    throw new FileError(`${path} is a symbolic link to a missing file: name the file itself`);
  }
  return { path: isLink ? relative("", await realpath(path)) : path, isStream: false };
}

/** Throws if the directory of a path is missing. */
export async function requireDirectory(path: string): Promise<void> {
  const directory = dirname(path);
  if ((await statIfExists(directory))?.isDirectory()) return;
  throw new FileError(`There is no directory ${directory}: create it first`);
}

export async function statIfExists(
  path: string,
  read: (path: string) => Promise<Stats> = stat,
): Promise<Stats | undefined> {
  try {
    return await read(path);
  } catch (error) {
    // Any other error, such as a missing permission, does not mean that the file is missing.
    const { code } = error as { code?: string };
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw explainFileError(error, path);
  }
}

/** Throws if the file is read-only, or exists and `mayReplace` is false. */
export async function requireReplaceable(
  path: string,
  mayReplace: boolean,
): Promise<Stats | undefined> {
  const found = await statIfExists(path);
  if (found === undefined) return undefined;
  if (await isReadOnly(path, found)) {
    throw new FileError(`${path} is read-only: make it writable, or choose another name`);
  }
  if (!mayReplace) throw new FileError(`${path} already exists: ${REPLACE}`);
  return found;
}

async function isReadOnly(path: string, { mode }: Stats): Promise<boolean> {
  // Root can open a file in spite of its mode. Windows has no such mode.
  if (process.platform !== "win32" && (mode & 0o222) === 0) return true;
  try {
    await (await open(path, constants.O_WRONLY)).close();
    return false;
  } catch (error) {
    const { code = "" } = error as { code?: string };
    if (["EACCES", "EPERM", "EROFS"].includes(code)) return true;
    throw error;
  }
}

/** Also copies the owner, if allowed. */
export async function copyPermissions(file: FileHandle, { mode, uid, gid }: Stats): Promise<void> {
  if (process.platform === "win32") return;
  // Only root can change the owner.
  await file.chown(uid, gid).catch(() => {});
  await file.chmod(mode & 0o777);
}

const DENIED = "permission denied: change the permissions, or choose another directory";

/** By the error code of the operating system. */
const EXPLANATIONS: ReadonlyMap<unknown, string> = new Map([
  ["ENOSPC", "no space left on the disk: free some space, or choose a file on another disk"],
  ["EDQUOT", "the disk quota is used up: free some space, or choose a file on another disk"],
  ["EFBIG", "the file is too large for its disk or a limit: choose a file on another disk"],
  ["EACCES", DENIED],
  ["EPERM", DENIED],
  ["EROFS", "the file system is read-only: choose another directory"],
  ["EISDIR", "it is a directory: name a file in it"],
  ["ENOENT", "it was not found: another program may have moved or removed it"],
  ["ENAMETOOLONG", "the file name is too long: choose a shorter one"],
  ["ELOOP", "it is a loop of symbolic links: name a file"],
  [
    "ESTALE",
    "the network drive does not have it any more: check the drive, then repeat the command",
  ],
]);

/** Node does not name each number of the operating system, and Deno has some numbers only in its message. */
function nameOfCode({ code, errno, message }: NodeJS.ErrnoException): string | undefined {
  const number = Math.abs(errno ?? Number(/\(os error (\d+)\)/.exec(message)?.[1]));
  const [name] = Object.entries(systemConstants.errno).find(([, value]) => value === number) ?? [];
  return EXPLANATIONS.has(code) ? code : name;
}

/** Returns the error itself if its code is not in the table. An error of a write has no path. */
export function explainFileError(error: unknown, file: string): unknown {
  if (!(error instanceof Error)) return error;
  const { path = file, syscall = "write" } = error as NodeJS.ErrnoException;
  const code = nameOfCode(error);
  const explanation = EXPLANATIONS.get(code);
  if (explanation === undefined) return error;
  return new FileError(`Cannot ${syscall} ${path} (${code}): ${explanation}`, { cause: error });
}

export async function explainingErrors<T>(file: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw explainFileError(error, file);
  }
}
