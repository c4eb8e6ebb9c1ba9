// What the servers of all runtimes share: their address, errors of listening, and signals.
import { oneLine } from "../src/errors.ts";

/** Default time (ms) for open downloads after the server was told to stop. */
export const DEFAULT_SHUTDOWN_TIMEOUT = 25_000;

/** Returns the URL of a server. */
export function formatUrl(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}/`;
}

/** Messages for the codes of failed attempts to listen. */
const LISTEN_PROBLEMS: Record<string, string> = {
  EADDRINUSE: "another program uses this port: choose another port, or stop that program",
  EADDRNOTAVAIL: "this computer does not have the address: choose another host",
  EACCES: "the port is not permitted: choose one above 1023",
  ENOTFOUND: "the name of the host is unknown: choose an address, such as 127.0.0.1",
};
/** Names of Deno's errors, and their codes in Node and Bun. */
const DENO_ERROR_CODES: Record<string, string> = {
  AddrInUse: "EADDRINUSE",
  AddrNotAvailable: "EADDRNOTAVAIL",
  PermissionDenied: "EACCES",
};

/** Creates an error that says why a server cannot listen, and what to do. */
export function toListenError(host: string, port: number, error: unknown): Error {
  const { code = "", name = "" } = (error ?? {}) as { code?: string; name?: string };
  const problem = LISTEN_PROBLEMS[DENO_ERROR_CODES[name] ?? code] ?? oneLine(error);
  return new Error(`Cannot listen on ${formatUrl(host, port)}: ${problem}`, { cause: error });
}

/** The part of the process of Deno, Node and Bun that is used here. */
interface Process {
  on(signal: string, listener: () => void): void;
  exit(code: number): never;
}

/** Signals that stop a server. Windows has SIGBREAK (Ctrl-Break) and no SIGTERM. */
const STOP_SIGNALS = ["SIGTERM", "SIGINT", "SIGBREAK"];

/**
 * Stops a server on the first signal and exits the process: with 0, or with 1 if responses were broken
 * off. A second signal exits immediately, with 130.
 *
 * @param stop Stops the server; returns the number of responses that were broken off
 */
export function stopOnSignals(stop: () => Promise<number>): void {
  const { process } = globalThis as unknown as { process: Process };
  let signals = 0;
  const onSignal = async () => {
    if (++signals > 1) process.exit(130);
    const broken = await stop();
    if (broken > 0) console.error(brokenMessage(broken));
    process.exit(broken > 0 ? 1 : 0);
  };
  for (const signal of STOP_SIGNALS) {
    try {
      process.on(signal, onSignal);
    } catch {
      // The platform does not have the signal.
    }
  }
}

/** Returns the message about responses that were broken off at the deadline. */
export function brokenMessage(count: number): string {
  const responses = count === 1 ? "1 response was" : `${count} responses were`;
  return `${responses} not complete in time and broken off: set WEIR_SHUTDOWN_TIMEOUT for more time`;
}
