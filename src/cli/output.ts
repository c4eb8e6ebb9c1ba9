import { constants, type Stats } from "node:fs";
import {
  type FileHandle,
  lstat,
  open,
  readlink,
  realpath,
  stat,
  writeFile,
} from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import process from "node:process";
import type { Batch } from "../client/batches.ts";
import { oneLine } from "../errors.ts";
import { CommandError, type Context } from "./context.ts";

/** A page of a download: bytes in the format of the output. */
export type DownloadPage = Batch<Uint8Array>;

/** Destination of the pages of a download. */
export interface Output {
  /**
   * Writes a page. A file also records the page's cursor, so that a later run can continue after it.
   *
   * @throws {FileError} If it cannot be written
   */
  write(page: DownloadPage): Promise<void>;
  /**
   * Completes the output after the last page.
   *
   * @param missingRows Number of rows that the service counted and did not deliver, if accepted
   * @returns The size of a file in bytes; `undefined` for standard output
   */
  finish(missingRows: number): Promise<number | undefined>;
  /**
   * Ends an incomplete output.
   *
   * @param rows Number of rows that were written
   * @returns The path of a part that a later run can continue; `undefined` if no part is kept
   */
  abandon(rows: number): Promise<string | undefined>;
}

/** Opens standard output. */
export function openStandardOutput({ write, signal }: Context): Output {
  return {
    write: ({ data }) => unlessAborted(write(data), signal),
    finish: () => Promise.resolve(undefined),
    abandon: () => Promise.resolve(undefined),
  };
}

/** Opens a device, a pipe or a file descriptor. A pipe opens when another process reads it. */
export async function openStream(path: string, { signal }: Context): Promise<Output> {
  const attempt = <T>(step: Promise<T>) =>
    unlessAborted(
      step.catch((error) => {
        throw new FileError(`Cannot write ${path}: ${oneLine(error)}`);
      }),
      signal,
    );
  // Without O_CREAT and O_TRUNC: a descriptor can refer to a file that others write to.
  const file = await attempt(open(path, constants.O_WRONLY | constants.O_APPEND));
  let size = 0;
  return {
    async write({ data }) {
      await attempt(file.writeFile(data));
      size += data.length;
    },
    async finish() {
      await attempt(file.close());
      return size;
    },
    abandon: () => file.close().then(() => undefined, () => undefined),
  };
}

/**
 * Writes a text to standard output, a device, a pipe or a file. A file keeps its permissions.
 *
 * @throws {FileError} If it cannot be written
 */
export async function writeText(path: string, text: string, context: Context): Promise<void> {
  if (isStandardOutput(path)) return await context.print(text);
  const target = await resolveOutput(path);
  if (!target.isStream) return await explainingErrors(path, writeFile(target.path, text));
  const stream = await openStream(target.path, context);
  await stream.write({ data: new TextEncoder().encode(text) } as DownloadPage);
  await stream.finish(0);
}

