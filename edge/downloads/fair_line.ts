import type { Clock } from "../../src/clock.ts";
import { HttpProblem } from "./problem.ts";
import { BEAT_TTL, startBeat } from "./beat.ts";

const MAX_WAITING = 200;
/** Milliseconds. */
export const MAX_LINE_WAIT = 60_000;
/** Seconds. */
const RETRY_DELAY = 30;

interface LineOptions {
  max: number;
  /** Default: no maximum. */
  maxPerClient?: number;
  tasks: string;
  clock: Clock;
}

/** Plain data: in workerd, one request cannot use the promises of another one. */
interface LineEntry {
  readonly client: string | undefined;
  readonly since: number;
  seenAt: number;
  isRunning: boolean;
  /** Its own request has created the promise that this resolves. */
  wake(): void;
}

/** Next is the client that runs the fewest tasks, then the task that waited longest. */
export class FairLine {
  refused = 0;
  /** Refused because their client ran its maximum. */
  refusedPerClient = 0;
  readonly max: number;
  readonly #options: LineOptions;
  #entries: LineEntry[] = [];
  /** The last one is at the end. */
  readonly #recent: (string | undefined)[] = [];

  constructor(options: LineOptions) {
    this.max = options.max;
    this.#options = options;
  }

  get size(): number {
    return this.#present().length;
  }

  get running(): number {
    return this.#present().filter(({ isRunning }) => isRunning).length;
  }

  /** `maxWait` is in ms; default 60 s. */
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

  /** True if a client waits that runs at least two fewer. */
  shouldYield(client: string | undefined): boolean {
    const running = this.#runningOf(client);
    return this.#waiting().some((entry) => this.#runningOf(entry.client) + 1 < running);
  }

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

  #waiting(): LineEntry[] {
    const { maxPerClient = Infinity } = this.#options;
    return this.#present().filter(({ isRunning, client }) =>
      !isRunning && this.#runningOf(client) < (client === undefined ? Infinity : maxPerClient)
    );
  }

  #runningOf(client: string | undefined): number {
    return this.#entries.filter((entry) => entry.isRunning && entry.client === client).length;
  }

  /** Tasks whose requests were not dropped. */
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
