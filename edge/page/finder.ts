import type { Clock } from "../../src/client/clock.ts";
import type { DataStream } from "../../src/client/datastream.ts";
import { placeBox } from "../../src/odata/place_box.ts";
import { refusing } from "../downloads/problem.ts";
import { queryOf } from "../downloads/resource_query.ts";
import type { FormQuery } from "./form.ts";
import type { Found } from "./results.ts";

/** So many rows are previewed. */
const PREVIEW = 20;
/** For so long, in milliseconds, what was found is not asked for again. */
const KEPT = 300_000;
/** So many are kept. */
const MOST_KEPT = 50;

/** Counts, previews and cites what a query gives, and keeps it for a while: it costs requests. */
export class Finder {
  readonly #kept = new Map<string, { at: number; found: Found }>();

  /**
   * @param clock The clock that says how old it is
   * @param keeps Whether to keep it: what one caller's key gave is not for others
   */
  constructor(readonly clock: Clock, readonly keeps: boolean) {}

  /** What was found not long ago. */
  kept(query: FormQuery): Found | undefined {
    const kept = this.#kept.get(JSON.stringify(query));
    return kept && this.clock.now() - kept.at < KEPT ? kept.found : undefined;
  }

  /**
   * Prepares to ask.
   *
   * @returns What asks, and says what was found
   * @throws {HttpProblem} If the query cannot be asked
   */
  prepare(client: DataStream, query: FormQuery, signal: AbortSignal): () => Promise<Found> {
    const { resource, select, filter, box } = query;
    const { all, some, cited } = refusing(() => ({
      all: queryOf(client, resource, { select, filter, box, signal }),
      some: queryOf(client, resource, { select, filter, box, signal, limit: PREVIEW }),
      cited: placeBox("Metadata", filter, box).filter,
    }));
    return async () => {
      const count = await all.count();
      const rows = count === 0 ? [] : await some.toArray() as Record<string, unknown>[];
      const citations = count === 0 ? [] : await client.citations(cited, { signal });
      const found = { count, rows, citations };
      if (this.keeps) this.#keep(JSON.stringify(query), found);
      return found;
    };
  }

  #keep(key: string, found: Found): void {
    this.#kept.delete(key);
    this.#kept.set(key, { at: this.clock.now(), found });
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
  }
}