/** Waits for a promise until the signal aborts: a reader that stopped can block a write. */
async function unlessAborted<T>(step: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => onAbort = () => reject(signal.reason));
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([step, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** A file that cannot be written as requested. */
export class FileError extends CommandError {}

/** The target of an output path. */
export interface OutputPath {
  /** Path after symbolic links. */
  path: string;
  /** Whether it is a device, a pipe, a socket or a file descriptor instead of a regular file. */
  isStream: boolean;
}

/**
 * Returns whether a path names the standard output of this process.
 *
 * The names are compared as text: opening `/dev/stdout` would overwrite a file that the shell
 * redirects to from its start, and Deno allows it only with `--allow-all`.
 */
export function isStandardOutput(path: string): boolean {
  return /^(-|\/dev\/stdout|\/dev\/fd\/1|\/proc\/self\/fd\/1)$/.test(path);
}

/** Maximum number of symbolic links to follow, as in Linux (path_resolution(7)). */
const MAX_LINKS = 40;

/**
 * Follows the symbolic links of an output path. The target may be missing.
 *
 * @throws {FileError} If it is a directory, its directory is missing, or its links form a loop
 */
export async function resolveOutput(path: string): Promise<OutputPath> {
  if (isStandardOutput(path)) return { path, isStream: true };
  const found = await statIfExists(path).catch(async (error) => {
    // The missing permission to read the directory is reported first, because a download needs it.
    await requireDirectory(path);
    throw error;
  });
  if (found?.isDirectory() || /[\\/]$/.test(path)) {
    throw new FileError(`${path} is a directory: name a file in it`);
  }
  if (found !== undefined && !found.isFile()) return { path, isStream: true };
  let target = path;
  for (let links = 0; (await statIfExists(target, lstat))?.isSymbolicLink(); links++) {
    // A link to a file descriptor, whose file belongs to another process.
    if (/^\/(proc\/|dev\/(fd\/|std))/.test(target)) return { path, isStream: true };
    if (links === MAX_LINKS) throw loopError(path);
    target = await joinLink(dirname(target), await readlink(target));
  }
  await requireDirectory(target);
  return { path: target, isStream: false };
}

async function requireDirectory(path: string): Promise<void> {
  const directory = dirname(path);
  if ((await statIfExists(directory))?.isDirectory()) return;
  throw new FileError(`There is no directory ${directory}: create it first`);
}

/** Returns the path that a link in a directory leads to. */
async function joinLink(directory: string, link: string): Promise<string> {
  if (isAbsolute(link)) return link;
  // `..` after a symbolic link is the parent of the link's target.
  return join(link.includes("..") ? await realpath(directory) : directory, link);
}

function loopError(path: string): FileError {
  return new FileError(`${path} is a loop of symbolic links: name a file`);
}

/** Returns the status of a file; `undefined` if the file does not exist. */
export async function statIfExists(
  path: string,
  read: (path: string) => Promise<Stats> = stat,
): Promise<Stats | undefined> {
  try {
    return await read(path);
  } catch (error) {
    // Any other error, such as a missing permission, does not mean that the file is missing.
    const { code } = error as { code?: string };
    if (code === "ENOENT" || code === "ENOTDIR" || code === "ENAMETOOLONG") return undefined;
    if (code === "ELOOP") throw loopError(path);
    throw error;
  }
}

/**
 * Checks that a file can be created or replaced.
 *
 * @param hint What to do if a file exists and `force` is false
 * @returns The status of the file to replace; `undefined` if the file does not exist
 * @throws {FileError} If the file is read-only, or exists without `force`
 */
export async function requireReplaceable(
  path: string,
  force: boolean,
  hint = "pass --force to overwrite it, or choose another name",
): Promise<Stats | undefined> {
  const found = await statIfExists(path);
  if (found === undefined) return undefined;
  if (await isReadOnly(path, found)) {
    throw new FileError(`${path} is read-only: make it writable, or choose another name`);
  }
  if (!force) throw new FileError(`${path} already exists: ${hint}`);
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

/** Gives a new file the permissions of the file that it replaces and, if allowed, its owner. */
export async function copyPermissions(file: FileHandle, { mode, uid, gid }: Stats): Promise<void> {
  if (process.platform === "win32") return;
  // Only root can change the owner.
  await file.chown(uid, gid).catch(() => {});
  await file.chmod(mode & 0o777);
}

const DENIED = "permission denied: change the permissions, or choose another directory";

/** Cause and advice by the error code of the operating system. */
const EXPLANATIONS: ReadonlyMap<unknown, string> = new Map([
  ["ENOSPC", "no space left on the disk: free some space, or choose a file on another disk"],
  ["EDQUOT", "the disk quota is used up: free some space, or choose a file on another disk"],
  ["EFBIG", "the file is too large for its disk or a limit: choose a file on another disk"],
  ["EACCES", DENIED],
  ["EPERM", DENIED],
  ["EROFS", "the file system is read-only: choose another directory"],
  ["EISDIR", "it is a directory: name a file in it"],
]);

/**
 * Explains why a file cannot be written.
 *
 * @param error Error with a `code`, and with a `path` and `syscall` if the runtime knows them
 * @param file Name of the file, for an error without a path: a write to an open file has none
 * @returns The explanation; the error itself if its code is not in the table
 */
export function explainWriteError(error: unknown, file: string): unknown {
  if (!(error instanceof Error)) return error;
  const { code, path = file, syscall = "write" } = error as NodeJS.ErrnoException;
  const explanation = EXPLANATIONS.get(code);
  if (explanation === undefined) return error;
  return new FileError(`Cannot ${syscall} ${path} (${code}): ${explanation}`, { cause: error });
}

/** Waits for work on a file, and explains its error. */
export async function explainingErrors<T>(file: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw explainWriteError(error, file);
  }
}
