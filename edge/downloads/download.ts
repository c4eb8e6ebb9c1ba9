// Downloads: rows or their number, in a format.
import { type Bytes, utf8Decoder } from "../../src/bytes.ts";
import type { DataStream } from "../../src/client/datastream.ts";
import type { AnyResourceQuery, Batches } from "../../src/client/query.ts";
import { requestDatasets } from "../../src/client/dataset_versions.ts";
import { DataStreamError, ValidationError } from "../../src/errors.ts";
import { type FileFormat, FORMATS } from "../../src/formats/formats.ts";
import { loadFormat } from "../../src/formats/load_format.ts";
import { toWiderMetadataFilter } from "../../src/odata/query_options.ts";
import { isMeasured, type ResourceName, RESOURCES } from "../../src/odata/resources.ts";
import { downloadHeaders, negotiateFormat, toFileName } from "./headers.ts";
import type { DatasetState, FeedPart, FeedSource, KnownState } from "./feed.ts";
import type { Feeds } from "./feeds.ts";
import { keyOfState, requestState, validatorsOf } from "./versions.ts";
import type { Exchange } from "../http/exchange.ts";
import { MIN_PAGE_ROWS, withoutSecretPath } from "../http/options.ts";
import { toServiceProblem } from "../http/problem.ts";
import { type DownloadParameters, readDownloadParameters } from "../http/parameters.ts";
import { type AppContext, authorize, respondWithDocument, valueSource } from "./document.ts";

/** Responds with rows or their number. Without `formatInPath`, the format is negotiated. */
export async function respondWithDownload(
  exchange: Exchange,
  resource: ResourceName,
  formatInPath: FileFormat | undefined,
  context: AppContext,
): Promise<Response> {
  const { request } = exchange;
  const dataStream = await authorize(exchange, context);
  const download = await parseDownload(request, resource, formatInPath, dataStream, context);
  exchange.facts.query = download.logged;
  const { headers, query, count, format, document } = download;
  return await respondWithDocument(exchange, context, {
    id: document,
    source: sourceOf(dataStream, download, exchange, context.feeds),
    task: `Download of ${resource}`,
    headers,
    findState: (mayRequest) => findState(mayRequest, exchange, dataStream, query, context),
    validators: (state) => validatorsOf(document, state, context.settings),
    needsLength: !count && FORMATS[format].needsLength === true,
  });
}

interface Download extends DownloadParameters {
  fileName: string;
  resource: ResourceName;
  format: FileFormat;
  batches: Batches<Bytes>;
  /** URL of its first request to the service. */
  queryUrl: string;
  options: AnyResourceQuery;
  /** Everything that determines the bytes, except the datasets. */
  document: unknown;
  /** Headers that depend neither on the rows nor on the datasets. */
  headers: Record<string, string>;
}

export async function parseDownload(
  request: Request,
  resource: ResourceName,
  formatInPath: FileFormat | undefined,
  dataStream: DataStream,
  { settings, accessControl }: AppContext,
): Promise<Download> {
  const { maxRows, pageRows, synthetic } = settings;
  const url = new URL(request.url);
  const given = readDownloadParameters(url, accessControl.parameters, formatInPath);
  const format = formatInPath ?? negotiateFormat(request, resource, given.format);
  const { fileName: wanted = resource.toLowerCase() } = given;
  const parameters = { ...given, fileName: toFileName(wanted, format, synthetic) };
  requireValidCombination(parameters, resource);
  const { query, csv, count, allowInvalid, language } = parameters;
  const options: AnyResourceQuery = {
    ...query,
    top: pageSize(resource, query, pageRows),
    maxRows,
    // A skip token is an Id, so rows must be in the order of Ids. Rows of a split query are not.
    ...(isMeasured(resource) && query.skipToken !== undefined && { partition: "never" }),
  };
  const checked = dataStream.query(resource, options);
  const queryUrl = withoutSecretPath(checked.url, settings);
  const loaded = await loadFormat(format, {
    allowInvalid,
    language,
    url: queryUrl,
    time: new Date(settings.now()),
    async describe({ notes, ...facts }) {
      const { embeddedPackage } = await import("../../src/formats/data_package.ts");
      const { tidy } = query;
      // A request, which the other formats do not need.
      const citations = FORMATS[format].hasCitations
        ? await requestDatasets(dataStream, toWiderMetadataFilter(query))
        : undefined;
      const described = { resource, format, tidy, url: queryUrl, citations, language };
      return embeddedPackage({ ...described, ...facts, more: { notes, query: given.logged } });
    },
  });
  const batches = checked.batches({ format: loaded, csv, parts: true });
  const isNegotiated = formatInPath === undefined;
  const headers = downloadHeaders(
    url,
    resource,
    format,
    parameters,
    isNegotiated,
    accessControl,
  );
  const { top: _, ...rows } = query; // the page size does not change the rows
  const document = { resource, ...rows, allowInvalid, language, format: count || [format, csv] };
  return { ...parameters, resource, format, batches, queryUrl, options, document, headers };
}

