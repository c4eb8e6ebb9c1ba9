import process from "node:process";
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { CommandError } from "./context.ts";

/** Exit code of a process that a signal ended: 128 plus the number of SIGINT. */
export const INTERRUPTED = 130;

/** Signals that end the process. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Handlers of the events of a process. */
export interface ProcessHandlers {
  /** Handles a write to standard output that failed. */
  onOutputError(error: Error): void;
  /** Handles a signal that ends the process. */
  onSignal(): void;
}

/** Registered handlers. They share one listener per event, because Node warns of more than ten. */
const registered = new Set<ProcessHandlers>();

const onOutputError = (error: Error) => registered.forEach((call) => call.onOutputError(error));
// A message that cannot be written does not end a download.
const onMessageError = () => {};
const onSignal = () => registered.forEach((call) => call.onSignal());

/** Calls handlers on the events of the process until {@linkcode removeHandlers}. */
export function addHandlers(handlers: ProcessHandlers): void {
  registered.add(handlers);
  if (registered.size > 1) return;
  process.stdout.on("error", onOutputError);
  process.stderr.on("error", onMessageError);
  for (const signal of SIGNALS) process.on(signal, onSignal);
}

/** Removes handlers, and the listeners of the process with the last of them. */
export function removeHandlers(handlers: ProcessHandlers): void {
  registered.delete(handlers);
  if (registered.size > 0) return;
  process.stdout.off("error", onOutputError);
  process.stderr.off("error", onMessageError);
  for (const signal of SIGNALS) process.off(signal, onSignal);
}

/** Sets the exit code. After a signal it also exits, because a pending write keeps the process alive. */
export function setExitCode(code: number): void {
  process.exitCode = code;
  if (code === INTERRUPTED) process.exit();
}

/**
 * Asks for a line without showing it; without a terminal, returns the first line of standard input
 * that is not blank.
 *
 * @param signal Aborts the prompt
 * @throws {CommandError} If the input ends first
 */
export async function promptSecret(prompt: string, signal: AbortSignal): Promise<string> {
  const { stdin, stderr } = process;
  if (stdin.isTTY !== true) return (await text(stdin)).trim().split("\n")[0] ?? "";
  stderr.write(prompt);
  // readline echoes to its output, which discards everything.
  const discard = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: discard, terminal: true });
  const ended = new AbortController();
  // In raw mode, Ctrl-C sends no signal. Ctrl-D closes the input.
  lines.once("SIGINT", () => process.emit("SIGINT"));
  lines.once("close", () => ended.abort(new CommandError("No key was typed")));
  try {
    return await lines.question("", { signal: AbortSignal.any([signal, ended.signal]) })
      .catch((error) => {
        // readline rejects with its own AbortError.
        throw signal.aborted ? error : ended.signal.reason ?? error;
      });
  } finally {
    lines.close();
    stderr.write("\n");
  }
}
