// Stops a server: waits for the open responses, and interrupts those that take longer than the shutdown timeout.

/** Default shutdown timeout (ms). Kubernetes kills a process 30 s after SIGTERM. */
export const DEFAULT_SHUTDOWN_TIMEOUT = 25_000;

/** Maximum shutdown timeout (ms). */
export const MAX_SHUTDOWN_TIMEOUT = 3_600_000;

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

/** Responses that are not complete. */
export class OpenResponses {
  readonly #open = new Set<Promise<void>>();

  /** Number of responses that are not complete. */
  get count(): number {
    return this.#open.size;
  }

  /**
   * Adds a response.
   *
   * @param completed Settles when the response was sent or has failed
   */
  add(completed: Promise<void>): void {
    this.#open.add(completed);
    const remove = () => void this.#open.delete(completed);
    completed.then(remove, remove);
  }

  /** Resolves when no response is open. */
  async complete(): Promise<void> {
    while (this.count > 0) await Promise.allSettled(this.#open);
  }
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

/** Returns a message about the open responses of a server that stops. */
export function waitingMessage(count: number, timeout: number): string {
  return `Stopping: waiting up to ${timeout / 1000} s for ${responses(count)}`;
}

/**
 * Returns a message about interrupted responses.
 *
 * @param setting Name of the option or variable that sets the timeout
 */
export function interruptedMessage(count: number, timeout: number, setting: string): string {
  return `Interrupted ${responses(count)} after ${
    timeout / 1000
  } s: to wait longer, set ${setting}`;
}

function responses(count: number): string {
  return count === 1 ? "1 open response" : `${count} open responses`;
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

/**
 * Stops a server of Bun. See {@linkcode RunningServer.stop}.
 *
 * @param logInterrupted Logs the open responses as interrupted
 */
export function stopBunServer(
  server: BunServer,
  timeout: number,
  logInterrupted: () => void,
): Promise<number> {
  const stop = async () => {
    void server.stop();
    while (server.pendingRequests > 0) {
      await new Promise((resolve) => setTimeout(resolve, BUN_POLL_INTERVAL));
    }
    // Bun would wait for a connection on which only a part of a request has arrived.
    void server.stop(true);
  };
  return stopWithin(stop(), timeout, () => {
    const count = server.pendingRequests;
    // First: Bun cancels the bodies, which would log them as aborted by the client.
    logInterrupted();
    void server.stop(true);
    return count;
  });
}
