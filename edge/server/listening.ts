// Host and port of a server, and errors of listening.
import { oneLine } from "../../src/errors.ts";

/** Idle timeout (s) of Bun: the maximum. The default of 10 s would interrupt slow downloads. */
export const BUN_IDLE_TIMEOUT = 255;

/** Options for listening. */
export interface ListenOptions {
  /** Address or host name to listen on. */
  host: string;
  /** Port to listen on; 0 is any free port. */
  port: number;
}

/** Returns the URL of a server. */
export function formatUrl(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}/`;
}

/** Error of a server that cannot listen. The message says why, and what to do. */
export class ListenError extends Error {}

/** End of the message, by error code of the operating system. */
const LISTEN_PROBLEMS: Record<string, string> = {
  EADDRINUSE: "another program uses this port: choose another port, or stop that program",
  EADDRNOTAVAIL: "this computer does not have this address: choose another host",
  EACCES: "the system does not permit this port: choose one above 1023",
  ENOTFOUND: "the host is unknown: choose an address, such as 127.0.0.1",
};
/** Error codes of the operating system, by name of Deno's error class. */
const DENO_ERROR_CODES: Record<string, string> = {
  AddrInUse: "EADDRINUSE",
  AddrNotAvailable: "EADDRNOTAVAIL",
  PermissionDenied: "EACCES",
};

/** Creates the error for a server that cannot listen. */
export function toListenError(host: string, port: number, error: unknown): ListenError {
  const { code = "", name = "" } = (error ?? {}) as { code?: string; name?: string };
  const problem = LISTEN_PROBLEMS[DENO_ERROR_CODES[name] ?? code] ??
    `${oneLine(error)}: choose another host or port`;
  return new ListenError(`Cannot listen on ${formatUrl(host, port)}: ${problem}`, { cause: error });
}
