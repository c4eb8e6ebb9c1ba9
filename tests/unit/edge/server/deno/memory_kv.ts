import type { KvStore, KvTransaction } from "../../../../../edge/server/deno/kv_rate_limiter.ts";
import type { Clock } from "../../../../../mod.ts";

/** A database in memory with the methods of `Deno.Kv` that the rate limiter uses. */
export class MemoryKv {
  readonly entries = new Map<string, { value: unknown; versionstamp: string }>();
  /** Number of reads, and of changes that were tried. */
  readonly stats = { reads: 0, commits: 0, conflicts: 0 };
  #version = 0;

  /** Creates a connection, whose calls take 1 to 4 ms, or fail if the database is unreachable. */
  connect(clock: Clock, isReachable: () => boolean = () => true): KvStore {
    let calls = 0;
    const respond = async () => {
      await clock.sleep(1 + calls++ % 4);
      if (!isReachable()) throw new Error("the database cannot be reached");
    };
    return {
      get: async (key) => {
        this.stats.reads++;
        await respond();
        return structuredClone(this.entries.get(key.join())) ?? { value: null, versionstamp: null };
      },
      atomic: () => {
        let checked = () => true;
        let write = () => {};
        const transaction: KvTransaction = {
          check: ({ key, versionstamp }) => {
            checked = () => (this.entries.get(key.join())?.versionstamp ?? null) === versionstamp;
            return transaction;
          },
          set: (key, value) => {
            const copy = structuredClone(value);
            write = () => {
              this.entries.set(key.join(), { value: copy, versionstamp: `${++this.#version}` });
            };
            return transaction;
          },
          commit: async () => {
            this.stats.commits++;
            await respond();
            const ok = checked();
            if (ok) write();
            else this.stats.conflicts++;
            return { ok, versionstamp: `${this.#version}` };
          },
        };
        return transaction;
      },
    };
  }
}
