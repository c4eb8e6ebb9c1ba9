import { oneLine } from "../errors.ts";

/** A wrong command line. Its message is followed by a pointer to the help. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/**
 * Rethrows validation errors as `UsageError`, in the words of the command line.
 *
 * @throws {UsageError} For whatever `read` throws
 */
export function told<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError(withFlags(oneLine(error)));
  }
}

/** Replaces the names of options in a message by those of flags and variables. */
function withFlags(message: string): string {
  return message
    .replace("pass unchecked: true", "pass --unchecked")
    .replace(
      /one of RESOURCES\.(\w+)\.fields/,
      (_, resource) => `a field that weir fields ${resource.toLowerCase()} lists`,
    )
    .replace("give the query within: { west, south, east, north }", "use --bbox=W,S,E,N")
    .replace(/^baseUrl /, "--base-url (or DATASTREAM_BASE_URL) ")
    .replace(/^requestsPerSecond /, "WEIR_REQUESTS_PER_SECOND ");
}
