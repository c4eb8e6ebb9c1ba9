import { oneLine, ValidationError } from "../errors.ts";

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
    if (error instanceof UsageError) throw error;
    throw new UsageError(
      error instanceof ValidationError
        ? oneLine(error.messageFor(FLAGS))
        : withFlags(oneLine(error)),
    );
  }
}

/** Flags by option. */
const FLAGS: Record<string, string> = {
  select: "--select",
  filter: "--filter",
  within: "--bbox",
  "within.west": "west of --bbox",
  "within.south": "south of --bbox",
  "within.east": "east of --bbox",
  "within.north": "north of --bbox",
  top: "--top",
  limit: "--limit",
  partition: "--partition",
  unchecked: "--unchecked",
  baseUrl: "--base-url (or DATASTREAM_BASE_URL)",
  requestsPerSecond: "WEIR_REQUESTS_PER_SECOND",
};

/** Replaces the names of options in a message by those of flags and variables. */
function withFlags(message: string): string {
  return message
    .replace(/^baseUrl /, "--base-url (or DATASTREAM_BASE_URL) ")
    .replace(/^requestsPerSecond /, "WEIR_REQUESTS_PER_SECOND ");
}
