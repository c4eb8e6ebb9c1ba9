import { accepts } from "@std/http/negotiation";
import { utf8Decoder, utf8Encoder } from "../../src/bytes.ts";
import type { DataStream } from "../../src/client/datastream.ts";
import type { AnyResourceQuery } from "../../src/client/query.ts";
import { DataStreamError, ValidationError } from "../../src/errors.ts";
import { type FormatName, FORMATS, formatsOf, unknownFormat } from "../../src/formats/formats.ts";
import { isMeasured, type ResourceName, RESOURCES } from "../../src/odata/resources.ts";
import { SERVICE_MEDIA_TYPE } from "../../src/service_constants.ts";
import type { AccessControl } from "./access.ts";
import type { IdentifyClient } from "../operation/clients.ts";
import { downloadHeaders } from "./headers.ts";
import { sendFeed, streamFeed } from "./response.ts";
import type { DatasetState, FeedPart, Feeds, FeedSource } from "./feeds.ts";
import type { RequestQueue } from "./queue.ts";
import { isNotModified, keyOfState, notModified, requestState, validatorsOf } from "./versions.ts";
import type { Exchange } from "../operation/request_log.ts";
import type { Settings } from "../options.ts";
import { HttpProblem, toServiceProblem } from "./problem.ts";
import { type DownloadParameters, readDownloadParameters } from "./parameters.ts";

export interface AppContext {
  settings: Settings;
  accessControl: AccessControl;
  /** Documents, counts and citations that are being fetched, or were fetched recently. */
  feeds: Feeds;
  requests: RequestQueue;
  identifyClient: IdentifyClient;
}

/** @throws {HttpProblem} 401 or 403 if the request may not use the service */
export async function authorize(
  exchange: Exchange,
  { accessControl, identifyClient, requests }: AppContext,
): Promise<DataStream> {
  const { dataStream, apiKey, credential } = await accessControl.authorize(exchange.request);
  exchange.client = await identifyClient(exchange, credential);
  return exchange.countRequests(dataStream, requests.limiterOf(exchange.client, apiKey));
}

/** Responds with rows or their number. Without `formatInPath`, the format is negotiated. */
export async function respondWithDownload(
  exchange: Exchange,
  resource: ResourceName,
  formatInPath: FormatName | undefined,
  context: AppContext,
): Promise<Response> {
  const { request } = exchange;
  const { settings, feeds, accessControl: { cacheControl } } = context;
  const dataStream = await authorize(exchange, context);
  const download = parseDownload(request, resource, formatInPath, dataStream, context);
  exchange.query = download.logged;
  const { headers, query, count } = download;
  const validators = (state: DatasetState | undefined) => validatorsOf(download, state, settings);
  const isConditional = request.method === "HEAD" || request.headers.has("if-none-match");
  const known = await findState(isConditional, exchange, dataStream, query, context);
  if (isConditional) {
    const complete: Record<string, string> = {
      ...headers,
      "cache-control": cacheControl(settings.cacheTtl),
      ...await validators(known?.state),
    };
    if (isNotModified(request, complete.etag)) return notModified(complete);
    // For HEAD, Hono calls this handler and drops the body, so the download must not start.
    if (request.method === "HEAD") return new Response(null, { headers: complete });
  }
  const source = count
    ? countSource(dataStream, download, exchange)
    : documentSource(dataStream, download, exchange);
  const key = keyOf(download.document, exchange, settings);
  const reader = feeds.open(key, source, exchange.client);
  return await (count ? sendFeed : streamFeed)({
    reader,
    exchange,
    settings,
    task: `Download of ${resource}`,
    headers: async () => ({
      ...headers,
      "cache-control": cacheControl(reader.remainingTtl),
      ...await validators(settings.access === "caller" ? undefined : reader.stateOf(known)),
    }),
  });
}

interface Download extends DownloadParameters {
  resource: ResourceName;
  format: FormatName;
  options: AnyResourceQuery;
  document: unknown;
  /** Headers that depend neither on the rows nor on the datasets. */
  headers: Record<string, string>;
}

/** @throws {HttpProblem} 406 if `accept` excludes every format */
function parseDownload(
  request: Request,
  resource: ResourceName,
  formatInPath: FormatName | undefined,
  dataStream: DataStream,
  { settings: { maxRows, pageRows, synthetic }, accessControl }: AppContext,
): Download {
  const url = new URL(request.url);
  const parameters = readDownloadParameters(url, accessControl.parameters, formatInPath);
  const format = formatInPath ?? negotiateFormat(request, resource, parameters.format);
  requireValidCombination(parameters, resource);
  const { query, csv, count } = parameters;
  const options: AnyResourceQuery = {
    ...query,
    top: pageSize(resource, query, pageRows),
    maxRows,
    // A skip token is an Id, so rows must be in the order of Ids. Rows of a split query are not.
    ...(isMeasured(resource) && query.skipToken !== undefined && { partition: "never" }),
  };
  const checked = dataStream.query(resource, options);
  checked.batches({ format, csv }); // throws if an option is invalid
  const isNegotiated = formatInPath === undefined;
  const headers = downloadHeaders(resource, format, parameters, {
    synthetic,
    isNegotiated,
    accessControl,
  });
  const document = [checked.url, options, count || [format, csv]];
  return { ...parameters, resource, format, options, document, headers };
}

