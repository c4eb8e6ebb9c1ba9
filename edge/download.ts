import { accepts } from "@std/http/negotiation";
import type { DataStream } from "../src/client/datastream.ts";
import { ValidationError } from "../src/errors.ts";
import { type FormatName, FORMATS, formatsOf, unknownFormat } from "../src/formats/formats.ts";
import { isMeasured, type ResourceName, RESOURCES } from "../src/odata/resources.ts";
import type { AccessControl } from "./access.ts";
import { type BatchPart, PAGE_PARTS } from "../src/client/batches.ts";
import { type Bytes, sha256Hex } from "../src/bytes.ts";
import { PAGE_BUFFER } from "../src/client/read_ahead.ts";
import type { CsvOptions } from "../src/formats/csv.ts";
import type { Citation } from "../src/formats/citations.ts";
import { releaseBuffer } from "../src/formats/page_writer.ts";
import type { IdentifyClient } from "./client_limit.ts";
import { ClientReader } from "./client_reader.ts";
import type { ConcurrencyLimit, PermitHolder } from "./concurrency_limit.ts";
import { downloadHeaders } from "./download_headers.ts";
import { streamDownload } from "./download_response.ts";
import type { Exchange } from "./exchange.ts";
import type { Settings } from "./options.ts";
import { type OutputBudget, OutputBuffer } from "./output_budget.ts";
import { HttpProblem, toServiceProblem } from "./problem.ts";
import type { PageCache } from "./page_cache.ts";
import { type DownloadParameters, readDownloadParameters } from "./search_params.ts";
import { shareDownload } from "./shared_download.ts";
import type { SharedTasks } from "./shared_tasks.ts";
import { SERVICE_MEDIA_TYPE } from "../src/service_constants.ts";
import {
  type DatasetState,
  type DatasetStates,
  matchesETag,
  notModified,
  validatorsOf,
} from "./validators.ts";

/** Objects that the request handlers of an app share. */
export interface AppContext {
  settings: Settings;
  accessControl: AccessControl;
  /** Limit for downloads, counts and requests for citations. The page has its own limit. */
  serviceLimit: ConcurrencyLimit;
  /**
   * Limit for requests that check whether cached pages are current. Cached pages need no permit of `serviceLimit`.
   */
  revalidationLimit: ConcurrencyLimit;
  identifyClient: IdentifyClient;
  /** Limit for the output that downloads buffer. */
  outputBudget: OutputBudget;
  /** Pages that downloads share; `undefined` if they share none. */
  pageCache: PageCache | undefined;
  /** Counts that concurrent requests share; `undefined` if they share none. */
  sharedCounts: SharedTasks<number> | undefined;
  /** Citations that concurrent requests share; `undefined` if they share none. */
  sharedCitations: SharedTasks<Citation[]> | undefined;
  /** States of the datasets, for the validators of downloads. */
  datasetStates: DatasetStates;
}

/**
 * Responds to a request for the rows of a resource, or for their number.
 *
 * @param formatInPath Format of the extension in the path; `undefined` to negotiate it
 * @throws {HttpProblem} 401 or 403 without authorization, 406 if `accept` excludes every format, 429 or 503 at a
 *   limit. A failure of the service before the first row has its own status
 * @throws {ValidationError} If a URL parameter is invalid
 */
