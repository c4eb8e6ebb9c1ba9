import type { Field, Row } from "../odata/resources.ts";
import { PRODUCTION_URL, QA_URL } from "../service_roots.ts";
import { VERSION } from "../version.ts";
import { type Clock, systemClock } from "./clock.ts";
import { createQuery, type Query, type QueryContext } from "./query.ts";

/** The most requests a second that the service allows (water-quality-api, Limits). */
const SERVICE_LIMIT = 2;

/** Options for a {@linkcode DataStream} client. */
export interface DataStreamOptions {
  /** The API key, sent as `x-api-key` to the base URL's origin and nowhere else. Default: none. */
  apiKey?: string;
  /** The root address of the service. Default {@linkcode PRODUCTION_URL}. */
  baseUrl?: string;
  /**
   * How many requests may start in a second, one at a time, counting every client of this process
   * that talks to the same origin. Default 2, the service's limit; more is for one's own server,
   * Infinity for tests.
   */
  requestsPerSecond?: number;
  /** What sends a request. Default: the global `fetch`. */
  fetch?: (request: Request) => Promise<Response>;
  /** The clock to keep the pace by. Default: the process's own; leave it but in tests. */
  clock?: Clock;
}

/** What to ask Records for. */
export interface RecordsQuery<F extends Field<"Records"> = Field<"Records">> {
  /** The fields to select, in order. Default: all. */
  select?: readonly F[];
  /** An OData filter as the service takes it, not encoded. Default: none. */
  filter?: string;
  /** The page size, 1 to 10000, not the number of rows. Default 10000. */
  top?: number;
  /** Stops the query, the request in flight and every wait. */
  signal?: AbortSignal;
}

/**
 * A client of the DataStream service.
 *
 * It sends one request at a time and at most two a second, shared by all clients of the process
 * that talk to the same origin. It holds no state but its options.
 *
 * Source: water-quality-api.
 *
 * @example The records of a dataset
 * ```ts
 * import { DataStream } from "@weir/datastream";
 * import { createSandbox } from "@weir/datastream/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const sandbox = createSandbox(); // in place of the service and a key of one's own
 * const client = new DataStream({
 *   apiKey: sandbox.apiKey,
 *   baseUrl: sandbox.url,
 *   fetch: sandbox.fetch,
 * });
 * const query = client.records({
 *   select: ["CharacteristicName", "ResultValue", "ResultUnit"],
 *   filter: "DOI eq '10.25976/weir-bb00' and ActivityStartYear gte 2023",
 * });
 * const [first] = await query.toArray();
 * assertEquals(first?.CharacteristicName, "pH");
 * ```
 */
export class DataStream {
  readonly #context: QueryContext;

  /**
   * Makes a client; nothing is sent.
   *
   * @param options Key, address and pace
   * @throws {TypeError} If the base URL is not one, or would carry the key unencrypted, or the key
   *   cannot stand in a header
   * @throws {RangeError} If the rate is not above 0, or above 2 for the service itself
   */
  constructor(options: DataStreamOptions = {}) {
    const {
      apiKey,
      baseUrl = PRODUCTION_URL,
      requestsPerSecond = SERVICE_LIMIT,
      fetch = (request) => globalThis.fetch(request),
      clock = systemClock,
    } = options;
    requireAddress(baseUrl, apiKey !== undefined);
    requireRate(requestsPerSecond, baseUrl);
    if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey)) {
      throw new TypeError(
        "apiKey must be visible ASCII characters, got others or none (not shown)",
      );
    }
    this.#context = {
      apiKey,
      baseUrl: new URL(baseUrl).href,
      requestsPerSecond,
      fetch,
      clock,
      headers: {
        accept: "application/vnd.api+json",
        "user-agent": `weir/${VERSION}`,
        ...(apiKey !== undefined && { "x-api-key": apiKey }),
      },
    };
  }

  /**
   * Flat records with all columns, meant for a CSV file.
   *
   * @param query What to ask for: fields, filter, page size
   * @returns A query, not yet sent
   * @throws {TypeError} If a field is not one of Records, or `select` or `filter` is empty
   * @throws {RangeError} If `top` is not a whole number from 1 to 10000
   *
   * Source: water-quality-api, `GET /Records`.
   *
   * @example The first request's URL
   * ```ts
   * import { DataStream } from "@weir/datastream";
   * import { assertEquals } from "@std/assert";
   *
   * const query = new DataStream().records({ select: ["Id"], top: 100 });
   * assertEquals(
   *   query.url,
   *   "https://api.datastream.org/v1/odata/v4/Records?%24select=Id&%24top=100",
   * );
   * ```
   */
  records<F extends Field<"Records"> = Field<"Records">>(
    query: RecordsQuery<F> = {},
  ): Query<Pick<Row<"Records">, F>> {
    return createQuery("Records", query, this.#context);
  }
}

function requireAddress(baseUrl: string, hasKey: boolean): void {
  if (!URL.canParse(baseUrl)) {
    // What came is not shown: it may be a key that stands in the wrong place.
    throw new TypeError(
      `baseUrl must be an absolute URL such as ${PRODUCTION_URL}, got other text`,
    );
  }
  const { protocol, hostname, username, password } = new URL(baseUrl);
  const loopback = hostname === "localhost" || hostname === "[::1]" ||
    /^127(\.\d{1,3}){3}$/.test(hostname);
  if (protocol !== "https:" && !(protocol === "http:" && (loopback || !hasKey))) {
    throw new TypeError(
      `baseUrl must begin with https:// (http:// with a key is for loopback alone), got "${protocol}//${hostname}"`,
    );
  }
  if (username || password || /[?#]/.test(baseUrl)) {
    throw new TypeError(
      "baseUrl must hold no user name, password, query or fragment; pass the path alone",
    );
  }
}

function requireRate(requestsPerSecond: number, baseUrl: string): void {
  if (!(requestsPerSecond > 0)) {
    throw new RangeError(`requestsPerSecond must be above 0, got ${requestsPerSecond}`);
  }
  const { hostname } = new URL(baseUrl);
  const isService = [PRODUCTION_URL, QA_URL].some((root) =>
    // A host may be written with a dot at its end.
    hostname.replace(/\.$/, "") === new URL(root).hostname
  );
  if (isService && requestsPerSecond > SERVICE_LIMIT) {
    throw new RangeError(
      `requestsPerSecond must be at most ${SERVICE_LIMIT} for the service, got ${requestsPerSecond}`,
    );
  }
}
