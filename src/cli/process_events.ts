import process from "node:process";
import { INTERRUPTED } from "./run.ts";

/** The signals that ask a process to end. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** What a call of `main()` does about the events of its process. */
export interface ProcessEvents {
  /** Standard output cannot be written. */
  onOutputError(error: Error): void;
  /** The process is asked to end. */
  onSignal(): void;
}

/** The calls in progress. They share one listener for each event, because Node warns of more than ten. */
const calls = new Set<ProcessEvents>();

const onOutputError = (error: Error) => calls.forEach((call) => call.onOutputError(error));
// Messages that nobody reads do not end a download.
const onMessageError = () => {};
const onSignal = () => calls.forEach((call) => call.onSignal());

/** Passes the events of the process to a call until {@linkcode unlisten}. */
export function listen(call: ProcessEvents): void {
  calls.add(call);
  if (calls.size > 1) return;
  process.stdout.on("error", onOutputError);
  process.stderr.on("error", onMessageError);
  for (const signal of SIGNALS) process.on(signal, onSignal);
}

/** Restores the listeners of the process after the last call. */
export function unlisten(call: ProcessEvents): void {
  calls.delete(call);
  if (calls.size > 0) return;
  process.stdout.off("error", onOutputError);
  process.stderr.off("error", onMessageError);
  for (const signal of SIGNALS) process.off(signal, onSignal);
}

/** Sets the exit code. After a signal it also exits, because a pending write would keep the process. */
export function end(code: number): void {
  process.exitCode = code;
  if (code === INTERRUPTED) process.exit();
}