export async function respondWithDownload(
  exchange: Exchange,
  resource: ResourceName,
  formatInPath: FormatName | undefined,
  context: AppContext,
): Promise<Response> {
  const { settings, accessControl, serviceLimit, identifyClient, pageCache, sharedCounts } =
    context;
  const { request } = exchange;
  const dataStream = exchange.countRequests(await accessControl.authorize(request));
  const parameters = readDownloadParameters(
    new URL(request.url),
    accessControl.parameters,
    formatInPath,
  );
  const format = formatInPath ?? negotiateFormat(request, resource, parameters.format);
  requireValidCombination(parameters, resource);
  const { count, csv } = parameters;
  const { signal } = request;
  const { maxRows } = settings;
  const top = pageSize(resource, parameters.query, settings.pageRows);
  const query = dataStream.query(resource, {
    ...parameters.query,
    top,
    maxRows,
    // A skip token is an Id, so rows must be in the order of Ids. Rows of a split query are not.
    ...(isMeasured(resource) && parameters.query.skipToken !== undefined &&
      { partition: "never" }),
    // streamDownload() handles the signal of the client's request for a download.
    signal: count ? exchange.signal : exchange.deadline.signal,
    // A download with shared pages counts the rows that it delivers.
    ...(pageCache === undefined && {
      onProgress: ({ rows }) => {
        exchange.rows = rows;
      },
    }),
  });
  query.batches({ format, csv }); // throws if an option is invalid
  const headers = downloadHeaders(resource, format, parameters, {
    synthetic: settings.synthetic,
    isNegotiated: formatInPath === undefined,
    accessControl,
  });
  exchange.query = parameters.logged;
  const failed = (error: unknown) =>
    toServiceProblem(error, `Download of ${resource}`, settings, exchange);
  const datasets = await findDatasets(dataStream, parameters.query, exchange, context)
    .catch((error) => {
      throw failed(error);
    });
  const form = { ...parameters, resource, format };
  if (datasets) Object.assign(headers, await validatorsOf(form, datasets, settings));
  if (matchesETag(request.headers.get("if-none-match"), headers.etag)) return notModified(headers);
  // For HEAD, Hono calls this handler and drops the body, so the download must not start.
  if (request.method === "HEAD") return new Response(null, { headers });
  const client = await identifyClient(exchange);
  const document = [query.url, parameters.query, { top, maxRows }];
  if (count) {
    // Applies the deadline also if this response waits for the count of another one.
    exchange.deadline.onRequest();
    const countRows = () => serviceLimit.run(() => query.count(), { client });
    const counting = sharedCounts?.run(JSON.stringify(document), countRows, exchange.signal) ??
      countRows();
    const body = {
      count: await counting.catch((error) => {
        throw failed(error);
      }),
    };
    return new Response(`${JSON.stringify(body)}\n`, { headers });
  }
  const reader = new ClientReader(settings.clock);
  // Keys of the service can have different rows, and servers with different keys can share a standard cache.
  const keyHash = pageCache && settings.apiKey && await sha256Hex(settings.apiKey);
  const { stream, isShared, onRead, close } = openDocument(exchange, context, {
    document: [...document, format, csv, keyHash],
    datasetsDigest: datasets?.digest,
    query,
    format,
    csv,
    readsNextPage: parameters.query.limit === undefined,
    holder: { client, reader },
  });
  try {
    const response = await streamDownload({
      stream,
      isShared,
      reader,
      headers,
      signal,
      readerTimeout: settings.readerTimeout,
      clock: settings.clock,
      onError: (error) =>
        exchange.logFailure(`Download of ${resource} failed after its first rows`, error),
      onDisconnect: (reason) =>
        exchange.logWarning(
          `Download of ${resource} was interrupted: ${(reason as Error).message}`,
        ),
      onRead,
      onChunk(bytes) {
        exchange.bytes += bytes;
      },
      onEnd(outcome) {
        close();
        exchange.end(outcome);
      },
      createBodyError: () => exchange.createBodyError(),
    });
    exchange.isStream = true;
    return response;
  } catch (error) {
    close();
    throw failed(error);
  }
}

/** A document that is sent to a client. */
interface OpenDocument {
  stream: ReadableStream<Bytes>;
  /** Whether other downloads use the same bytes. */
  isShared: boolean;
  /** Called with each part that the client has read; frees its memory. */
  onRead: (part: Bytes) => void;
  /** Releases the permit and the reserved memory. */
  close: () => void;
}

/** Options of {@linkcode openDocument}. */
interface DocumentOptions {
  /** JSON value that identifies the document. */
  document: unknown;
  /** Digest of the versions of the datasets; `undefined` if they are not known. */
  datasetsDigest: string | undefined;
  query: ReturnType<DataStream["query"]>;
  format: FormatName;
  csv: CsvOptions;
  readsNextPage: boolean;
  /** Client and reader that hold the permit. */
  holder: PermitHolder;
}

/**
 * Opens a document: with its own requests, which need a permit, or with shared pages.
 *
 * @throws {HttpProblem} 503 if the server is at its limit, 429 if the client is
 */
function openDocument(
  exchange: Exchange,
  { settings: { clock }, serviceLimit, outputBudget, pageCache: cache }: AppContext,
  { document, datasetsDigest, query, format, csv, readsNextPage, holder }: DocumentOptions,
): OpenDocument {
  const buffer = new OutputBuffer(outputBudget, () => exchange.deadline.maxWait(), holder.reader);
  if (cache === undefined) {
    const permit = serviceLimit.acquire(holder);
    const byteOptions = { csv, [PAGE_BUFFER]: buffer };
    return {
      stream: query.bytes(format, byteOptions),
      isShared: false,
      onRead(part) {
        buffer.remove(part.length);
        // Garbage collection cannot free it, because the query still references it.
        releaseBuffer(part);
      },
      close() {
        buffer.close();
        permit.release();
      },
    };
  }
  const { stream, release, close } = shareDownload({
    cache,
    buffer,
    permits: {
      acquire: () => serviceLimit.acquire(holder),
      tryAcquire: () => serviceLimit.tryAcquire(holder),
      takeOver: (unused) => serviceLimit.takeOver(unused, holder),
    },
    document,
    datasetsDigest,
    deadline: exchange.deadline,
    request(after) {
      const batchOptions = { format, csv, after, [PAGE_PARTS]: true };
      const parts = query.batches(batchOptions) as AsyncIterable<BatchPart<Bytes>>;
      return parts[Symbol.asyncIterator]();
    },
    readsNextPage,
    clock,
    onRows(rows) {
      exchange.rows += rows;
    },
    onStoreError: (error) => cache.reportStoreError(error, exchange),
  });
  return { stream, isShared: true, onRead: release, close };
}

