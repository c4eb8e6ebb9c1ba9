import { FileError } from "./files.ts";

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
