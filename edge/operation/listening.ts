import { oneLine } from "../../src/errors.ts";

export function formatUrl(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}/`;
}

export class ListenError extends Error {}

/** By error code of the operating system, or name of Deno's error. */
const LISTEN_PROBLEMS: Record<string, string> = {
  EADDRINUSE: "another program uses this port: choose another port, or stop that program",
  EADDRNOTAVAIL: "this computer does not have this address: choose another host",
  EACCES: "the system does not permit this port: choose one above 1023",
  ENOTFOUND: "the host is unknown: choose an address, such as 127.0.0.1",
};
const DENO_ERROR_CODES: Record<string, string> = {
  AddrInUse: "EADDRINUSE",
  AddrNotAvailable: "EADDRNOTAVAIL",
  PermissionDenied: "EACCES",
};

export function toListenError(host: string, port: number, error: unknown): ListenError {
  const { code = "", name = "" } = (error ?? {}) as { code?: string; name?: string };
  const problem = LISTEN_PROBLEMS[DENO_ERROR_CODES[name] ?? code] ??
    `${oneLine(error)}: choose another host or port`;
  return new ListenError(`Cannot listen on ${formatUrl(host, port)}: ${problem}`, { cause: error });
}
