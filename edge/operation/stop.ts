import type { EdgeApp } from "../app.ts";

/** Milliseconds. Kubernetes kills a process 30 s after SIGTERM. */
export const SHUTDOWN_TIMEOUT = 25_000;
/** Milliseconds. */
const STOP_POLL_INTERVAL = 50;

/** A running server. */
export interface RunningServer {
  /** URL of the server, such as `http://127.0.0.1:8000/`. */
  readonly url: string;
  /** Returns the number of requests whose responses are not complete. */
  openResponses(): number;
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
  timeout: number,
  interrupt: () => number,
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

export function stopBun(bun: BunServer, app: Stoppable, timeout: number): Promise<number> {
  void bun.stop();
  // Bun would wait for a connection on which only a part of a request has arrived.
  const stopped = until(() => bun.pendingRequests === 0).then(() => void bun.stop(true));
  return stopWithin(stopped, timeout, () => {
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

export function interruptedMessage(count: number, timeout: number): string {
  return `Interrupted ${openResponses(count)} after ${timeout / 1000} s`;
}
