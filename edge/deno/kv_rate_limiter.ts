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
 * The limiter has one entry for each origin and API key: `["weir", "rate-limit", origin, hash of the key]`. It
 * contains the queue, but not the API key, and expires when it is unused. If the store cannot be reached,
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
import { type Clock, systemClock } from "../../src/clock.ts";
import { createPollingLimiter, type RateLimitStore } from "../../src/client/polling_limiter.ts";
import type { RateLimiter, RateLimitTarget } from "../../src/client/rate_limiter.ts";
import {
  createRateLimitState,
  extendPermit,
  leaveQueue,
  mapTimes,
  penalizeKey,
  pollPermit,
  type RateLimitState,
  releasePermit,
} from "../../src/client/rate_limit_state.ts";
import { invalidValue, requireOptions, requireType } from "../../src/validation.ts";

/** Assumed maximum difference (ms) between the clocks of two machines. */
const CLOCK_TOLERANCE = 5_000;
/** Time (ms) after which an unchanged entry expires. A penalty lasts for an hour at most. */
const EXPIRY = 2 * 3_600_000;
/** Maximum delay (ms) before a change is retried after a conflict or an error. */
const MAX_RETRY_DELAY = 20;
/** Time (ms) during which a change is retried after errors. */
const RETRY_TIME = 1_000;
/** Maximum number of entries whose times a process remembers. */
const MAX_STORES = 1_000;
/** Version of the format of an entry. */
const ENTRY_FORMAT = 1;

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
 * The methods of `Deno.AtomicOperation` that the limiter uses.
 *
 * @example A transaction that always fails
 * ```ts
 * import type { KvTransaction } from "@weir/datastream/deno-kv";
 *
 * const transaction: KvTransaction = {
 *   check: () => transaction,
 *   set: () => transaction,
 *   commit: () => Promise.resolve({ ok: false }),
 * };
 * console.log(await transaction.commit());
 * ```
 */
