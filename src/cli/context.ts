import process from "node:process";

/** Parts of the process that commands use. `main()` passes the real ones, tests pass fakes. */
export interface Context {
  /**
   * Returns an environment variable; `undefined` if it is not set or may not be read. If the
   * permission is missing in a terminal, Deno asks the user for it.
   */
  environment: (name: string) => string | undefined;
  /** Returns an environment variable like `environment`, but never asks for a permission. */
  environmentIfAllowed: (name: string) => string | undefined;
  /** Returns the names of all environment variables; none if Deno does not permit listing them. */
  environmentNames: () => readonly string[];
  /**
   * Returns the end of a sentence about setting a variable: the flag that permits Deno to read it. An
   * empty string if reading is permitted.
   */
  permissionHint: (name: string) => string;
  /** Returns a hint for a failed connection if the runtime ignores the proxy variables. */
  networkHint: () => string | undefined;
  /** Writes bytes to standard output. */
  write: (bytes: Uint8Array) => Promise<void>;
  /** Whether standard output is a terminal. If so, rows would overwrite the progress line. */
  isStdoutTerminal: boolean;
  /** Writes text to standard output. */
  print: (text: string) => Promise<void>;
  /** Writes a line to standard error. */
  printError: (line: string) => void;
  /** Standard error as a terminal that can redraw a line; `undefined` if it is not a terminal. */
  terminal: Terminal | undefined;
  /** Reads standard input to its end. */
  readInput: () => Promise<string>;
  /** Asks for a line without showing it; without a terminal, reads it from standard input. */
  promptSecret: (prompt: string) => Promise<string>;
  /** Ends the process after the command, even if connections are open. */
  endProcess: () => void;
  /** Aborted when the process receives SIGINT, SIGTERM, SIGHUP or SIGBREAK. */
  signal: AbortSignal;
}

/** A terminal with a line that is redrawn. */
interface Terminal {
  /** Returns the number of characters per line. */
  columns: () => number;
  /** Writes text unchanged, without a line feed. */
  write: (text: string) => void;
}

/** An invalid command line. The program prints the message and the help command, and exits with 2. */
export class UsageError extends Error {}

/**
 * A failure that is not a bug, such as a file that cannot be written. The program prints the message
 * and exits with 1.
 */
export class CommandError extends Error {}

/** Exit code after SIGINT, SIGTERM or SIGHUP: 128 plus 2, the number of SIGINT. */
export const INTERRUPTED = 130;

/**
 * Sets the exit code of the process. If the code is `INTERRUPTED`, also exits, because a pending write
 * keeps the process alive.
 */
export function setExitCode(code: number): void {
  process.exitCode = code;
  if (code === INTERRUPTED) process.exit();
}
