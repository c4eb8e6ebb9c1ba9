/**
 * A rate limiter that several processes share through [Deno KV](https://docs.deno.com/deploy/kv/): the
 * processes of one computer, or the isolates of a deployment. Their requests together stay within DataStream's
 * limits for each API key.
 *
 * ## Use
 *
 * ```ts ignore
 * import { createApp } from "@weir/datastream/edge";
 * import { createKvRateLimiter } from "@weir/datastream/deno-kv";
 *
 * export default createApp({
 *   access: "public",
 *   apiKey: Deno.env.get("DATASTREAM_API_KEY"),
 *   rateLimiter: createKvRateLimiter(await Deno.openKv()),
 * });
 * ```
 *
 * On one computer, all processes must open the same file:
 * `Deno.openKv("/var/lib/weir/kv.sqlite")`.
 *
 * ## Store
 *
 * The limiter has one entry for each origin and API key: `["weir", "rate-limit-3", origin, hash of the key]`. It
 * contains the permit and the state of the service, but not the API key, and expires when it is unused. If the store cannot be reached,
 * a request waits for up to 10 seconds, and then fails. The client then tries it again.
 *
 * ## Runtimes
 *
 * Deno with the flag `--unstable-kv`, and Deno Deploy. In other runtimes, a store with the methods of
 * {@linkcode KvStore} can replace Deno KV.
 *
 * The page `docs/rate-limiting.md` in the repository describes the guarantees of rate limiters, and their
 * costs.
 *
 * @module
 */
import { type Clock, systemClock } from "../../../src/clock.ts";
import {
  createLimiter,
  createPermitQueue,
  type LimiterState,
  MAX_POLL_TIME,
  NEW_STATE,
  type RateLimiter,
  type RateLimitTarget,
  sendUntilAnswered,
} from "../../../src/client/rate_limiter.ts";
import { invalidValue, readOptions } from "../../../src/validation.ts";

export type {
  Permit,
  PermitRefusal,
  PermitRequest,
  RateLimitTarget,
  ServiceOutcome,
  ServiceState,
} from "../../../src/client/rate_limiter.ts";

/** Assumed maximum difference (ms) between the clocks of two machines. */
const CLOCK_TOLERANCE = 5_000;
/** Milliseconds without a change. A block lasts for an hour at most. */
const EXPIRY = 2 * 3_600_000;
/** Maximum delay (ms) of a retry after a conflict. */
const MAX_CONFLICT_DELAY = 20;
/** Change the number with the format of the entries. */
const KEY_PREFIX = ["weir", "rate-limit-3"];
/** Interval (ms) of reads while another process has the permit. */
const POLL_INTERVAL = 50;
/**
 * The methods of `Deno.Kv` that the limiter uses. Another store can implement them.
 *
 * @example A store in memory
 * ```ts
 * import { createKvRateLimiter, type KvStore, type KvTransaction } from "@weir/datastream/deno-kv";
 * import { assert } from "@std/assert";
 *
 * type Key = readonly string[];
 * const entries = new Map<string, { value: unknown; versionstamp: string }>();
 * const versionOf = (key: Key) => entries.get(key.join())?.versionstamp ?? null;
 * const store: KvStore = {
 *   get: (key) =>
 *     Promise.resolve(entries.get(key.join()) ?? { value: null, versionstamp: null }),
 *   atomic() {
 *     const checks: { key: Key; versionstamp: string | null }[] = [];
 *     const writes: [key: Key, value: unknown][] = [];
 *     const transaction: KvTransaction = {
 *       check: (entry) => (checks.push(entry), transaction),
 *       set: (key, value) => (writes.push([key, value]), transaction),
 *       commit() {
 *         const ok = checks.every(({ key, versionstamp }) => versionOf(key) === versionstamp);
 *         for (const [key, value] of ok ? writes : []) {
 *           entries.set(key.join(), { value, versionstamp: crypto.randomUUID() });
 *         }
 *         return Promise.resolve({ ok });
 *       },
 *     };
 *     return transaction;
 *   },
 * };
 * const limiter = createKvRateLimiter(store);
 * const origin = "https://api.datastream.org";
 * const permit = await limiter.acquire({ origin, keyHash: undefined, requestsPerSecond: 2 });
 * assert("release" in permit);
 * ```
 */
export interface KvStore {
  /** Reads an entry, with strong consistency. */
  get(key: readonly string[]): Promise<{ value: unknown; versionstamp: string | null }>;
  /** Starts a transaction. */
  atomic(): KvTransaction;
}

/**
 * The methods of `Deno.AtomicOperation` that the limiter uses, as in the example of {@linkcode KvStore}.
 */