/** Bytes of a long row; most records take 300 as CSV. */
const MAX_ROW_LENGTH = 1_000;

function sourceOf(
  dataStream: DataStream,
  { resource, format, batches, query, options, count }: Download,
  exchange: Exchange,
  feeds: Feeds,
): FeedSource {
  if (count) {
    return valueSource(exchange, async (signal) => {
      const count = await dataStream.query(resource, { ...options, signal }).count();
      return { content: `${JSON.stringify({ count })}\n`, rows: 0 };
    }, MAX_ROW_LENGTH);
  }
  // A reader that has rows must not fail because a page waits for its turn.
  const patient = dataStream.with({ maxWait: undefined });
  return {
    start(after, stop) {
      const signal = AbortSignal.any([exchange.upstream.silence.signal, stop]);
      return batches.with({ after, signal })[Symbol.asyncIterator]();
    },
    requestState: (signal, isFirst) =>
      requestState(isFirst ? dataStream : patient, query, signal, feeds),
    isStateFirst: FORMATS[format].writesLate,
    responseDate: () => exchange.upstream.responseDate,
    onPageEnd: () => exchange.turn.since = undefined,
    // With a limit, fewer rows may be left than the next page would have.
    readsAhead: query.limit === undefined,
    format,
    expectedLength: query.limit && MAX_ROW_LENGTH * query.limit,
    service: exchange.upstream.service,
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
): Promise<KnownState | undefined> {
  if (settings.access === "caller") return undefined;
  const key = keyOfState(query);
  const found = feeds.findComplete(key);
  if (found !== undefined) return { state: parseState(found.parts[0]), at: found.at };
  if (!mayRequest) return undefined;
  const client = dataStream.with({
    retry: { attempts: 1 },
    timeouts: { headers: STATE_TIMEOUT, bytes: STATE_TIMEOUT },
  });
  const source = valueSource(exchange, async (signal) => ({
    content: JSON.stringify(await requestState(client, query, signal, feeds)),
    rows: 0,
  }));
  const reader = feeds.open(key, source, exchange.client);
  const { request: { signal } } = exchange;
  try {
    return { state: parseState(await reader.read(signal)), at: settings.clock.now() };
  } catch (error) {
    signal.throwIfAborted();
    const task = "Request for the versions of the datasets";
    if (isFinal(error)) throw toServiceProblem(error, task, settings, exchange);
    exchange.log.logFailure(`${task} failed`, error);
    return undefined;
  } finally {
    reader.close();
  }
}

function parseState(part: FeedPart | undefined): DatasetState {
  return JSON.parse(utf8Decoder.decode(part!.data));
}

function isFinal(error: unknown): boolean {
  return !(error instanceof DataStreamError) ||
    error.kind === "status" && (error.status === 401 || error.status === 403) ||
    error.kind === "rate-limit";
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
