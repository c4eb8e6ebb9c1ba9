import type { Filter } from "../odata/filter.ts";
import {
  type FilterFieldOf,
  MAXIMUM_TOP,
  RESOURCE_NAMES,
  type ResourceName,
  SUMMARY_KEYS,
} from "../odata/resources.ts";
import {
  type Citation,
  citationClauses,
  type CitationOptions,
  CITED_FIELDS,
  type CitedDataset,
  toCitation,
} from "../formats/citations.ts";
import { readOptions, requireOneOf } from "../validation.ts";
import { createQuery } from "./create_query.ts";
import { type ClientSettings, type DataStreamOptions, toClientSettings } from "./options.ts";
import type { ServiceState } from "./rate_limiter.ts";
import { knownService } from "./send.ts";
import { summarize, type SummaryOptions, type SummaryRow } from "./summary.ts";
import type {
  AnyResourceQuery,
  LocationsQuery,
  OptionsOf,
  Query,
  SelectedRow,
  Selection,
} from "./query.ts";

/**
 * A client of the DataStream service.
 *
 * It sends one request at a time and at most two per second. All clients of the process with the same
 * origin share this limit. It retries a request that fails for a temporary reason. It has no state apart
 * from its options.
 *
 * Its methods create queries, which send nothing yet. They throw a {@linkcode ValidationError} for an
 * option that cannot succeed: an unknown name, an invalid filter, a number out of range, or a request
 * of more than 8000 bytes.
 * Source: DataStream Public API.
 *
 * @example The records of a dataset
 * ```ts
 * import { and, DataStream, eq, gte } from "@weir/datastream";
 * import { createSandbox } from "@weir/datastream/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const sandbox = createSandbox(); // replaces the service, and has a key of its own
 * const client = new DataStream({
 *   apiKey: sandbox.apiKey,
 *   baseUrl: sandbox.url,
 *   fetch: sandbox.fetch,
 * });
 * const query = client.records({
 *   select: ["CharacteristicName", "ResultValue", "ResultUnit"],
 *   filter: and(eq("DOI", "10.25976/weir-bb00"), gte("ActivityStartYear", 2023)),
 * });
 * const [first] = await query.toArray();
 * assertEquals(first?.CharacteristicName, "pH");
 * ```
 */
export class DataStream {
  readonly #options: DataStreamOptions;
  readonly #settings: ClientSettings;

  /**
   * Creates a client, without a request.
   *
   * @param options API key, base URL, rate limit, retries and timeouts
   * @throws {ValidationError} If an option is unknown or invalid. A base URL that would send the key unencrypted is
   *   invalid, and so are more than 2 requests per second to DataStream
   */
  constructor(options: DataStreamOptions = {}) {
    this.#settings = toClientSettings(options);
    this.#options = { ...options };
  }

