import type { Clock } from "../../src/clock.ts";
import { HttpProblem } from "../problem.ts";
import { BEAT_TTL, startBeat } from "./beat.ts";

/** Maximum number of tasks in a line. A further one is refused. */
const MAX_WAITING = 200;
/** Maximum time (ms) for which a task waits. */
export const MAX_LINE_WAIT = 60_000;
/** Delay (s) after which a refused client may try again. */
const RETRY_DELAY = 30;

/** Options of a {@linkcode FairLine}. */
interface LineOptions {
  /** Maximum number of tasks that run concurrently. */
  max: number;
  /** The same maximum for each client. Default: no maximum. */
  maxPerClient?: number;
  /** Plural noun for the tasks, used in messages. */
  tasks: string;
  clock: Clock;
}

/** A task that waits, or that runs. Plain data: in workerd, one request cannot use the promises of another one. */
interface LineEntry {
  readonly client: string | undefined;
  readonly since: number;
  seenAt: number;
  isRunning: boolean;
  /** Wakes the task. Its own request has created the promise. */
  wake(): void;
}

/**
 * Limits how many tasks run concurrently. The next one is the task of the client that runs the fewest, then the one that
 * has waited longest.
 */
export class FairLine {
  /** Number of tasks that were refused. */
  refused = 0;
  /** Number of tasks that were refused because their client ran its maximum. */
  refusedPerClient = 0;
  readonly max: number;
  readonly #options: LineOptions;
  #entries: LineEntry[] = [];
  /** Clients of the last tasks, the last one at the end. */
  readonly #recent: (string | undefined)[] = [];

  constructor(options: LineOptions) {
    this.max = options.max;
    this.#options = options;
  }

  /** Number of tasks that wait or run. */
  get size(): number {
    return this.#present().length;
  }

  /** Number of tasks that run. */
  get running(): number {
    return this.#present().filter(({ isRunning }) => isRunning).length;
  }

  /**
   * Waits until a task may run.
   *
   * @param maxWait Maximum time (ms) to wait. Default: 60 s
   * @returns Function that ends the task. Further calls have no effect
   * @throws {HttpProblem} 503 or 429 if the line is too long, or after the maximum time
   * @throws The reason of the signal
   */
  async enter(
    client: string | undefined,
    signal: AbortSignal,
    maxWait = MAX_LINE_WAIT,
  ): Promise<() => void> {
    const { clock } = this.#options;
    const waiting = this.#present().filter(({ isRunning }) => !isRunning);
    if (waiting.length >= MAX_WAITING) throw this.#refusal(client);
    const since = clock.now();
    const entry: LineEntry = { client, since, seenAt: since, isRunning: false, wake() {} };
    this.#entries.push(entry);
    const stopBeat = startBeat(clock, () => {
      entry.seenAt = clock.now();
      // Its process was suspended, and another request took it for gone.
      if (!this.#entries.includes(entry)) this.#entries.push(entry);
      this.#admit();
      entry.wake();
    });
    const wake = () => entry.wake();
    const leave = () => {
      stopBeat();
      signal.removeEventListener("abort", wake);
      this.#entries = this.#entries.filter((other) => other !== entry);
      this.#admit();
    };
    signal.addEventListener("abort", wake);
    try {
      for (;;) {
        signal.throwIfAborted();
        this.#admit();
        if (entry.isRunning) return leave;
        if (clock.now() - since >= maxWait) throw this.#refusal(client);
        await new Promise<void>((resolve) => entry.wake = resolve);
      }
    } catch (error) {
      leave();
      throw error;
    }
  }

  /**
   * Runs a task in its turn.
   *
   * @throws {HttpProblem} As {@linkcode enter} does
   */
  async run<T>(
    task: () => Promise<T>,
    client: string | undefined,
    signal: AbortSignal,
    maxWait?: number,
  ): Promise<T> {
    const leave = await this.enter(client, signal, maxWait);
    try {
      return await task();
    } finally {
      leave();
    }
  }

  /** Whether a client should interrupt one of its tasks, because a client waits that runs at least two fewer. */
  shouldYield(client: string | undefined): boolean {
    const running = this.#runningOf(client);
    return this.#waiting().some((entry) => this.#runningOf(entry.client) + 1 < running);
  }

  /** Starts the next tasks. */
  #admit(): void {
    while (this.running < this.max) {
      const rank = ({ client }: LineEntry) => [
        this.#runningOf(client),
        this.max === 1 ? this.#recent.lastIndexOf(client) : 0,
      ];
      const [next] = this.#waiting().sort((a, b) => {
        const [[fewest, last], [fewestOfB, lastOfB]] = [rank(a), rank(b)];
        return fewest! - fewestOfB! || last! - lastOfB! || a.since - b.since;
      });
      if (next === undefined) return;
      next.isRunning = true;
      this.#recent.push(next.client);
      if (this.#recent.length > MAX_WAITING) this.#recent.shift();
      next.wake();
    }
  }

  /** Returns the waiting tasks of the clients that may run another one. */
  #waiting(): LineEntry[] {
    const { maxPerClient = Infinity } = this.#options;
    return this.#present().filter(({ isRunning, client }) =>
      !isRunning && this.#runningOf(client) < (client === undefined ? Infinity : maxPerClient)
    );
  }

  #runningOf(client: string | undefined): number {
    return this.#entries.filter((entry) => entry.isRunning && entry.client === client).length;
  }

  /** Returns the tasks whose requests were not dropped. */
  #present(): LineEntry[] {
    const now = this.#options.clock.now();
    return this.#entries = this.#entries.filter(({ seenAt }) => now - seenAt <= BEAT_TTL);
  }

  #refusal(client: string | undefined): HttpProblem {
    const { tasks, max, maxPerClient = Infinity } = this.#options;
    this.refused++;
    const isClientAtLimit = client !== undefined && this.#runningOf(client) >= maxPerClient;
    if (isClientAtLimit) this.refusedPerClient++;
    const hint = `try again after ${RETRY_DELAY} s`;
    return new HttpProblem(
      isClientAtLimit
        ? {
          status: 429,
          title: "Too many concurrent requests of one client",
          detail: `The server allows each client ${maxPerClient} concurrent ${tasks}`,
          hint: `wait until one of them has ended, or ${hint}`,
        }
        : {
          status: 503,
          title: "Too many concurrent requests",
          detail: `The server is at its limit of ${max} concurrent ${tasks}`,
          hint,
        },
      { "retry-after": String(RETRY_DELAY) },
    );
  }
}
