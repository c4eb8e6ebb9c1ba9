import {
  type ObjectNamespace,
  type ObjectStorage,
  RateLimiterObject,
} from "../../../../../edge/server/cloudflare/mod.ts";
import type { Clock } from "../../../../../mod.ts";

/** Durable Objects in this process. Their storage outlives them. */
export class MemoryObjects implements ObjectNamespace<string> {
  /** Messages so far: the names of their objects, and their paths. */
  readonly messages: { name: string; path: string }[] = [];
  /** Number of writes to the storage so far. */
  writes = 0;
  readonly #clock: Clock;
  readonly #stored = new Map<string, unknown>();
  #objects = new Map<string, RateLimiterObject>();
  #restart = Promise.withResolvers<void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  idFromName(name: string): string {
    return name;
  }

  get(name: string): ReturnType<ObjectNamespace["get"]> {
    return {
      fetch: async (url, init) => {
        this.messages.push({ name, path: new URL(url).pathname });
        const answer = this.#objectOf(name).fetch(new Request(url, init));
        // The runtime rejects the messages to an object that it restarts.
        const response = await Promise.race([answer, this.#restart.promise]);
        if (response === undefined) throw new Error("restart of a test");
        return response;
      },
    };
  }

  /** Ends all objects. The next message creates them again, from their storage. */
  restart(): void {
    this.#objects = new Map();
    this.#restart.resolve();
    this.#restart = Promise.withResolvers<void>();
  }

  #objectOf(name: string): RateLimiterObject {
    const known = this.#objects.get(name);
    if (known !== undefined) return known;
    const storage: ObjectStorage = {
      get: <T>() => Promise.resolve(structuredClone(this.#stored.get(name)) as T | undefined),
      put: (_, value) => {
        if (this.#objects.get(name) !== object) return new Promise(() => {}); // after a restart
        this.writes++;
        this.#stored.set(name, structuredClone(value));
        return Promise.resolve();
      },
    };
    const object = new RateLimiterObject({ storage }, undefined, this.#clock);
    this.#objects.set(name, object);
    return object;
  }
}
