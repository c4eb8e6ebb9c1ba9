import {
  type Permit,
  type PermitRefusal,
  processLimiter,
  type RateLimiter,
} from "../../src/client/rate_limiter.ts";
import { abortable, type Clock } from "../../src/clock.ts";
import { LimitReached } from "./problem.ts";

/** Milliseconds. */
const HEARTBEAT_INTERVAL = 1_000;
/** Age (ms) of the last heartbeat after which its owner is treated as gone. */
export const HEARTBEAT_TTL = 2_500;

// In workerd, a request that another one wakes must also have a timer of its own. A dropped request
// is recognized because its timer has stopped.
export function startHeartbeat(clock: Clock, onHeartbeat: () => void): () => void {
  const stopped = new AbortController();
  const run = async () => {
    for (;;) {
      await clock.sleep(HEARTBEAT_INTERVAL, stopped.signal);
      onHeartbeat();
    }
  };
  run().catch(() => {});
  return () => stopped.abort();
}

const MAX_WAITING = 200;
/** Milliseconds. */
export const MAX_WAIT = 60_000;

interface QueueOptions {
  max: number;
  /** Default: no maximum. */
  maxPerClient?: number;
  tasks: string;
  clock: Clock;
  /** Returns the clients that have a task in progress which runs nothing, such as a download whose client reads slowly. */
  findBusy?: () => ReadonlySet<string | undefined>;
  /** Returns a problem that is the reason why tasks take long, instead of the maximum. */
  findCause?: () => LimitReached | undefined;
}

/** Plain data: in workerd, one request cannot use the promises of another one. */
interface Task {
  readonly client: string | undefined;
  readonly signal: AbortSignal;
  readonly since: number;
  seenAt: number;
  isRunning: boolean;
  /** Its own request has created the promise that this resolves. */
  wake(): void;
}

/** Returns the number of running tasks of a client. */
type RunningOf = (client: string | undefined) => number;

/** Of two clients, the one with the lower rank is next. */
function rankOf(
  client: string | undefined,
  runningOf: RunningOf,
  busy: ReadonlySet<string | undefined> | undefined,
): number[] {
  return [runningOf(client), Number(busy?.has(client) ?? false)];
}

function compareRanks(a: readonly number[], b: readonly number[]): number {
  return a.map((value, index) => value - b[index]!).find(Boolean) ?? 0;
}

/** Next is the client that runs the fewest tasks, then one that is not busy, then the task that waited longest. */
export class Queue {
  refused = 0;
  /** Refused for another reason than the maximum. */
  refusedForCause = 0;
  /** Refused because their client ran its maximum. */
  refusedPerClient = 0;
  #tasks: Task[] = [];
  /** Clients of the last tasks, the newest at the end. */
  readonly #recent: (string | undefined)[] = [];

  constructor(readonly options: Readonly<QueueOptions>) {}

  get size(): number {
    return this.#present().length;
  }

  get running(): number {
    return this.#present().filter(({ isRunning }) => isRunning).length;
  }

  /** `maxWait` is in ms; default 60 s. A task that enters again keeps its place by the time of its first wait. */
  async enter(
    client: string | undefined,
    signal: AbortSignal,
    maxWait = MAX_WAIT,
    since = this.options.clock.now(),
  ): Promise<() => void> {
    const { clock } = this.options;
    // Without a maximum, the task continues a download, which must not fail.
    const isLineFull = this.size - this.running >= MAX_WAITING;
    if (isLineFull && maxWait < Infinity) throw this.#refusal(client);
    const seenAt = clock.now();
    const task: Task = { client, signal, since, seenAt, isRunning: false, wake() {} };
    this.#tasks.push(task);
    const stopHeartbeat = startHeartbeat(clock, () => {
      task.seenAt = clock.now();
      // Its process was suspended, and another request took it for gone.
      if (!this.#tasks.includes(task)) this.#tasks.push(task);
      this.#admit();
      task.wake();
    });
    const wake = () => task.wake();
    const leave = () => {
      stopHeartbeat();
      signal.removeEventListener("abort", wake);
      this.#tasks = this.#tasks.filter((other) => other !== task);
      this.#admit();
    };
    signal.addEventListener("abort", wake);
    try {
      for (;;) {
        signal.throwIfAborted();
        this.#admit();
        if (task.isRunning) return leave;
        if (clock.now() - since >= maxWait) throw this.#refusal(client);
        await new Promise<void>((resolve) => task.wake = resolve);
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
    since?: number,
  ): Promise<T> {
    const leave = await this.enter(client, signal, maxWait, since);
    try {
      return await task();
    } finally {
      leave();
    }
  }

  /** True if a client waits that runs at least two fewer. */
  shouldYield(client: string | undefined): boolean {
    const runningOf = this.#countByClient();
    return this.#waiting(runningOf).some((task) => runningOf(task.client) + 1 < runningOf(client));
  }

  /** True if a task of the client would run before the one that waits with a signal. */
  isBefore(client: string | undefined, signal: AbortSignal): boolean {
    const later = this.#tasks.find((task) => task.signal === signal && !task.isRunning);
    if (later === undefined) return false;
    const runningOf = this.#countByClient();
    const busy = this.options.findBusy?.();
    return compareRanks(
      rankOf(client, runningOf, busy),
      rankOf(later.client, runningOf, busy),
    ) < 0;
  }

  #admit(): void {
    const { max, findBusy } = this.options;
    while (this.running < max) {
      const runningOf = this.#countByClient();
      const waiting = this.#waiting(runningOf);
      const busy = waiting.length > 1 ? findBusy?.() : undefined;
      const [first, ...others] = waiting.map((task) => ({
        task,
        rank: [
          ...rankOf(task.client, runningOf, busy),
          max === 1 ? this.#recent.lastIndexOf(task.client) : 0,
          task.since,
        ],
      }));
      if (first === undefined) return;
      const { task: next } = others.reduce(
        (best, other) => compareRanks(other.rank, best.rank) < 0 ? other : best,
        first,
      );
      next.isRunning = true;
      this.#recent.push(next.client);
      if (this.#recent.length > MAX_WAITING) this.#recent.shift();
      next.wake();
    }
  }

  #waiting(runningOf: RunningOf): Task[] {
    const { maxPerClient = Infinity } = this.options;
    return this.#present().filter(({ isRunning, client }) =>
      !isRunning && (client === undefined || runningOf(client) < maxPerClient)
    );
  }

  #countByClient(): RunningOf {
    const counts = new Map<string | undefined, number>();
    for (const { isRunning, client } of this.#present()) {
      if (isRunning) counts.set(client, (counts.get(client) ?? 0) + 1);
    }
    return (client) => counts.get(client) ?? 0;
  }