/**
 * Returns the state of the datasets of a download, for its validators; `undefined` if it is not known.
 *
 * With `caller` access, there are no validators: responses must not be stored, and each key would need its own
 * request.
 *
 * @throws {HttpProblem} 503 if the server is at its limit, 429 if the client is
 * @throws {DataStreamError} If the service rejects the API key, or the rate limiter the request
 */
async function findDatasets(
  dataStream: DataStream,
  query: DownloadParameters["query"],
  exchange: Exchange,
  { settings, datasetStates, serviceLimit, revalidationLimit, identifyClient, pageCache }:
    AppContext,
): Promise<DatasetState | undefined> {
  if (settings.access === "caller") return undefined;
  const { request: { method }, signal } = exchange;
  // HEAD sends no requests to the service.
  if (method === "HEAD") return datasetStates.find(query);
  const mayBeCached = pageCache !== undefined && datasetStates.wasKnown(query);
  return await datasetStates.load(dataStream, query, {
    limit: mayBeCached ? revalidationLimit : serviceLimit,
    holder: { client: await identifyClient(exchange) },
    signal,
    log: exchange,
  });
}

/**
 * Returns the format that a request selects with `$format` or, without it, the `accept` header.
 *
 * Source: OData 4.01 Part 1, 11.2.12; RFC 9110, section 12.5.1.
 *
 * @param given Value of `$format`, if any: the name or media type of a format
 * @throws {ValidationError} If the resource does not have the format of `$format`
 * @throws {HttpProblem} 406 if `accept` excludes every format of the resource
 */
export function negotiateFormat(
  request: Request,
  resource: ResourceName,
  given: string | undefined,
): FormatName {
  const names = formatsOf(resource);
  if (given !== undefined) {
    // A plus sign that is not percent-encoded is decoded as a space.
    const wanted = given.toLowerCase().split(";")[0]!.trim().replace(" ", "+");
    const found = names.find((name) => name === wanted || FORMATS[name].mediaType === wanted);
    if (found !== undefined) return found;
    throw unknownFormat(resource, given);
  }
  const headers = new Headers(request.headers);
  headers.set("accept", normalizeAccept(headers.get("accept") ?? "*/*"));
  const mediaTypes = names.map((name) => FORMATS[name].mediaType);
  const accepted = accepts({ headers }, ...mediaTypes);
  const found = names.find((name) => FORMATS[name].mediaType === accepted);
  if (found !== undefined) return found;
  throw new HttpProblem({
    status: 406,
    title: "No acceptable format",
    detail: `The accept header excludes all formats of ${resource}: ${mediaTypes.join(", ")}`,
    hint: `send another accept header, or request /${resource}.${FORMATS[names[0]!].extension}`,
  }, { vary: "accept" });
}

/**
 * Removes all parameters except `q` from media ranges, because `accepts()` would not match them.
 * Replaces `SERVICE_MEDIA_TYPE` with the media type of JSON.
 */
function normalizeAccept(accept: string): string {
  return accept.split(",").map((range) => {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim());
    const name = type.toLowerCase() === SERVICE_MEDIA_TYPE ? FORMATS.json.mediaType : type;
    return [name, ...parameters.filter((parameter) => /^q=/i.test(parameter))].join(";");
  }).join(", ");
}

/**
 * Rejects parameters that cannot be combined: `$skiptoken` with `bbox`, which would omit rows, and
 * `$count` with a parameter that would have no effect.
 */
function requireValidCombination(
  { query: { skipToken, within, limit }, count }: DownloadParameters,
  resource: ResourceName,
): void {
  if (skipToken !== undefined && within !== undefined && isMeasured(resource)) {
    throw new ValidationError("$skiptoken", "cannot be combined with bbox", {
      received: skipToken,
      hint: "omit one of them: with bbox, rows are ordered by location, not by Id",
    });
  }
  if (count && (limit !== undefined || skipToken !== undefined)) {
    const unused = limit !== undefined ? "limit" : "$skiptoken";
    throw new ValidationError(unused, "cannot be combined with $count", {
      received: limit ?? skipToken,
      hint: "omit it: $count is the number of all rows",
    });
  }
}

/** Lower bound for `$top`, because the service allows only two requests per second. */
const MIN_PAGE_ROWS = 1_000;

/**
 * Returns the number of rows per page: `$top`, or the resource's default. A low `$top` is raised to
 * `MIN_PAGE_ROWS`, or to `limit` if that is lower. The result is at most `maxPageRows`.
 */
function pageSize(
  resource: ResourceName,
  { top, limit = Infinity }: DownloadParameters["query"],
  maxPageRows: number,
): number {
  const wanted = top === undefined
    ? RESOURCES[resource].pageSize
    : Math.max(top, Math.min(MIN_PAGE_ROWS, limit));
  return Math.min(wanted, maxPageRows);
}
