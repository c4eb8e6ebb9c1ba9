import { oneLine } from "../../src/errors.ts";
import type { EdgeApp } from "./app.ts";
import type { Environment } from "./config.ts";
import { isWorkers } from "../http/options.ts";

/** Windows has SIGBREAK (Ctrl-Break) and no SIGTERM. */
const STOP_SIGNALS = ["SIGTERM", "SIGINT", "SIGBREAK"];
/** 128 plus 2, the number of SIGINT. */
const INTERRUPTED_EXIT_CODE = 130;
const ABORT_WARNING = "request.signal aborts on successful responses";

interface Globals {
  process?: {
    env: Environment;
    on(signal: string, listener: () => void): void;
    exit(code: number): never;
  };
  Deno?: {
    permissions: { querySync(of: { name: "env"; variable?: string }): { state: string } };
  };
  Bun?: unknown;
}
const { process, Deno: deno, Bun } = globalThis as Globals;

/** On Cloudflare Workers, `process` is not a real one. */
export const hasProcess: boolean = process !== undefined && !isWorkers();
/** Exits on a signal without waiting for open responses. */
export const isBun: boolean = Bun !== undefined;

/** Reading a variable without permission would prompt the user or throw. */
function isPermitted(variable?: string): boolean {
  const { state = "granted" } = deno?.permissions.querySync({ name: "env", variable }) ?? {};
  return state === "granted";
}

export function permittedVariables(names: readonly string[]): Environment {
  return Object.fromEntries(names.filter(isPermitted).map((name) => [name, process?.env[name]]));
}

/** None if Deno may not list them. */
export function variableNames(): string[] {
  return isPermitted() ? Object.keys(process?.env ?? {}) : [];
}

/** For a variable that Deno may not read; else empty. */
export function permissionHint(name: string): string {
  return isPermitted(name) ? "" : ` (Deno may not read ${name}: pass --allow-env)`;
}

export function exit(code: number): void {
  process?.exit(code);
}

/** The first signal calls a function and exits with its result; the second exits immediately. */
export function onStopSignal(stop: () => Promise<number>): void {
  let signals = 0;
  const onSignal = async () => exit(++signals > 1 ? INTERRUPTED_EXIT_CODE : await stop());
  for (const signal of STOP_SIGNALS) {
    try {
      process?.on(signal, onSignal);
    } catch {
      // The system does not have this signal.
    }
  }
}

/** Deno warns, but the app uses `request.signal` only until it returns the response. */
export function hideAbortWarning(): void {
  const { warn } = console;
  const filter = (...data: unknown[]) => {
    if (!String(data[0]).includes(ABORT_WARNING)) return warn.apply(console, data);
    if (console.warn === filter) console.warn = warn;
  };
  console.warn = filter;
}

export function formatUrl(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}/`;
}

export class ListenError extends Error {}

/** By error code of the operating system. */
const LISTEN_PROBLEMS: Record<string, string> = {
  EADDRINUSE: "another program uses this port: choose another port, or stop that program",
  EADDRNOTAVAIL: "this computer does not have this address: choose another host",
  EACCES: "the system does not permit this port: choose one above 1023",
  ENOTFOUND: "the host is unknown: choose an address, such as 127.0.0.1",
};

export function toListenError(host: string, port: number, error: unknown): ListenError {
  const { code = "" } = error as { code?: string };
  const problem = LISTEN_PROBLEMS[code] ??
    `${oneLine(error)}: choose another host or port`;
  return new ListenError(`Cannot listen on ${formatUrl(host, port)}: ${problem}`, { cause: error });
}

/** Milliseconds. Kubernetes kills a process 30 s after SIGTERM. */
export const SHUTDOWN_TIMEOUT = 25_000;
/** Milliseconds. */
const STOP_POLL_INTERVAL = 50;

/** A running server. */
export interface RunningServer {
  /** URL of the server, such as `http://127.0.0.1:8000/`. */
  readonly url: string;
  /**
   * Stops accepting connections, waits for the open responses, and interrupts those that are not complete
   * after the shutdown timeout. Deno interrupts them when the process exits.
   */
  stop(): Promise<number>;
}

/**
 * An app that is not of `createApp()` logs nothing.
 *
 * @internal
 */
export type Stoppable = Pick<EdgeApp, "fetch"> & Partial<Pick<EdgeApp, "interrupt">>;

export interface BunServer {
  pendingRequests: number;
  stop(closeActiveConnections?: boolean): Promise<void>;
}

/** Waits at most `timeout` (ms). */
export async function stopWithin(
  stopped: Promise<unknown>,
  interrupt: () => number,
  timeout: number = SHUTDOWN_TIMEOUT,
): Promise<number> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const interrupted = new Promise<number>((resolve) => {
    timer = setTimeout(() => resolve(interrupt()), timeout);
  });
  try {
    return await Promise.race([stopped.then(() => 0), interrupted]);
  } finally {
    clearTimeout(timer);
  }
}

export function stopBun(bun: BunServer, app: Stoppable): Promise<number> {
  void bun.stop();
  // Bun would wait for a connection on which only a part of a request has arrived.
  const stopped = until(() => bun.pendingRequests === 0).then(() => void bun.stop(true));
  return stopWithin(stopped, () => {
    const count = bun.pendingRequests;
    // First: Bun cancels the bodies, which would log them as aborted by the client.
    app.interrupt?.();
    void bun.stop(true);
    return count;
  });
}

export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, STOP_POLL_INTERVAL));
}

export function openResponses(count: number): string {
  return count === 1 ? "1 open response" : `${count} open responses`;
}

export function interruptedMessage(count: number, timeout: number = SHUTDOWN_TIMEOUT): string {
  return `Interrupted ${openResponses(count)} after ${timeout / 1000} s`;
}
