import type { DataStreamError } from "../errors.ts";
import type { RowNotes } from "../formats/tidy.ts";
import type { ClientSettings } from "./options.ts";

/**
 * Progress of a query, passed to `onProgress` after each page, before each retry, before the query is split, and
 * after a count at its end.
 *
 * @example One line per page
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
  /** Number of pages delivered. */
  readonly pages: number;
  /** Number of rows delivered. */
  readonly rows: number;
  /** Number of requests sent, including those for counts and locations. */
  readonly requests: number;
  /** Number of these requests that were retries. */
  readonly retries: number;
  /** Time (ms) spent waiting so far: for the rate limiter and before retries. */
  readonly waits: number;
  /**
   * Number of rows that the service counted for the query; `undefined` if it was not counted.
   * Observations and Records are counted after their first page, unless `partition` is `never` or
   * `limit` is at most 1,000,000. Other results of several pages are counted at their end. Large counts are estimates.
   */
  readonly expectedRows: number | undefined;
  /**
   * Number of rows that the service counted and did not deliver, accepted because the query has
   * `incomplete: "warn"`. Absent if no row is missing.
   */
  readonly missingRows?: number;
  /** Notes of the rows so far, if the query has one of the options `tidy`, `from`, `to` and `excludeQualityControl`. */
  readonly notes?: RowNotes | undefined;
  /** By what the query is being split into smaller ones; otherwise `undefined`. */
  readonly splitting?: "location" | "year" | undefined;
  /** The error that is being retried and the delay (ms) before the retry; otherwise `undefined`. */
  readonly retrying: { readonly fault: DataStreamError; readonly wait: number } | undefined;
}

export interface Run {
  readonly settings: ClientSettings;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
  readonly progress: { -readonly [Name in keyof Progress]: Progress[Name] };
  /** Ascending; `undefined` until the Ids are requested. */
  locations?: readonly number[];
}

export function createRun(
  settings: ClientSettings,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void = () => {},
  notes?: () => RowNotes | undefined,
): Run {
  const numbers = { pages: 0, rows: 0, requests: 0, retries: 0, waits: 0 };
  const progress = { ...numbers, expectedRows: undefined, retrying: undefined };
  return {
    settings,
    signal,
    onProgress: notes ? (progress) => onProgress({ ...progress, notes: notes() }) : onProgress,
    progress,
  };
}

export function reportProgress(run: Run, changes: Partial<Progress>): void {
  run.onProgress({ ...Object.assign(run.progress, changes) });
}
