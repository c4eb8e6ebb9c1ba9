import type { Clock } from "../../src/client/clock.ts";
import type { DataStream } from "../../src/client/datastream.ts";

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
    const rows = await client.metadata({ select, top: 10_000, signal }).toArray();
    this.#datasets = rows
      .map(({ DOI, DatasetName }) => ({
        DOI: String(DOI),
        DatasetName: String(DatasetName ?? DOI),
      }))
      .sort((a, b) => a.DatasetName.localeCompare(b.DatasetName, "en"));
    this.#at = this.clock.now();
  }
}
