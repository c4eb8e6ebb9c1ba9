import type { Clock } from "../src/clock.ts";
import { type ClientReader, SlowReaders } from "./client_reader.ts";
import { ExpiringSet } from "./lease.ts";
import { HttpProblem } from "./problem.ts";

/** Delay (s) after which a rejected client may try again. */
const RETRY_DELAY = 30;

/** Permission to run one task under a {@linkcode ConcurrencyLimit}. */
export interface TaskPermit {
  /** Whether another task has the permit now. The task must release it before it continues. */
  readonly isTakenOver: boolean;
  /** Returns the permit. Further calls have no effect. */
  release(): void;
}

/** Client and reader for which a permit is acquired. */
export interface PermitHolder {
  /** Client, as `identifyClient()` returns it. It has no limit of its own if it is `undefined`. */
  client?: string | undefined;
  /** Reader of the download, which can be disconnected if it is slow. */
  reader?: ClientReader | undefined;
}

/** Limits of a {@linkcode ConcurrencyLimit}. */
interface PermitLimits {
  /** Maximum number of concurrent permits. */
  max: number;
  /** Maximum number of concurrent permits of one client. Default: no limit. */
  maxPerClient?: number;
  /** Disconnects a slow reader if all permits are held. Default: none is slow. */
  slowReaders?: SlowReaders;
}

/** A permit and its holder. */
interface HeldPermit extends TaskPermit, PermitHolder {
  isTakenOver: boolean;
}

/** Limits how many tasks run concurrently, in total and per client. */
export class ConcurrencyLimit {
  /** Number of tasks that were refused because all permits were held. */
  refused = 0;
  /** Number of tasks that were refused because their client held too many permits. */
  refusedPerClient = 0;
  /** Maximum number of concurrent permits. */
  readonly max: number;
  readonly #maxPerClient: number;
  readonly #slowReaders: SlowReaders;
  readonly #tasks: string;
  readonly #clock: Clock;
  readonly #permits: ExpiringSet<HeldPermit>;

  /**
   * @param limits Maximum numbers, and the disconnection of slow readers
   * @param tasks Plural noun for the tasks, used in messages
   * @param clock Clock for expiry and renewal
   */
  constructor(
    { max, maxPerClient = Infinity, slowReaders = new SlowReaders(0) }: PermitLimits,
    tasks: string,
    clock: Clock,
  ) {
    this.max = max;
    this.#maxPerClient = maxPerClient;
    this.#slowReaders = slowReaders;
    this.#tasks = tasks;
    this.#clock = clock;
    this.#permits = new ExpiringSet(clock);
  }

  /** Number of permits that are held. */
  get held(): number {
    return this.#heldPermits().length;
  }

  /** Number of slow readers that were disconnected. */
  get disconnected(): number {
    return this.#slowReaders.disconnected;
  }

  /**
   * Acquires a permit and renews it until it is released. If all permits are held, it disconnects the slowest
   * reader, provided that the reader is slow, and grants its permit to the new holder.
   *
   * @throws {HttpProblem} 429 if the client holds its maximum of permits, 503 if all permits are held
   */
  acquire(holder: PermitHolder = {}): TaskPermit {
    this.#requirePermitForClient(holder.client);
    if (this.held >= this.max && !this.#disconnectReader()) {
      this.refused++;
      throw new HttpProblem({
        status: 503,
        title: "Too many concurrent requests",
        detail: `The server is at its limit of ${this.max} concurrent ${this.#tasks}`,
        hint: `try again after ${RETRY_DELAY} s`,
      }, { "retry-after": String(RETRY_DELAY) });
    }
    return this.#hold(holder);
  }

  /** Acquires a permit as {@linkcode acquire} does; returns `undefined` if none is free. */
  tryAcquire(holder: PermitHolder = {}): TaskPermit | undefined {
    if (this.#isClientAtLimit(holder.client)) return undefined;
    if (this.held >= this.max && !this.#disconnectReader()) return undefined;
    return this.#hold(holder);
  }

  /**
   * Acquires a permit in place of one that its task does not use at present; returns `undefined` if the client of the
   * new holder would then have more than its maximum.
   */
  takeOver(unused: object, holder: PermitHolder = {}): TaskPermit | undefined {
    const held = this.#permits.entries().find((permit) => permit === unused);
    if (held === undefined || held.isTakenOver) return undefined;
    held.isTakenOver = true;
    const acquired = this.tryAcquire(holder);
    if (acquired === undefined) held.isTakenOver = false;
    return acquired;
  }

  /**
   * Runs a task while it holds a permit.
   *
   * @throws {HttpProblem} As {@linkcode acquire} does
   */
  async run<T>(task: () => Promise<T>, holder: PermitHolder = {}): Promise<T> {
    const permit = this.acquire(holder);
    try {
      return await task();
    } finally {
      permit.release();
    }
  }

  /** Returns the permits, except those of disconnected readers, whose downloads end soon. */
  #heldPermits(): HeldPermit[] {
    return this.#permits.entries().filter(({ reader, isTakenOver }) =>
      reader?.disconnectReason === undefined && !isTakenOver
    );
  }

  #hold(holder: PermitHolder): TaskPermit {
    const permit: HeldPermit = { ...holder, isTakenOver: false, release: () => {} };
    permit.release = this.#permits.add(permit);
    return permit;
  }

  #isClientAtLimit(client: string | undefined): boolean {
    if (client === undefined) return false;
    const ofClient = this.#heldPermits().filter((permit) => permit.client === client);
    return ofClient.length >= this.#maxPerClient;
  }

  #requirePermitForClient(client: string | undefined): void {
    if (!this.#isClientAtLimit(client)) return;
    this.refusedPerClient++;
    throw new HttpProblem({
      status: 429,
      title: "Too many concurrent requests of one client",
      detail: `The server allows each client ${this.#maxPerClient} concurrent ${this.#tasks}`,
      hint: `wait until one of them has ended, or try again after ${RETRY_DELAY} s`,
    }, { "retry-after": String(RETRY_DELAY) });
  }

  /** Disconnects the slowest reader, if one is slow. */
  #disconnectReader(): boolean {
    return this.#slowReaders.disconnectOne(
      this.#heldPermits().map(({ reader }) => reader),
      "slot",
    );
  }
}