/** Callers with different API keys can get different rows. */
export function keyOf(document: unknown, { client }: Exchange, { access }: Settings): string {
  return JSON.stringify([document, access === "caller" && client]);
}

function documentSource(
  dataStream: DataStream,
  { resource, format, csv, query, options }: Download,
  exchange: Exchange,
): FeedSource {
  // A reader that has rows must not fail because a page waits for its turn.
  const patient = dataStream.with({ maxWait: undefined });
  return {
    start(after, stop) {
      const signal = AbortSignal.any([exchange.silence, stop]);
      const rows = (after === undefined ? dataStream : patient)
        .query(resource, { ...options, signal });
      return rows.batches({ format, csv, after, parts: true })[Symbol.asyncIterator]();
    },
    requestState: (signal) => requestState(patient, query, signal),
    responseDate: () => exchange.responseDate,
    // With a limit, fewer rows may be left than the next page would have.
    readsAhead: query.limit === undefined,
    waitUntil: exchange.waitUntil,
  };
}

function countSource(
  dataStream: DataStream,
  { resource, options }: Download,
  exchange: Exchange,
): FeedSource {
  return valueSource(exchange, async (signal) => {
    const count = await dataStream.query(resource, { ...options, signal }).count();
    return { text: `${JSON.stringify({ count })}\n`, rows: 0 };
  });
}

/** Creates a source whose document is one part. */
export function valueSource(
  exchange: Exchange,
  request: (signal: AbortSignal) => Promise<{ text: string; rows: number }>,
): FeedSource {
  return {
    async *start(_, stop): AsyncGenerator<FeedPart> {
      const { text, rows } = await request(AbortSignal.any([exchange.silence, stop]));
      const data = utf8Encoder.encode(text);
      yield { data, rows, isPageEnd: true, hasMore: false, isLast: true };
    },
    waitUntil: exchange.waitUntil,
  };
}

/** Timeout (ms) of a request for the state of datasets that a client waits for. It is not retried. */
const STATE_TIMEOUT = 10_000;

/** `undefined` if unknown, or with `caller` access, whose responses must not be stored. */
async function findState(
  mayRequest: boolean,
  exchange: Exchange,
  dataStream: DataStream,
  query: DownloadParameters["query"],
  { settings, feeds }: AppContext,
): Promise<{ state: DatasetState; at: number } | undefined> {
  if (settings.access === "caller") return undefined;
  const key = keyOfState(query);
  const found = feeds.find(key);
  if (found !== undefined) return { state: parseState(found.part), at: found.at };
  if (!mayRequest) return undefined;
  const client = dataStream.with({
    retry: { attempts: 1 },
    timeouts: { headers: STATE_TIMEOUT, bytes: STATE_TIMEOUT },
  });
  const source = valueSource(exchange, async (signal) => ({
    text: JSON.stringify(await requestState(client, query, signal)),
    rows: 0,
  }));
  const reader = feeds.open(key, source, exchange.client);
  const { request: { signal } } = exchange;
  try {
    const part = await reader.read(signal);
    return { state: parseState(part!), at: settings.clock.now() };
  } catch (error) {
    signal.throwIfAborted();
    const task = "Request for the versions of the datasets";
    if (isFinal(error)) throw toServiceProblem(error, task, settings, exchange);
    exchange.logFailure(`${task} failed`, error);
    return undefined;
  } finally {
    reader.close();
  }
}

function parseState({ data }: FeedPart): DatasetState {
  return JSON.parse(utf8Decoder.decode(data));
}

function isFinal(error: unknown): boolean {
  return !(error instanceof DataStreamError) || error.status === 401 || error.status === 403 ||
    error.kind === "rate-limit";
}

/** `$format`, else the `accept` header (OData 4.01 Part 1, 11.2.12; RFC 9110, 12.5.1). */
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

/** Removes all parameters except `q`, because `accepts()` would not match them. */
function normalizeAccept(accept: string): string {
  return accept.split(",").map((range) => {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim());
    const name = type.toLowerCase() === SERVICE_MEDIA_TYPE ? FORMATS.json.mediaType : type;
    return [name, ...parameters.filter((parameter) => /^q=/i.test(parameter))].join(";");
  }).join(", ");
}

/** `$skiptoken` with `bbox` would omit rows. `$count` excludes parameters without effect. */
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

/** Raises a low `$top` to `MIN_PAGE_ROWS`, or to `limit` if that is lower. */
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
