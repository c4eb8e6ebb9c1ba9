import type { DataStreamError } from "../errors.ts";

/**
 * How far a query has come; reported after each page, and before each wait that a fault makes needed.
 *
 * @example A line a page
 * ```ts
 * import { DataStream, type Progress } from "@weir/datastream";
 * import { createSandbox } from "@weir/datastream/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const { apiKey, url, fetch } = createSandbox({ requestsPerSecond: Infinity });
 * const client = new DataStream({ apiKey, baseUrl: url, fetch, requestsPerSecond: Infinity });
 * const lines: string[] = [];
 * const onProgress = ({ pages, rows }: Progress) => lines.push(`page ${pages}: ${rows} rows`);
 * await client.records({ limit: 200, top: 100, onProgress }).toArray();
 * assertEquals(lines, ["page 1: 100 rows", "page 2: 200 rows"]);
 * ```
 */
export interface Progress {
  /** Pages passed on. */
  readonly pages: number;
  /** Rows passed on. */
  readonly rows: number;
  /** Requests sent, those for counts and locations too. */
  readonly requests: number;
  /** Requests among them that were sent again after a fault. */
  readonly retries: number;
  /** Milliseconds spent waiting so far: for the pace, and after faults. */
  readonly waits: number;
  /**
   * How many rows meet the filter, where they were counted: for Observations and Records past the
   * first page, unless they are not to be split or a `limit` is a million or less. Large counts are estimates.
   */
  readonly expectedRows: number | undefined;
  /**
   * Number of rows that the service counted and did not deliver, accepted because the query has
   * `incomplete: "warn"`; absent where none are missing.
   */
  readonly missingRows?: number;
  /** The fault that is met just now, and how many milliseconds the wait before the next attempt takes. */
  readonly retrying: { readonly fault: DataStreamError; readonly wait: number } | undefined;
}
