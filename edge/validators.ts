// Validators of downloads and conditional requests (RFC 9110, sections 8.8 and 13).
import { type DatasetVersion, requestDatasetVersions } from "../src/client/dataset_versions.ts";
import type { DataStream } from "../src/client/datastream.ts";
import { sha256Hex } from "../src/bytes.ts";
import { startTimeLimit } from "../src/clock.ts";
import { DataStreamError } from "../src/errors.ts";
import type { FormatName } from "../src/formats/formats.ts";
import { toWiderMetadataFilter } from "../src/odata/dataset_filter.ts";
import type { ResourceName } from "../src/odata/resources.ts";
import { PRODUCTION_URL } from "../src/service_constants.ts";
import { VERSION } from "../src/version.ts";
import type { ConcurrencyLimit, PermitHolder } from "./concurrency_limit.ts";
import type { Settings } from "./options.ts";
import type { FailureLog } from "./request_log.ts";
import type { DownloadParameters } from "./search_params.ts";
import { SharedTasks } from "./shared_tasks.ts";
import { TtlCache } from "./ttl_cache.ts";

/** TTL (ms) of the versions of datasets, and of a failure to request them. */
const VERSIONS_TTL = 60_000;
/** Maximum number of cached states. A key can have 8000 characters. */
const MAX_STATES = 200;
/** Maximum time (ms) that a download waits for the versions. After it, the download has no validators. */
const VERSIONS_TIMEOUT = 30_000;
/** Maximum time (ms) of the request for the versions without headers or bytes. It is not retried. */
const REQUEST_TIMEOUT = 10_000;

/** State of all datasets that can contain rows of a result. */
export interface DatasetState {
  /** Hash of their DOIs, versions and publication times. */
  digest: string;
  /** Latest publication time (ms since 1970); `undefined` if there is none. */
  publishedAt: number | undefined;
}

/** Options of a download that determine its rows and datasets. */
type DownloadQuery = DownloadParameters["query"];

/** Options of {@linkcode DatasetStates.load}. */
interface LoadOptions {
  /** Limit for requests to the service. */
  limit: ConcurrencyLimit;
  /** Client and reader for which a permit of this limit is acquired. */
  holder: PermitHolder;
  /** Signal of the client's request. */
  signal: AbortSignal;
  log: FailureLog;
}

/**
 * Cache of the states of datasets.
 *
 * A state is requested before the rows, so a dataset that is published in the meantime can only make an
 * `ETag` older than its rows. A client then downloads the same rows once more, but never keeps old ones.
 */
export class DatasetStates {
  readonly #settings: Settings;
  /** States by filter of Metadata; `undefined` after a failed request. */
  readonly #states: TtlCache<{ state: DatasetState | undefined }>;
  /** Requests for states, by the same keys. */
  readonly #requests: SharedTasks<DatasetState | undefined>;

  constructor(settings: Settings) {
    this.#settings = settings;
    const { clock } = settings;
    this.#states = new TtlCache({ ttl: VERSIONS_TTL, maxEntries: MAX_STATES, clock });
    this.#requests = new SharedTasks(clock);
  }

  /** Returns the cached state of the datasets of a query; `undefined` if there is none. */
  find(query: DownloadQuery): DatasetState | undefined {
    return this.#states.get(keyOf(query))?.state;
  }

  /** Whether the cache has a state of the datasets of a query, of any age. */
  wasKnown(query: DownloadQuery): boolean {
    return this.#states.getStale(keyOf(query))?.state !== undefined;
  }

  /**
   * Returns the state of the datasets of a query. Sends a request unless the state is cached or is being
   * requested by another call.
   *
   * @returns `undefined` if the request fails for another reason than the API key or the rate limit
   * @throws {DataStreamError} If the service rejects the API key, or the rate limiter the request
   * @throws {HttpProblem} 503 if the server is at its limit, 429 if the client is
   * @throws The reason of the signal
   */
  async load(
    dataStream: DataStream,
    query: DownloadQuery,
    options: LoadOptions,
  ): Promise<DatasetState | undefined> {
    const key = keyOf(query);
    const cached = this.#states.get(key);
    if (cached !== undefined) return cached.state;
    const request = async () => {
      const state = await this.#request(dataStream, query, options);
      this.#states.set(key, { state });
      return state;
    };
    return await this.#requests.run(key, request, options.signal);
  }

