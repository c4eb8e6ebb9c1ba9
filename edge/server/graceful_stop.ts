// Stops a server: waits for the open responses, and interrupts those that take longer than the shutdown timeout.
import type { EdgeApp } from "../app.ts";
import { trackResponses } from "../track_responses.ts";

/** Shutdown timeout (ms). Kubernetes kills a process 30 s after SIGTERM. */
export const SHUTDOWN_TIMEOUT = 25_000;

/** A running server. */
export interface RunningServer {
  /** URL of the server, such as `http://127.0.0.1:8000/`. */
  readonly url: string;
  /** Returns the number of requests whose responses are not complete. */
  openResponses(): number;
  /**
   * Stops accepting connections, waits for the open responses, and interrupts those that are not complete
   * after the shutdown timeout. Deno interrupts them when the process exits.
   *
   * @returns Number of interrupted responses
   */
  stop(): Promise<number>;
}

/**
 * Waits until a server has stopped, at most for the shutdown timeout.
 *
 * @param stopped Resolves when the open responses are complete
 * @param timeout Shutdown timeout (ms)
 * @param interrupt Interrupts the open responses after the timeout, and returns their number
 * @returns Number of interrupted responses
 */
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

/** Returns a number of open responses, such as `1 open response`. */
export function openResponses(count: number): string {
  return count === 1 ? "1 open response" : `${count} open responses`;
}

/** Returns a message about interrupted responses. */
export function interruptedMessage(count: number, timeout: number): string {
  return `Interrupted ${openResponses(count)} after ${timeout / 1000} s`;
}

/** Interval (ms) at which the end of the open responses of Bun is checked. */
const BUN_POLL_INTERVAL = 50;

/** The members of Bun's server that are used here. */
export interface BunServer {
  /** Number of requests whose responses are not complete. */
  pendingRequests: number;
  /** Stops accepting connections. Resolves when the open connections are closed. */
  stop(closeActiveConnections?: boolean): Promise<void>;
}

/** Serves an app in Deno or Bun, and stops it. */
export class StoppableApp {
  /** Bun's server, which also comes with each request. */
  bun: BunServer | undefined;
  readonly #app: Pick<EdgeApp, "fetch">;
  readonly #timeout: number;
  readonly #logInterrupted: () => void;
  /** Of the responses in Deno that are not complete. */
  readonly #open = new Set<Promise<void>>();

  /** @param timeout Shutdown timeout (ms) */
  constructor(app: Pick<EdgeApp, "fetch">, timeout: number = SHUTDOWN_TIMEOUT) {
    this.#app = app;
    this.#timeout = timeout;
    this.#logInterrupted = trackResponses(app);
  }

  /** Number of requests whose responses are not complete. */
  get openResponses(): number {
    return this.bun?.pendingRequests ?? this.#open.size;
  }

  /** @param context Second argument of the runtime: information about the request in Deno, the server in Bun */
  readonly fetch = (request: Request, context?: unknown): Response | Promise<Response> => {
    const { completed, pendingRequests } = (context ?? {}) as Partial<RequestContext>;
    if (pendingRequests !== undefined) this.bun = context as BunServer;
    if (completed !== undefined) {
      this.#open.add(completed);
      const remove = () => void this.#open.delete(completed);
      completed.then(remove, remove);
    }
    return this.#app.fetch(request, context);
  };

  /**
   * Waits for the open responses, and interrupts those that are not complete after the shutdown timeout.
   *
   * @param shutDown Stops Deno's server. Default: only wait
   * @returns Number of interrupted responses
   */
  stop(shutDown: () => Promise<unknown> = () => this.#complete()): Promise<number> {
    const bun = this.bun;
    return stopWithin(bun ? this.#stopBun(bun) : shutDown(), this.#timeout, () => {
      // At least one client is still reading, although `completed` may have settled.
      const count = bun?.pendingRequests ?? Math.max(1, this.#open.size);
      // First: Bun cancels the bodies, which would log them as aborted by the client.
      this.#logInterrupted();
      void bun?.stop(true);
      return count;
    });
  }

  async #complete(): Promise<void> {
    while (this.#open.size > 0) await Promise.allSettled(this.#open);
  }

  async #stopBun(bun: BunServer): Promise<void> {
    void bun.stop();
    while (bun.pendingRequests > 0) {
      await new Promise((resolve) => setTimeout(resolve, BUN_POLL_INTERVAL));
    }
    // Bun would wait for a connection on which only a part of a request has arrived.
    void bun.stop(true);
  }
}

/** Properties of the second argument of `fetch()` in Deno or Bun. */
interface RequestContext {
  /** Deno: settles when the response was sent or has failed. */
  completed: Promise<void>;
  /** Bun: number of requests whose responses are not complete. */
  pendingRequests: number;
}
