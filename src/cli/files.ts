import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, readlink, realpath, stat } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import process from "node:process";

/** Maximum number of symbolic links to follow, as in Linux (path_resolution(7)). */
const MAX_LINKS = 40;

/** A file that cannot be written as requested. */
export class FileError extends Error {
  override readonly name = "FileError";
}

/** Where an output path leads. */
export interface OutputPath {
  /** The path after symbolic links. */
  path: string;
  /** Whether it is a device, a pipe, a socket or an open file, and not the name of a regular file. */
  isStream: boolean;
}

/**
 * Returns whether a path names this process's standard output.
 *
 * The names are compared as text: opening `/dev/stdout` would overwrite a file that the shell
 * redirects to from its start, and Deno allows it only with `--allow-all`.
 */
export function isStandardOutput(path: string): boolean {
  return /^(-|\/dev\/stdout|\/dev\/fd\/1|\/proc\/self\/fd\/1)$/.test(path);
}

/** Returns the status of a file; undefined if there is no such file. */
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
 * Follows the symbolic links of an output path; the target may be missing.
 *
 * @throws {FileError} If it is a directory, its directory is missing, or its links form a loop
 */
export async function resolveOutput(path: string): Promise<OutputPath> {
  if (isStandardOutput(path)) return { path, isStream: true };
  const found = await statIfExists(path).catch(async (error) => {
    // A download needs the permission to read the folder: its error names that first.
    await requireFolder(path);
    throw error;
  });
  if (found?.isDirectory() || /[\\/]$/.test(path)) {
    throw new FileError(`${path} is a folder: name a file in it`);
  }
  if (found !== undefined && !found.isFile()) return { path, isStream: true };
  let target = path;
  for (let links = 0; (await statIfExists(target, lstat))?.isSymbolicLink(); links++) {
    // A link to an open file descriptor: its file is not this process's to replace.
    if (/^\/(proc\/|dev\/(fd\/|std))/.test(target)) return { path, isStream: true };
    if (links === MAX_LINKS) throw loopError(path);
    target = await joinLink(dirname(target), await readlink(target));
  }
  await requireFolder(target);
  return { path: target, isStream: false };
}

async function requireFolder(path: string): Promise<void> {
  const folder = dirname(path);
  if ((await statIfExists(folder))?.isDirectory()) return;
  throw new FileError(`There is no folder ${folder}: make it first`);
}

/** The path that a link in a folder leads to. */
async function joinLink(folder: string, link: string): Promise<string> {
  if (isAbsolute(link)) return link;
  // The parent of a folder that is a symbolic link itself is that of its target.
  return join(link.includes("..") ? await realpath(folder) : folder, link);
}

function loopError(path: string): FileError {
  return new FileError(`${path} is a loop of symbolic links: name a file`);
}

/**
 * Checks that a file can be created at a path, or replaced there.
 *
 * @param remedy What to do if a file exists that `force` does not allow to replace
 * @returns The status of the file that would be replaced; undefined if there is none
 * @throws {FileError} If the file is read-only, or exists without `force`
 */
export async function requireReplaceable(
  path: string,
  force: boolean,
  remedy = "pass --force to overwrite it, or choose another name",
): Promise<Stats | undefined> {
  const found = await statIfExists(path);
  if (found === undefined) return undefined;
  if (await isReadOnly(path, found)) {
    throw new FileError(`${path} is read-only: make it writable, or choose another name`);
  }
  if (!force) throw new FileError(`${path} already exists: ${remedy}`);
  return found;
}

async function isReadOnly(path: string, { mode }: Stats): Promise<boolean> {
  // Root may open a file whose mode bits forbid it; Windows has no such bits.
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

/** Gives a new file the permissions of the file that it replaces and, where allowed, its owner. */
export async function copyPermissions(file: FileHandle, { mode, uid, gid }: Stats): Promise<void> {
  if (process.platform === "win32") return;
  // Only root may give a file away; without that, the new file belongs to who runs the download.
  await file.chown(uid, gid).catch(() => {});
  await file.chmod(mode & 0o777);
}

const DENIED = "permission denied: change the permissions, or choose another folder";

/** What failed and what to do, by the code of an error of the operating system. */
const EXPLANATIONS: ReadonlyMap<unknown, string> = new Map([
  ["ENOSPC", "no space left on the disk: free some space, or choose a file on another disk"],
  ["EDQUOT", "the disk quota is used up: free some space, or choose a file on another disk"],
  ["EFBIG", "the file is too large for its disk or a limit: choose a file on another disk"],
  ["EACCES", DENIED],
  ["EPERM", DENIED],
  ["EROFS", "the file system is read-only: choose another folder"],
  ["EISDIR", "it is a directory: name a file in it"],
]);

/**
 * Explains why a file cannot be written.
 *
 * @param error An error with a `code`, and with a `path` and `syscall` if the runtime knows them
 * @param file Name of the file, for an error without a path: a write to an open file has none
 * @returns The explanation; the error itself if its code is not one of those explained
 */
export function explainWriteError(error: unknown, file: string): unknown {
  if (!(error instanceof Error)) return error;
  const { code, path = file, syscall = "write" } = error as NodeJS.ErrnoException;
  const explanation = EXPLANATIONS.get(code);
  if (explanation === undefined) return error;
  return new FileError(`Cannot ${syscall} ${path} (${code}): ${explanation}`, { cause: error });
}

/** Waits for a file to be written; explains the error if it cannot be. */
export async function writing<T>(file: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw explainWriteError(error, file);
  }
}