  async #request(
    dataStream: DataStream,
    query: DownloadQuery,
    { limit, holder, signal, log }: LoadOptions,
  ): Promise<DatasetState | undefined> {
    const { clock, dataStreamOptions: { timeouts } } = this.#settings;
    const { headers = Infinity, bytes = Infinity } = timeouts ?? {};
    const client = dataStream.with({
      retry: { attempts: 1 },
      timeouts: {
        headers: Math.min(headers, REQUEST_TIMEOUT),
        bytes: Math.min(bytes, REQUEST_TIMEOUT),
      },
    });
    const timeLimit = startTimeLimit(clock, VERSIONS_TIMEOUT, "no response");
    const eitherSignal = AbortSignal.any([signal, timeLimit.signal]);
    try {
      const request = () =>
        requestDatasetVersions(client, toWiderMetadataFilter(query), eitherSignal);
      const versions = await limit.run(request, holder);
      return await toState(versions);
    } catch (error) {
      signal.throwIfAborted();
      const isServiceError = error instanceof DataStreamError || error === timeLimit.signal.reason;
      if (!isServiceError || isFinal(error)) throw error;
      log.logFailure("Request for the versions of the datasets failed", error);
      return undefined;
    } finally {
      timeLimit.stop();
    }
  }
}

/** Returns the cache key of a query. Queries with the same key have the same datasets. */
function keyOf(query: DownloadQuery): string {
  return toWiderMetadataFilter(query) ?? "";
}

/** Whether requests for rows would fail with the same error: of the API key or the rate limit. */
function isFinal(error: unknown): boolean {
  return error instanceof DataStreamError &&
    (error.status === 401 || error.status === 403 || error.kind === "rate-limit");
}

async function toState(versions: readonly DatasetVersion[]): Promise<DatasetState> {
  const times = versions.map(([, , published]) => Date.parse(published)).filter(Number.isFinite);
  return {
    digest: await hash(versions.map((version) => JSON.stringify(version)).sort()),
    publishedAt: times.length > 0 ? times.reduce((a, b) => Math.max(a, b)) : undefined,
  };
}

/** Everything that determines the bytes of a response, except the datasets. */
interface Representation extends Pick<DownloadParameters, "query" | "csv" | "count"> {
  resource: ResourceName;
  format: FormatName;
}

/**
 * Returns the headers `etag` and `last-modified` of a download or a count.
 *
 * The ETag is weak, because the server compares versions and not bytes.
 *
 * @param state State of the datasets with rows in the result
 */
export async function validatorsOf(
  { resource, format, query: { select, filter, within, limit, skipToken }, csv, count }:
    Representation,
  { digest, publishedAt }: DatasetState,
  { dataStreamOptions: { baseUrl = PRODUCTION_URL }, now }: Settings,
): Promise<{ etag: string; "last-modified"?: string }> {
  const representation = [
    resource,
    select,
    filter,
    within,
    limit,
    skipToken,
    count || [format, csv],
  ];
  return {
    etag: `W/"${await hash([VERSION, baseUrl, digest, representation])}"`,
    // RFC 9110, section 8.8.2.1: a time in the future must be replaced by the current one.
    ...(publishedAt !== undefined && {
      "last-modified": new Date(Math.min(publishedAt, now())).toUTCString(),
    }),
  };
}

/**
 * Whether the header `if-none-match` contains an ETag, or `*`. Compares weakly: `W/` is ignored.
 *
 * Source: RFC 9110, section 13.1.2.
 *
 * @param field Value of the header; `null` without one
 * @param etag The ETag; `undefined` if it is not known
 */
export function matchesETag(field: string | null, etag: string | undefined): boolean {
  if (field === null || etag === undefined) return false;
  if (field.trim() === "*") return true;
  // The quoted part of each entity-tag can contain a comma, but no quote.
  const given: readonly string[] = field.match(/"[^"]*"/g) ?? [];
  return given.includes(etag.replace("W/", ""));
}

/** Names of the headers of a 304 response that a download with status 200 also has (RFC 9110, section 15.4.5). */
const NOT_MODIFIED_HEADERS = ["cache-control", "vary", "etag"];

/** Creates the response for a client that has the current representation. */
export function notModified(headers: Readonly<Record<string, string>>): Response {
  const entries = Object.entries(headers).filter(([name]) => NOT_MODIFIED_HEADERS.includes(name));
  return new Response(null, { status: 304, headers: Object.fromEntries(entries) });
}

/** Returns the first 128 bits of the SHA-256 hash of a JSON value, as hexadecimal digits. */
async function hash(value: unknown): Promise<string> {
  return (await sha256Hex(JSON.stringify(value))).slice(0, 32);
}