  /**
   * Creates a client with other options. Options that are not given stay the same.
   *
   * @param options Options to change. A new `retry` or `timeouts` replaces the old one as a whole: its
   *   missing members have their defaults
   * @returns Another client; this one does not change
   * @throws {ValidationError} If an option is unknown or invalid
   *
   * @example A server that sends the API key of each caller
   * ```ts
   * import { DataStream } from "@weir/datastream";
   * import { assertEquals } from "@std/assert";
   *
   * const client = new DataStream({ baseUrl: "https://proxy.example/v1", userAgent: "my-app/1.0" });
   * const callersClient = client.with({ apiKey: "KEY-OF-THE-CALLER" });
   * assertEquals(callersClient.records().url, client.records().url);
   * ```
   */
  with(options: DataStreamOptions): DataStream {
    const client = createClient({ ...this.#options, ...options });
    const [one, other] = [this.#settings, client.#settings];
    const isSame = one.apiKey === other.apiKey && one.baseUrl === other.baseUrl &&
      !this.#options.rateLimiter === !client.#options.rateLimiter;
    // Its hash of the key takes time, until which the state of the service is unknown.
    if (isSame) other.target = one.target;
    return client;
  }

  /**
   * What is known about the service with this key, without a request: whether it answers, or since when and why it does
   * not. All clients that share a rate limit share it.
   *
   * @example
   * ```ts
   * import { DataStream } from "@weir/datastream";
   *
   * const { is, cause, wait } = new DataStream().service;
   * if (is !== "answering") console.log(`${is} (${cause}), next request in ${wait} ms`);
   * ```
   */
  get service(): ServiceState {
    return knownService(this.#settings);
  }

  /**
   * Creates a query of Metadata: the datasets with their names, citations, licences and extents.
   * Source: DataStream Public API, "Endpoints", `GET /Metadata`.
   *
   * @param query Fields, filter, bounding box, page size and limit. Default: all rows, all fields
   * @throws {ValidationError} If an option is unknown or invalid
   *
   * @example The datasets with a location in a bounding box
   * ```ts
   * import { DataStream } from "@weir/datastream";
   *
   * const { url } = new DataStream().metadata({
   *   select: "DOI,DatasetName",
   *   within: { west: -64.5, south: 45.9, east: -62, north: 47.1 },
   * });
   * ```
   */
  metadata<const S extends Selection = undefined, U extends boolean = false>(
    query: OptionsOf<"Metadata", S, U> = {},
  ): Query<SelectedRow<"Metadata", S, U>> {
    return createQuery("Metadata", query, this.#settings);
  }

  /**
   * Creates a query of Locations: the monitoring locations with their names, positions and types.
   * Source: DataStream Public API, "Endpoints", `GET /Locations`.
   *
   * @param query Fields, filter, bounding box, page size and limit. Default: all rows, all fields
   * @throws {ValidationError} If an option is unknown or invalid
   *
   * @example The number of locations in a province
   * ```ts
   * import { DataStream, eq } from "@weir/datastream";
   * import { createSandbox } from "@weir/datastream/sandbox";
   * import { assertEquals } from "@std/assert";
   *
   * const { apiKey, url, fetch } = createSandbox();
   * const client = new DataStream({ apiKey, baseUrl: url, fetch });
   * assertEquals(await client.locations({ filter: eq("RegionId", "admin.4.ca.pe") }).count(), 4);
   * ```
   */
  locations<const S extends Selection = undefined, U extends boolean = false>(
    query: OptionsOf<"Locations", S, U> = {},
  ): LocationsQuery<SelectedRow<"Locations", S, U>> {
    const locations = createQuery("Locations", query, this.#settings);
    return locations as LocationsQuery<SelectedRow<"Locations", S, U>>;
  }

  /**
   * Creates a query of Observations: the measurements, each with the id of its location.
   * Source: DataStream Public API, "Endpoints", `GET /Observations`.
   *
   * @param query Fields, filter, bounding box, page size and limit. Default: all rows, all fields
   * @throws {ValidationError} If an option is unknown or invalid
   *
   * @example The pH values in a bounding box
   * ```ts
   * import { DataStream, eq } from "@weir/datastream";
   *
   * const { url } = new DataStream().observations({
   *   select: ["LocationId", "ActivityStartDate", "ResultValue"],
   *   filter: eq("CharacteristicName", "pH"),
   *   within: { west: -64, south: 46, east: -62, north: 47 },
   * });
   * ```
   */
  observations<
    const S extends Selection = undefined,
    U extends boolean = false,
    T extends boolean = false,
  >(
    query: OptionsOf<"Observations", S, U, T> = {},
  ): Query<SelectedRow<"Observations", S, U, T>> {
    return createQuery("Observations", query, this.#settings);
  }

  /**
   * Creates a query of Records: the measurements with all columns of their dataset and location, for a
   * CSV file. For other purposes, Observations are smaller.
   * Source: DataStream Public API, "Endpoints", `GET /Records`.
   *
   * @param query Fields, filter, bounding box, page size and limit. Default: all rows, all fields
   * @throws {ValidationError} If an option is unknown or invalid
   *
   * @example The URL of the first request
   * ```ts
   * import { DataStream } from "@weir/datastream";
   *
   * const { url } = new DataStream().records({ select: ["Id"], top: 100 });
   * console.log(url); // https://api.datastream.org/v1/odata/v4/Records?%24select=Id&%24top=100
   * ```
   */
  records<
    const S extends Selection = undefined,
    U extends boolean = false,
    T extends boolean = false,
  >(
    query: OptionsOf<"Records", S, U, T> = {},
  ): Query<SelectedRow<"Records", S, U, T>> {
    return createQuery("Records", query, this.#settings);
  }

  /**
   * Creates a query of a resource that is known only at run time.
   *
   * @param resource Name of the resource
   * @param options The options of the resource's own method. Default: all rows, all fields
   * @returns A query, not yet sent. If the name is a literal, its rows have the type of that resource
   * @throws {ValidationError} If there is no such resource, or an option is invalid
   *
   * @example
   * ```ts
   * import { DataStream, type ResourceName, RESOURCES } from "@weir/datastream";
   *
   * const client = new DataStream();
   * for (const resource of Object.keys(RESOURCES) as ResourceName[]) {
   *   console.log(client.query(resource, { filter: "DOI eq '10.25976/weir-aa00'" }).url);
   * }
   * ```
   */
  query<
    const N extends ResourceName,
    const S extends Selection = undefined,
    U extends boolean = false,
    T extends boolean = false,
  >(
    resource: N,
    options: ResourceName extends N ? AnyResourceQuery : OptionsOf<N, S, U, T> = {},
  ): Query<ResourceName extends N ? Record<string, unknown> : SelectedRow<N, S, U, T>> {
    requireOneOf("resource", resource, RESOURCE_NAMES);
    return createQuery(resource, options, this.#settings);
  }

  /**
   * Requests the citations of the datasets that have a row which matches a filter, or of datasets by
   * their DOIs. DataStream requires them.
   * A clause with `ne` on a property of records or locations is ignored: a dataset whose other rows
   * match is cited, too.
   * Source: DataStream Public API, "Attribution/Citation".
   *
   * @param filter The filter of the query that returned the data, as an expression or text. Default:
   *   none, for all datasets
   * @param options Bounding box of that query, DOIs of the datasets, which must also match the filter,
   *   and a signal that stops the requests
   * @returns One citation for each dataset. A DOI that the service does not have is left out
   * @throws {DataStreamError} If a request fails
   * @throws {ValidationError} If Metadata does not accept the filter, or an option is invalid
   *
   * @example
   * ```ts
   * import { DataStream, eq } from "@weir/datastream";
   * import { createSandbox } from "@weir/datastream/sandbox";
   * import { assertEquals } from "@std/assert";
   *
   * const { apiKey, url, fetch } = createSandbox();
   * const client = new DataStream({ apiKey, baseUrl: url, fetch });
   * const [dataset] = await client.citations(eq("DOI", "10.25976/weir-aa00"));
   * assertEquals(dataset?.link, "https://doi.org/10.25976/weir-aa00");
   * ```
   */
  async citations(
    filter?: Filter<FilterFieldOf<"Metadata">> | string,
    options: CitationOptions = {},
  ): Promise<Citation[]> {
    const given = readOptions("citations()", options, { signal: {}, dois: {}, within: {} });
    const { signal } = given;
    const citations = new Map<string, Citation>();
    for (const clauses of citationClauses(filter, given)) {
      const query = createQuery<CitedDataset>(
        "Metadata",
        { select: CITED_FIELDS, signal, top: MAXIMUM_TOP },
        this.#settings,
        clauses,
      );
      for (const row of await query.toArray()) citations.set(row.DOI, toCitation(row));
    }
    return [...citations.values()];
  }

  /**
   * Summarizes the observations of a filter before they are downloaded: per location and characteristic, the number of
   * results, first and last year, units, chemical forms, fractions, and numbers of each {@linkcode TidyRow.censoring}.
   * It reads the rows with few fields, 10,000 per request, keeps only the groups, and requests the names at its end.
   * Source: DataStream Public API, "Endpoints", `GET /Observations`.
   *
   * @param options Filter, bounding box, days, quality control, `maxRows`, signal, progress; `by`: what to group by
   * instead of location and characteristic: `characteristic`, `location`, `dataset` or `year`
   * @returns The groups, in order of location, characteristic, dataset or year
   * @throws {ValidationError} If an option is unknown or invalid
   * @throws {DataStreamError} Of kind `too-many-rows` if there are more rows than `maxRows` (default: no maximum), or
   *   of another kind if a request fails
   *
   * @example
   * ```ts
   * import { DataStream, eq } from "@weir/datastream";
   * import { createSandbox } from "@weir/datastream/sandbox";
   * import { assertEquals } from "@std/assert";
   *
   * const { apiKey, url, fetch } = createSandbox();
   * const client = new DataStream({ apiKey, baseUrl: url, fetch });
   * const filter = eq("DOI", "10.25976/weir-aa00");
   * const [first] = await client.summary({ filter, by: "characteristic" });
   * assertEquals([first?.characteristic, first?.units], ["Chloride", ["mg/L"]]);
   * ```
   */
  async summary(options: SummaryOptions = {}): Promise<SummaryRow[]> {
    requireOneOf("by", options.by ?? SUMMARY_KEYS[0], SUMMARY_KEYS);
    return await summarize(
      (resource, query) => createQuery(resource, query, this.#settings),
      options,
    );
  }
}

/** Bundlers rename a class that refers to itself, and consoles then show that name. */
function createClient(options: DataStreamOptions): DataStream {
  return new DataStream(options);
}
