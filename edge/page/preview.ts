import type { Clock } from "../../src/client/clock.ts";
import type { DataStream } from "../../src/client/datastream.ts";
import { MAXIMUM_TOP } from "../../src/odata/resources.ts";
import { addBox } from "../citations.ts";
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
   * @throws {ValidationError} If the query is invalid
   */
  prepare(client: DataStream, query: FormQuery, signal: AbortSignal): () => Promise<Found> {
    const { resource, select, filter, box } = query;
    const options = { select, filter, within: box, signal };
    const all = client.query(resource, options);
    const some = client.query(resource, { ...options, limit: PREVIEW });
    const cited = addBox(filter, box);
    return async () => {
      const count = await all.count();
      const rows = count === 0 ? [] : await some.toArray();
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

/** A dataset that the form offers. */
export interface DatasetChoice {
  DOI: string;
  DatasetName: string;
}

/** For so long, in milliseconds, the list is not asked for again. */
const FRESH = 3_600_000;

/** The datasets that there are, by name, as the service last said. */
export class DatasetList {
  #at = -Infinity;
  #datasets: readonly DatasetChoice[] | undefined;

  /** @param clock The clock that says how old the list is */
  constructor(readonly clock: Clock) {}

  /** The list as it was last, however old; undefined where there was none yet. */
  get last(): readonly DatasetChoice[] | undefined {
    return this.#datasets;
  }

  /** Whether it need not be asked for. */
  get isFresh(): boolean {
    return this.clock.now() - this.#at < FRESH;
  }

  /** Asks for the list. */
  async refresh(client: DataStream, signal: AbortSignal): Promise<void> {
    // Not shared while it is on its way: an edge runtime kills who waits for another's promise.
    const select = ["DOI", "DatasetName"] as const;
    const rows = await client.metadata({ select, top: MAXIMUM_TOP, signal }).toArray();
    this.#datasets = rows
      .map(({ DOI, DatasetName }) => ({
        DOI: String(DOI),
        DatasetName: String(DatasetName ?? DOI),
      }))
      .sort((a, b) => a.DatasetName.localeCompare(b.DatasetName, "en"));
    this.#at = this.clock.now();
  }
}