  /** Tasks whose requests were not dropped. */
  #present(): Task[] {
    const now = this.options.clock.now();
    return this.#tasks = this.#tasks.filter(({ seenAt }) => now - seenAt <= HEARTBEAT_TTL);
  }

  #refusal(client: string | undefined): LimitReached {
    const { tasks, max, maxPerClient = Infinity, findCause } = this.options;
    const cause = findCause?.();
    if (cause !== undefined) {
      this.refusedForCause++;
      return cause;
    }
    this.refused++;
    const isClientAtLimit = client !== undefined && this.#countByClient()(client) >= maxPerClient;
    if (isClientAtLimit) this.refusedPerClient++;
    return new LimitReached(
      isClientAtLimit
        ? {
          status: 429,
          title: "Too many concurrent requests of one client",
          detail: `The server allows each client ${maxPerClient} concurrent ${tasks}`,
          remedy: "wait until one of them has ended",
        }
        : {
          status: 503,
          cause: "limit",
          title: "Too many concurrent requests",
          detail: `The server is at its limit of ${max} concurrent ${tasks}`,
        },
    );
  }
}

/** Requests that have one place in the queue, such as those for a page and for the count of its rows. */
export interface Turn {
  /** Time at which the first of them came; `undefined` if the next one begins another turn. */
  since?: number | undefined;
}

/**
 * One request of the downloads at a time waits for the rate limiter: that of the client whose last
 * request is the oldest. The page bypasses this, so it waits for three starts at most.
 */
export class RequestQueue {
  readonly #queue: Queue;

  /** Without a rate limiter, that of the process. */
  constructor(readonly rateLimiter: RateLimiter | undefined, readonly clock: Clock) {
    this.#queue = new Queue({ max: 1, tasks: "requests to DataStream", clock });
  }

  get size(): number {
    return this.#queue.size;
  }

  limiterOf(client: string | undefined, apiKey: string | undefined, turn: Turn): RateLimiter {
    const { clock, rateLimiter: limiter = processLimiter(clock) } = this;
    // The limiter of the process has keys instead of hashes.
    const key = this.rateLimiter === undefined ? { keyHash: apiKey } : {};
    return {
      acquire: async (request, signal = new AbortController().signal) => {
        const since = clock.now();
        const { maxWait = Infinity } = request;
        const turnSince = turn.since ??= since;
        const next = async () => {
          const rest = Math.max(0, maxWait - (clock.now() - since));
          const permit = limiter.acquire({ ...request, ...key, maxWait: rest }, signal);
          // A limiter that never answers must not keep the next request waiting.
          const release = (late: Permit | PermitRefusal) => "release" in late && late.release();
          return await abortable(Promise.resolve(permit), signal, release);
        };
        try {
          const maxTurn = maxWait + since - turnSince;
          return await this.#queue.run(next, client, signal, maxTurn, turnSince);
        } catch (error) {
          if (!(error instanceof LimitReached)) throw error;
          const service = await limiter.report?.({ ...request, ...key });
          return { retryAfter: 1000 * Number(error.headers["retry-after"]), service };
        }
      },
      ...(limiter.report && {
        report: (target, outcome) => limiter.report!({ ...target, ...key }, outcome),
      }),
    };
  }
}
