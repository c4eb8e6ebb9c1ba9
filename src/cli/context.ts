import process from "node:process";
import type { Readable } from "node:stream";
import type { Progress } from "../client/query.ts";
import type { Clock } from "../clock.ts";

/** `main()` passes the real ones, tests pass fakes. */
export interface Context {
  /** `undefined` if not set or not permitted. In a terminal, Deno asks for a missing permission. */
  environment: (name: string) => string | undefined;
  /** Never asks for a permission. */
  environmentIfAllowed: (name: string) => string | undefined;
  /** None if Deno does not permit listing them. */
  environmentNames: () => readonly string[];
  /** End of a sentence about setting a variable: the flag that permits reading it, or nothing. */
  permissionHint: (name: string) => string;
  /** For a failed connection, if the runtime ignores the proxy variables. */
  networkHint: () => string | undefined;
  write: (bytes: Uint8Array) => Promise<void>;
  /** If so, rows would overwrite the progress line. */
  isStdoutTerminal: boolean;
  print: (text: string) => Promise<void>;
  printError: (line: string) => void;
  /** Standard error, if it is a terminal. */
  terminal: Terminal | undefined;
  /** Standard input. */
  input: () => Readable;
  readInput: () => Promise<string>;
  /** Reads a line without showing it; without a terminal, from standard input. */
  promptSecret: (prompt: string) => Promise<string>;
  /** `false` without a terminal, and for any answer but "y" or "yes". */
  confirm: (question: string) => Promise<boolean>;
  /** Ends the process even if connections are open. */
  endProcess: () => void;
  /** By SIGINT, SIGTERM, SIGHUP or SIGBREAK. */
  signal: AbortSignal;
  /** Called with the progress of a download. */
  onProgress?: (progress: Progress) => void;
  /** Its time is in ms since 1970. */
  clock: Clock;
}

interface Terminal {
  /** Characters per line. */
  columns: () => number;
  /** Without a line feed. */
  write: (text: string) => void;
}

/** Exits with 2. */
export class UsageError extends Error {}

/** Not a bug, such as a key that was not typed. Exits with 1. */
export class CommandError extends Error {}

/** A file stays as it is, although its datasets have changed. Exits with 3. */
export class OutdatedError extends Error {}

export const OUTDATED = 3;

/** 128 plus 2, the number of SIGINT. */
export const INTERRUPTED = 130;

/** With `INTERRUPTED`, also exits, because a pending write keeps the process alive. */
export function setExitCode(code: number): void {
  process.exitCode = code;
  if (code === INTERRUPTED) process.exit();
}
