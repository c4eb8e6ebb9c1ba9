// The query and options of a mirror, and what a run reports.
import type { Progress } from "../client/query.ts";
import type { QueryOptions } from "../odata/query_options.ts";

type Choices<O extends keyof SyncQuery> = readonly NonNullable<SyncQuery[O]>[];
/** Formats of a mirror. The first one is the default. */
export const MIRROR_FORMATS = ["parquet", "csv", "delta"] as const satisfies Choices<"format">;
/** Resources of a mirror. The first one is the default. */
export const MIRROR_RESOURCES = ["Observations", "Records"] as const satisfies Choices<"resource">;

/** Days for which a Delta table keeps files of older versions, by default. */
export const DEFAULT_KEEP_DAYS = 7;

/** Query of a mirror: options of `client.query()`, and what the files are. */
export interface SyncQuery extends
  Pick<
    QueryOptions,
    | "filter"
    | "within"
    | "tidy"
    | "from"
    | "to"
    | "excludeQualityControl"
    | "units"
    | "incomplete"
  > {
  /** `Observations` with files of their locations, or `Records`, whose rows have them. Default `Observations`. */
  resource?: "Observations" | "Records" | undefined;
  /** `delta` is a Delta Lake table of Parquet files. Default `parquet`. */
  format?: "parquet" | "csv" | "delta" | undefined;
  /** What Parquet does with a value that does not fit its column. Default `error`. */
  invalidValues?: "error" | "null" | undefined;
}

/** Options for {@linkcode sync}. */
export interface SyncOptions {
  /** Whether to change nothing, and only plan. Default false. */
  isCheck?: boolean | undefined;
  /** Whether to remove the files of datasets that the service does not have any more. Default false: they stay. */
  removeMissing?: boolean | undefined;
  /** Whether to fetch all datasets again, whatever the query was, and to remove all of them if none is left. Default false. */
  force?: boolean | undefined;
  /** Time (ms since 1970, by the clock) after which no other dataset is begun. Default: none. */
  until?: number | undefined;
  /** Time (ms) for which a Delta table keeps files of older versions. Default 7 days. */
  keep?: number | undefined;
  /** Signal that stops the run. Datasets that are complete stay. Default: none. */
  signal?: AbortSignal | undefined;
  /** Called when a dataset is finished, and while its rows arrive. Default: none. */
  onEvent?: ((event: SyncEvent) => void) | undefined;
  /** Returns the time in ms since 1970. Default: the clock of the system. */
  now?: (() => number) | undefined;
}

/**
 * What happened to a dataset:
 *
 * - `unchanged`;
 * - `fetched`: it is new, or has a new version;
 * - `waiting`: the next run fetches it, because it was published a few minutes ago, or this run ended before it;
 * - `gone`: the service does not have it any more, and its files stay;
 * - `removed`: the service does not have it any more, and its files were removed;
 * - `failed`: the earlier files stay.
 */
export type Outcome = "unchanged" | "fetched" | "waiting" | "gone" | "removed" | "failed";

/** A dataset after a run, or what a run would do with it. */
export interface SyncedDataset {
  /** DOI of the dataset. */
  doi: string;
  /** What happened to it. */
  outcome: Outcome;
  /** Its version at the service; of one that is gone, in the mirror. */
  version: string;
  /** Number of its rows in the mirror after the run; `undefined` if it is not in it. */
  rows?: number | undefined;
  /** Number of its rows before the run; `undefined` if it was not in it. */
  before?: number | undefined;
  /** Why it failed. */
  error?: unknown;
}

/** Progress of a run. */
export interface SyncEvent {
  /** The dataset that is finished; `undefined` while rows arrive. */
  dataset?: SyncedDataset | undefined;
  /** Number of datasets that were fetched, or failed. */
  datasets: number;
  /** Number of datasets to fetch. */
  allDatasets: number;
  /** Number of rows that have arrived. */
  rows: number;
  /** Number of rows to fetch, as the service or an earlier run counted them. */
  allRows: number;
  /** Progress of the query whose rows arrive. */
  progress?: Progress | undefined;
}

/** Result of a run. */
export interface SyncReport {
  /** All datasets of the query and of the mirror. */
  datasets: readonly SyncedDataset[];
  /** Number of rows to fetch, as the service or an earlier run counted them. */
  rows: number;
  /** Number of requests, about. */
  requests: number;
}