export interface KvTransaction {
  /** Requires that an entry has not changed; a `versionstamp` of `null` requires that it does not exist. */
  check(entry: { key: readonly string[]; versionstamp: string | null }): KvTransaction;
  /** Sets an entry, which may be deleted after `expireIn` ms. */
  set(key: readonly string[], value: unknown, options: { expireIn: number }): KvTransaction;
  /** Commits the transaction. `ok` is false if a check failed; else `versionstamp` is the one of the entry. */
  commit(): Promise<{ ok: boolean; versionstamp?: string }>;
}

/**
 * Options of {@linkcode createKvRateLimiter}, for tests.
 *
 * @example A clock that does not wait
 * ```ts
 * import type { KvRateLimiterOptions } from "@weir/datastream/deno-kv";
 *
 * let now = 0;
 * const options: KvRateLimiterOptions = {
 *   clock: { now: () => now, sleep: (wait) => Promise.resolve(void (now += wait)) },
 *   now: () => now,
 * };
 * console.log(options.now?.());
 * ```
 */
export interface KvRateLimiterOptions {
  /** Clock for delays. Default: the clock of the process. */
  clock?: Clock | undefined;
  /** Returns the current time in milliseconds since 1970. Default `Date.now`. */
  now?: (() => number) | undefined;
}

/** Times count from the change that wrote it. */
interface StoredState extends LimiterState {
  /** In ms since 1970, by the clock of the process that wrote it. */
  writtenAt: number;
}

/**
 * Creates a rate limiter that processes share through Deno KV. All of them must use the same database.
 *
 * The clocks of the processes may differ by up to 5 seconds. A process measures the age of an entry with its own clock,
 * from the first read of its version.
 *
 * @param kv The database: the result of `Deno.openKv()`, or another store with the same methods
 * @returns A limiter for the option `rateLimiter` of `DataStream` and `createApp()`
 * @throws {ValidationError} If the value is not a database, or an option is invalid
 *
 * @example A client that shares the limit with the other processes of a computer
 * ```ts ignore
 * import { DataStream } from "@weir/datastream";
 * import { createKvRateLimiter } from "@weir/datastream/deno-kv";
 *
 * const rateLimiter = createKvRateLimiter(await Deno.openKv("kv.sqlite"));
 * const client = new DataStream({ apiKey: Deno.env.get("DATASTREAM_API_KEY"), rateLimiter });
 * console.log(await client.metadata().count());
 * ```
 */
export function createKvRateLimiter(kv: KvStore, options: KvRateLimiterOptions = {}): RateLimiter {
  const { clock, now } = readOptions("createKvRateLimiter()", options, {
    clock: { default: systemClock },
    now: { default: Date.now, type: "function" },
  });
  if (typeof kv?.get !== "function" || typeof kv.atomic !== "function") {
    throw invalidValue("kv", "a database, such as the result of Deno.openKv()", kv);
  }
  const createKvQueue = ({ origin, keyHash = "none" }: RateLimitTarget) => {
    const key = [...KEY_PREFIX, origin, keyHash];
    /** Latest known version, and the latest and the likely time at which it was written. */
    let known: { versionstamp?: string | null | undefined; writtenAt: number; likely: number } = {
      writtenAt: 0,
      likely: 0,
    };
    async function change<T>(apply: (state: LimiterState, now: number) => T): Promise<T> {
      for (;;) {
        const { value, versionstamp } = await kv.get(key);
        const stored = value as StoredState | null;
        if (stored !== null && versionstamp !== known.versionstamp) {
          const age = now() - stored.writtenAt;
          const time = clock.now();
          known = {
            versionstamp,
            writtenAt: time - Math.max(0, age - CLOCK_TOLERANCE),
            likely: time - Math.max(0, age),
          };
        }
        const state = addToTimes(stored ?? NEW_STATE, known.writtenAt, known.likely);
        const before = JSON.stringify(state);
        const time = clock.now();
        const result = apply(state, time);
        if (JSON.stringify(state) === before) return result;
        const next: StoredState = { ...addToTimes(state, -time), writtenAt: now() };
        const commit = await kv.atomic().check({ key, versionstamp })
          .set(key, next, { expireIn: EXPIRY }).commit();
        if (commit.ok) {
          known = { versionstamp: commit.versionstamp, writtenAt: time, likely: time };
          return result;
        }
        await clock.sleep(MAX_CONFLICT_DELAY * Math.random());
      }
    }
    return createPermitQueue(change, clock, MAX_POLL_TIME, POLL_INTERVAL);
  };
  return createLimiter(createKvQueue, clock, sendUntilAnswered(clock));
}

/** `likely` is for the times since when something is known: with the tolerance, each change would move them. */
function addToTimes(state: LimiterState, time: number, likely = time): LimiterState {
  return {
    ...state,
    startedAt: state.startedAt + time,
    blockedUntil: state.blockedUntil + time,
    seenAt: state.seenAt + time,
    since: state.since + likely,
    checkedAt: state.checkedAt + likely,
    answeredAt: state.answeredAt + likely,
  };
}
