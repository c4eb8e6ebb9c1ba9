import { stat } from "node:fs/promises";
import { dirname } from "node:path";

/** A file that cannot be written as it was asked. */
export class FileError extends Error {
  override readonly name = "FileError";
}

/** How many bytes a file has; undefined where there is none. */
export function sizeOf(path: string): Promise<number | undefined> {
  return stat(path).then(({ size }) => size, (error) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
}

/**
 * Refuses a path that no file can have.
 *
 * @throws {FileError} If its folder is not there, or it is a folder itself, a device or a pipe
 */
export async function requireFolder(path: string): Promise<void> {
  // What may not be looked at is another matter than what is not there.
  const found = (path: string) =>
    stat(path).catch((error) => {
      if (!/^(ENOENT|ENOTDIR|ENAMETOOLONG)$/.test(error.code)) throw error;
    });
  const folder = dirname(path);
  if (!(await found(folder))?.isDirectory()) {
    throw new FileError(`There is no folder ${folder}: make it first`);
  }
  const file = await found(path);
  if (file?.isDirectory()) throw new FileError(`${path} is a folder: name a file in it`);
  if (file && !file.isFile()) {
    throw new FileError(`${path} is no plain file: write to standard output, and send that there`);
  }
}
