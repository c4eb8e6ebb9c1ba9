import type { Clock } from "../../src/client/clock.ts";
import type { DataStream } from "../../src/client/datastream.ts";
import type { DatasetChoice } from "./document.ts";

/** For so long, in milliseconds, the list is not asked for again. */
const KEPT = 3_600_000;

/** The datasets that there are, by name, as the service last said. */
export class DatasetList {
  #kept: { at: number; datasets: readonly DatasetChoice[] } | undefined;

  /** @param clock The clock that says how old the list is */
  constructor(readonly clock: Clock) {}

  /** The list; asked for where it is too old. */
  async get(client: DataStream, signal: AbortSignal): Promise<readonly DatasetChoice[]> {
    const now = this.clock.now();
    if (this.#kept && now - this.#kept.at < KEPT) return this.#kept.datasets;
    // Not shared while it is on its way: an edge runtime kills who waits for another's promise.
    const rows = await client.metadata({ select: ["DOI", "DatasetName"], top: 10_000, signal })
      .toArray();
    const datasets = rows.sort((a, b) => a.DatasetName.localeCompare(b.DatasetName, "en"));
    this.#kept = { at: now, datasets };
    return datasets;
  }
}