export interface KvTransaction {
  /** Requires that an entry has not changed; a `versionstamp` of `null` requires that it does not exist. */
  check(entry: { key: readonly string[]; versionstamp: string | null }): KvTransaction;
  /** Sets an entry, which may be deleted after `expireIn` ms. */
  set(key: readonly string[], value: unknown, options: { expireIn: number }): KvTransaction;
  /** Commits the transaction. `ok` is false if a check failed. */
  commit(): Promise<{ ok: boolean }>;
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

/**
 * An entry of the store. Machines have different clocks, so the times of the state are stored as ages, and those in
 * `state` itself are 0.
 */
interface Entry {
  format: typeof ENTRY_FORMAT;
  state: RateLimitState;
  /** Number of changes of the entry. */
  changes: number;
  /** Times of the state by name. */
  ages: Record<string, Age>;
}

/**
 * A stored time. `change` is the number of the change that wrote it. `changedAt` is the time of the change by the
 * clock of its process (ms since 1970). `age` is the age (ms) at the change; it is negative for a future time.
 */
type Age = readonly [change: number, changedAt: number, age: number];

/** Stored times by name, and their times by the clock of this process. */
type KnownTimes = Record<string, { age: Age; time: number }>;

/**
 * Creates a rate limiter that processes share through Deno KV. All of them must use the same database.
 *
 * The clocks of the processes may differ by up to 5 seconds. A process measures the age of a stored time with its own
 * clock, from its first read.
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
  const { clock, now } = requireOptions("createKvRateLimiter()", options, {
    clock: systemClock,
    now: Date.now,
  });
  requireType("now", now, "function");
  if (typeof kv?.get !== "function" || typeof kv.atomic !== "function") {
    throw invalidValue("kv", "a database, such as the result of Deno.openKv()", kv);
  }
  const stores = new Map<string, RateLimitStore>();
  const storeOf = ({ origin, keyHash = "none" }: RateLimitTarget) => {
    const name = `${origin} ${keyHash}`;
    if (stores.size >= MAX_STORES) stores.clear(); // the entries are read again
    const store = stores.get(name) ??
      createKvStore(kv, ["weir", "rate-limit", origin, keyHash], clock, now);
    stores.set(name, store);
    return store;
  };
  const processId = crypto.randomUUID().slice(-12);
  let lastId = 0;
  return createPollingLimiter(storeOf, () => `${processId}-${++lastId}`, clock);
}

/** Creates the store of one origin and key. */
function createKvStore(
  kv: KvStore,
  key: readonly string[],
  clock: Clock,
  now: () => number,
): RateLimitStore {
  let known: KnownTimes = {};
  let lastReadAt = -Infinity;

  /** Reads the state, and converts its times to this process's clock. */
  async function read() {
    const start = clock.now();
    const { value, versionstamp } = await kv.get(key);
    const entry = value as Entry | null;
    if (entry !== null && entry.format !== ENTRY_FORMAT) {
      throw new Error(
        `the entry ${key.join(" ")} was written by another version of Weir: ` +
          "use one version in all processes",
      );
    }
    const time = clock.now();
    const wallTime = now();
    const times: KnownTimes = {};
    const state = mapTimes(entry?.state ?? createRateLimitState(true), (_, name) => {
      const age = entry!.ages[name]!;
      const [change, changedAt, ageThen] = age;
      const seen = known[name];
      if (seen?.age[0] !== change) {
        // The time was written after the last read. The clocks can show that it was written earlier than now.
        const sinceChange = Math.max(0, wallTime - changedAt - CLOCK_TOLERANCE);
        times[name] = { age, time: Math.max(lastReadAt, time - sinceChange) - ageThen };
      } else times[name] = seen;
      return times[name]!.time;
    });
    known = times;
    lastReadAt = start;
    return { state, times, versionstamp, changes: entry?.changes ?? 0, time, wallTime };
  }

  /** Changes the state once. Returns `ok: false` if another process has changed it concurrently. */
  async function tryUpdate<T>(
    change: (state: RateLimitState, now: number) => T,
  ): Promise<{ ok: true; result: T } | { ok: false }> {
    const { state, times, versionstamp, changes, time, wallTime } = await read();
    const before = JSON.stringify(state);
    const result = change(state, time);
    if (JSON.stringify(state) === before) return { ok: true, result };
    const written: KnownTimes = {};
    const stored = mapTimes(state, (value, name) => {
      written[name] = times[name]?.time === value
        ? times[name]!
        : { age: [changes + 1, wallTime, time - value], time: value };
      return 0;
    });
    const ages = Object.fromEntries(Object.entries(written).map(([name, { age }]) => [name, age]));
    const entry: Entry = { format: ENTRY_FORMAT, state: stored, changes: changes + 1, ages };
    const { ok } = await kv.atomic().check({ key, versionstamp })
      .set(key, entry, { expireIn: EXPIRY }).commit();
    if (!ok) return { ok };
    known = written;
    return { ok, result };
  }

  /** Changes the state, with retries. Repeating a change whose result was lost has no effect. */
  async function update<T>(change: (state: RateLimitState, now: number) => T): Promise<T> {
    const end = clock.now() + RETRY_TIME;
    for (;;) {
      try {
        const attempt = await tryUpdate(change);
        if (attempt.ok) return attempt.result;
      } catch (error) {
        // Processes that share a file can get the error "database is locked".
        if (clock.now() >= end) throw error;
      }
      await clock.sleep(MAX_RETRY_DELAY * Math.random());
    }
  }

  // Penalties need no key, because the entry belongs to one key.
  return {
    poll: (request) =>
      update((state, now) => pollPermit(state, { ...request, key: undefined }, now)),
    extend: (id) => update((state, now) => extendPermit(state, id, now)),
    release: (id, release) => update((state, now) => releasePermit(state, id, release, now)),
    leave: (id) => update((state, now) => leaveQueue(state, id, now)),
    penalize: (_, blockTime) =>
      update((state, now) => penalizeKey(state, undefined, blockTime, now)),
  };
}
