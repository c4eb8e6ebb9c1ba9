// Stopping a server: open responses get some time to complete, and the rest are broken off.

/** Default time (ms) that open responses get. Container platforms kill a process after 30 s. */
export const DEFAULT_SHUTDOWN_TIMEOUT = 25_000;

/** Maximum time (ms) that open responses can get. */
export const MAX_SHUTDOWN_TIMEOUT = 3_600_000;

/** A running server. */
export interface RunningServer {
  /** URL of the server, such as `http://127.0.0.1:8000/`. */
  readonly url: string;
  /** Returns the number of requests whose responses are not complete. */
  openResponses(): number;
  /**
   * Stops accepting connections and waits for the open responses until the deadline. The rest are broken
   * off; in Deno, they are broken off when the process exits.
   *
   * @returns Number of responses that are broken off
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

  /** Waits for all responses. */
  async complete(): Promise<void> {
    while (this.count > 0) await Promise.allSettled(this.#open);
  }
}

/**
 * Waits until a server has stopped.
 *
 * @param stopped Resolves when the open responses are complete
 * @param timeout Maximum time (ms)
 * @param breakOff Called at the deadline. Returns the number of responses that are broken off
 * @returns Number of responses that are broken off
 */
export async function stopWithin(
  stopped: Promise<unknown>,
  timeout: number,
  breakOff: () => number,
): Promise<number> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const deadline = new Promise<number>((resolve) => {
    timer = setTimeout(() => resolve(breakOff()), timeout);
  });
  try {
    return await Promise.race([stopped.then(() => 0), deadline]);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns a message about the responses for which a stopping server waits. */
export function waitingMessage(count: number, timeout: number): string {
  return `Stopping: waiting up to ${timeout / 1000} s for ${responses(count)}`;
}

/**
 * Returns a message about responses that were broken off.
 *
 * @param setting Name of the option or variable that sets the timeout
 */
export function brokenMessage(count: number, timeout: number, setting: string): string {
  return `Broke off ${responses(count)} after ${timeout / 1000} s: to wait longer, set ${setting}`;
}

function responses(count: number): string {
  return count === 1 ? "1 open response" : `${count} open responses`;
}

/** The members of Bun's server that are used here. */
export interface BunServer {
  /** Number of requests whose responses are not complete. */
  pendingRequests: number;
  /** Stops accepting connections. Resolves when the open ones are closed. */
  stop(closeActiveConnections?: boolean): Promise<void>;
}

/** Stops a server of Bun, as {@linkcode RunningServer.stop} describes. */
export function stopBunServer(server: BunServer, timeout: number): Promise<number> {
  return stopWithin(server.stop(), timeout, () => {
    const count = server.pendingRequests;
    void server.stop(true);
    return count;
  });
}
