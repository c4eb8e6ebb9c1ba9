import process from "node:process";

/** The parts of the process that commands use. `main()` passes the real ones, tests pass fakes. */
export interface Context {
  /**
   * Returns an environment variable; `undefined` if it is not set or may not be read. In a terminal,
   * Deno asks the user for the permission.
   */
  environment: (name: string) => string | undefined;
  /** Returns an environment variable like `environment`, but never asks for a permission. */
  environmentIfAllowed: (name: string) => string | undefined;
  /** Returns how to permit reading a variable, as part of a sentence; empty if it is permitted. */
  permissionHint: (name: string) => string;
  /** Returns what to do about a failed connection if the runtime is the cause. */
  networkHint: () => string | undefined;
  /** Standard output. */
  stdout: WritableStream<Uint8Array>;
  /** Whether standard output is a terminal, where rows would interrupt a line of progress. */
  isStdoutTerminal: boolean;
  /** Writes text to standard output. */
  print: (text: string) => Promise<void>;
  /** Writes a line to standard error. */
  printError: (line: string) => void;
  /** Standard error as a terminal that can redraw a line; `undefined` if it is not a terminal. */
  terminal: Terminal | undefined;
  /** Asks for a line without showing it; without a terminal, reads it from standard input. */
  promptSecret: (prompt: string) => Promise<string>;
  /** Aborts when a signal ends the process. */
  signal: AbortSignal;
}

/** A terminal with a line that is redrawn. */
interface Terminal {
  /** Returns the number of characters per line. */
  columns: () => number;
  /** Writes text unchanged, without a line feed. */
  write: (text: string) => void;
}

/** An invalid command line. The program prints the message and where to find help, and exits with 2. */
export class UsageError extends Error {}

/**
 * A failure that is not a bug, such as a file that cannot be written. The program prints the message
 * and exits with 1.
 */
export class CommandError extends Error {}

/** Exit code of a process that a signal ended: 128 plus the number of SIGINT. */
export const INTERRUPTED = 130;

/** Sets the exit code. After a signal it also exits, because a pending write keeps the process alive. */
export function setExitCode(code: number): void {
  process.exitCode = code;
  if (code === INTERRUPTED) process.exit();
}
