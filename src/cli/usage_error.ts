import { oneLine } from "../errors.ts";

/** A command line that asks for what there is not: told with where to find help. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/**
 * What is refused before anything is sent is a matter of the command line.
 *
 * @throws {UsageError} For whatever `read` throws
 */
export function told<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError(oneLine(error));
  }
}
