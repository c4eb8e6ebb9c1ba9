import { type Bytes, utf8Decoder, utf8Encoder } from "../../src/bytes.ts";
import type { DataStream } from "../../src/client/datastream.ts";
import type { AnyResourceQuery, Batches } from "../../src/client/query.ts";
import { requestDatasets } from "../../src/client/dataset_versions.ts";
import { DataStreamError, ValidationError } from "../../src/errors.ts";
import { type FileFormat, FORMATS } from "../../src/formats/formats.ts";
import { loadFormat } from "../../src/formats/load_format.ts";
import { toWiderMetadataFilter } from "../../src/odata/query_options.ts";
import { isMeasured, type ResourceName, RESOURCES } from "../../src/odata/resources.ts";
import type { AccessControl } from "../http/access.ts";
import { downloadHeaders, negotiateFormat, toFileName } from "./headers.ts";
import type {
  CompleteDocument,
  DatasetState,
  FeedPart,
  Feeds,
  FeedSource,
  KnownState,
  Reader,
} from "./feeds.ts";
import type { RequestQueue } from "../http/queue.ts";
import { refusalOf, type Representation, selectBytes, type Selection } from "../http/ranges.ts";
import { keyOfState, notModified, requestState, strongTag, validatorsOf } from "./versions.ts";
import type { RequestOutcome } from "../http/metrics.ts";
import type { Exchange } from "../http/exchange.ts";
import { MIN_PAGE_ROWS, type Settings, withoutSecretPath } from "../http/options.ts";
import { type HttpProblem, noServerKey, toServiceProblem } from "../http/problem.ts";
import {
  type DocumentOptions,
  type DownloadParameters,
  type ParameterName,
  readDownloadParameters,
  readParameters,
} from "../http/parameters.ts";

export interface AppContext {
  settings: Settings;
  accessControl: AccessControl;
  /** Documents, counts and citations that are being fetched, or were fetched recently. */
  feeds: Feeds;
  requests: RequestQueue;
}

export async function authorize(
  exchange: Exchange,
  { accessControl, requests }: AppContext,
): Promise<DataStream> {
  const { dataStream, apiKey } = await accessControl.authorize(exchange);
  if (apiKey === undefined) throw noServerKey();
  return exchange.upstream.count(
    dataStream,
    requests.limiterOf(exchange.client, apiKey, exchange.turn),
  );
}

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

/** Callers with different API keys can get different rows. */
export function keyOf(document: unknown, { client }: Exchange, { access }: Settings): string {
  return JSON.stringify([document, access === "caller" && client]);
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

function valueSource(
  exchange: Exchange,
  request: (signal: AbortSignal) => Promise<DocumentContent>,
  expectedLength?: number,
): FeedSource {
  return {
    expectedLength,
    async *start(_, stop): AsyncGenerator<FeedPart> {
      const { content, rows } = await request(
        AbortSignal.any([exchange.upstream.silence.signal, stop]),
      );
      const data = typeof content === "string" ? utf8Encoder.encode(content) : content;
      yield { data, rows, isPageEnd: true, hasMore: false, isLast: true };
    },
    service: exchange.upstream.service,
    waitUntil: exchange.waitUntil,
  };
}

/** Conditions that compare versions or their times. */
const VERSION_CONDITIONS = ["if-none-match", "if-modified-since", "if-unmodified-since"];
const CONDITIONS = [...VERSION_CONDITIONS, "if-match"];

function hasCondition({ headers }: Request, names = CONDITIONS): boolean {
  return names.some((name) => headers.has(name));
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

interface DocumentContent {
  content: string | Bytes;
  rows: number;
}

/** A document that is computed as a whole, such as citations. */
interface TextDocument {
  mediaType: string;
  /** Default false: text in UTF-8. */
  isBinary?: boolean | undefined;
  /** JSON value that identifies the document. */
  id: unknown;
  /** What the problem of a failure names. */
  task: string;
  request(signal: AbortSignal): Promise<DocumentContent>;
}

/** Responds with a document of some parameters; `prepare` throws if an option is invalid. */
export async function respondWithText(
  exchange: Exchange,
  context: AppContext,
  names: readonly ParameterName[],
  prepare: (dataStream: DataStream, options: DocumentOptions) => TextDocument,
): Promise<Response> {
  const dataStream = await authorize(exchange, context);
  const url = new URL(exchange.request.url);
  const { options, logged } = readParameters(url, names, context.accessControl.parameters);
  const document = prepare(dataStream, options);
  exchange.facts.query = logged;
  return await sendDocument(exchange, context, document);
}

/** Sends a document that concurrent and later requests share. */
export async function sendDocument(
  exchange: Exchange,
  context: AppContext,
  { mediaType, isBinary, id, task, request }: TextDocument,
): Promise<Response> {
  const { vary } = context.accessControl;
  const type = isBinary ? mediaType : `${mediaType}; charset=utf-8`;
  const headers = { "content-type": type, ...(vary && { vary }) };
  const source = valueSource(exchange, request);
  return await respondWithDocument(exchange, context, { id, source, task, headers });
}

interface StreamedDocument extends Pick<TextDocument, "id" | "task"> {
  source: FeedSource;
  /** Headers except those that depend on the rows or the datasets. */
  headers: Record<string, string>;
  /** Returns the state of the datasets, if it is known before the rows or may be requested. */
  findState?: (mayRequest: boolean) => Promise<KnownState | undefined>;
  validators?: (state: DatasetState | undefined) => Promise<Omit<Representation, "size">>;
  /** Whether its readers need its length, so that it is fetched for HEAD if it is small. Default false. */
  needsLength?: boolean;
}

/** An error before the first part is an HTTP status; a later one aborts the transfer. */
async function respondWithDocument(
  exchange: Exchange,
  context: AppContext,
  document: StreamedDocument,
): Promise<Response> {
  const { request, client } = exchange;
  const { signal } = request;
  const { feeds, settings } = context;
  const { source, task } = document;
  const key = keyOf(document.id, exchange, settings);
  const known = await document.findState?.(needsState(request, document, feeds.findComplete(key)));
  const early = await selectEarly(request, context, document, key, known);
  const earlyResponse = early && withoutRows(request, early);
  if (earlyResponse !== undefined) return earlyResponse;
  const reader = feeds.open(key, source, client);
  // The listener also closes the reader if workerd runs no `finally`.
  const close = () => reader.close();
  signal.addEventListener("abort", close);
  try {
    const { feed } = reader;
    let first: FeedPart | undefined;
    if (request.method === "HEAD") await fetchIfSmall(reader, signal);
    else if (feed.toDocument() === undefined) first = await reader.read(signal);
    const complete = first === undefined ? feed.toDocument(known) : undefined;
    const at = { startedAt: feed.startedAt, state: feed.stateOf(known) };
    const selection = await select(request, context, document, complete ?? at);
    signal.throwIfAborted();
    const response = withoutRows(request, selection);
    if (response !== undefined) {
      close();
      return response;
    }
    const { status, start, end, headers } = selection;
    const range = status === 206 ? { taken: reader.seek(start), left: end - start } : undefined;
    first ??= await reader.read(signal);
    exchange.isStream = true;
    const body = createBody(first, reader, exchange, settings, task, range);
    return new Response(body, { status, headers });
  } catch (error) {
    close();
    throw toServiceProblem(error, task, settings, exchange);
  } finally {
    // Deno aborts the signal of each request after its response, also when the client reads it all.
    signal.removeEventListener("abort", close);
  }
}

/** Whether the response needs the state of the datasets before the rows, or without them. */
function needsState(
  request: Request,
  { source: { isStateFirst }, needsLength }: StreamedDocument,
  complete: CompleteDocument | undefined,
): boolean {
  if (hasCondition(request, VERSION_CONDITIONS)) return complete?.state === undefined;
  const isFetched = needsLength && isStateFirst;
  return request.method === "HEAD" && complete === undefined && !isFetched;
}

/** Selects by what is known before the rows. `undefined` if the response needs them. */
async function selectEarly(
  request: Request,
  context: AppContext,
  document: StreamedDocument,
  key: string,
  known: KnownState | undefined,
): Promise<DocumentSelection | undefined> {
  if (request.method !== "HEAD" && !hasCondition(request)) return undefined;
  const complete = context.feeds.findComplete(key, known);
  const current = { startedAt: known?.at, state: known?.state };
  const selection = await select(request, context, document, current);
  // A state that was requested after the rows is not theirs, but tells whether the client has the current version.
  if (complete?.state === undefined && selection.status === 304) return selection;
  if (complete !== undefined) return await select(request, context, document, complete);
  return request.method === "HEAD" && document.needsLength ? undefined : selection;
}

/** How to respond with a document, with all headers; `problem` has those of its own. */
type DocumentSelection = Selection & { problem?: HttpProblem | undefined };

/** Evaluates the conditions and the range of a request by what is known about a document. */
async function select(
  request: Request,
  { feeds, accessControl: { cacheControl } }: AppContext,
  { headers: given, validators }: StreamedDocument,
  { startedAt, state, bytes: size, hash }:
    & Pick<CompleteDocument, "startedAt" | "state">
    & Partial<CompleteDocument>,
): Promise<DocumentSelection> {
  const validated = await validators?.(state);
  // Without a strong tag, a client could not tell whether two ranges are of the same bytes.
  const strong = hash !== undefined && { size, etag: strongTag(hash, validated?.etag) };
  const selection = selectBytes(request, { ...validated, ...strong });
  const hint = "repeat the request without if-match and if-unmodified-since";
  return {
    ...selection,
    headers: {
      ...given,
      "cache-control": cacheControl(feeds.remainingTtl(startedAt)),
      ...selection.headers,
    },
    problem: refusalOf(selection, "The document", size, hint),
  };
}

/** Returns the response to HEAD, or if a condition or the range excludes all bytes. */
function withoutRows(
  { method }: Request,
  { status, headers, problem }: DocumentSelection,
): Response | undefined {
  if (problem !== undefined) throw problem;
  if (status === 304) return notModified(headers);
  return method === "HEAD" ? new Response(null, { headers }) : undefined;
}

/** Maximum number of rows of a document that is fetched for HEAD. */
const MAX_FETCHED_ROWS = 100_000;

/** Fetches a document, unless it has too many rows, or its first rows would be too old before its last ones arrive. */
async function fetchIfSmall(reader: Reader, signal: AbortSignal): Promise<void> {
  let rows = 0;
  for (;;) {
    const part = await reader.read(signal);
    rows += part?.rows ?? 0;
    const isLarge = Math.max(rows, part?.expectedRows ?? 0) > MAX_FETCHED_ROWS;
    if (part === undefined || isLarge || reader.remainingTtl === 0) return;
  }
}

/** Bytes. Small chunks show that a slow client still reads, so it is not disconnected. */
const MAX_CHUNK = 65_536;

/** A part of a document or of a file. */
type SentPart = Pick<FeedPart, "data" | "rows"> & Partial<FeedPart>;

/** What one client reads. */
export interface PartSource
  extends Pick<Reader, "close" | "error" | "onHeartbeat">, Partial<Pick<Reader, "check">> {
  read(): Promise<SentPart | undefined>;
}

/** Bytes to send. */
interface SentRange {
  /** Number of bytes of the current part that were passed to the runtime, or are before the range. */
  taken: number;
  /** Number of bytes that are not sent yet. */
  left: number;
}

/** Sends a part, and reads the next one when the client has read the last one. By default, it sends them all. */
export function createBody(
  part: SentPart | undefined,
  reader: PartSource,
  exchange: Exchange,
  { clock, readerTimeout }: Settings,
  task: string,
  { taken, left }: SentRange = { taken: 0, left: Infinity },
): ReadableStream<Bytes> {
  /** Since when a chunk waits for the client. */
  let idleSince: number | undefined = clock.now();
  const end = (outcome: RequestOutcome) => {
    reader.close();
    exchange.end(outcome);
  };
  const disconnect = (error: Error) => {
    exchange.log.logMessage(`${task} was interrupted: ${error.message}`, "warn");
    end("disconnected");
  };
  return new ReadableStream<Bytes>({
    start(controller) {
      reader.onHeartbeat = () => {
        if (idleSince === undefined) return;
        const error = idleError(clock.now() - idleSince, readerTimeout) ?? reader.error;
        if (error === undefined) return;
        controller.error(exchange.log.createBodyError());
        disconnect(error);
      };
    },
    async pull(controller) {
      idleSince = undefined;
      try {
        reader.check?.();
        while (left > 0 && (part === undefined || taken === part.data.length)) {
          if (part?.data.length === 0) recordPart(part, exchange, task);
          part = undefined; // frees its memory while the next one arrives
          [part, taken] = [await reader.read(), 0];
          if (part === undefined) left = 0;
        }
      } catch (error) {
        if (error === reader.error) disconnect(error as Error);
        else {
          exchange.log.logFailure(`${task} failed after its first rows`, error);
          end("failed");
        }
        throw exchange.log.createBodyError();
      }
      if (part === undefined || left === 0) {
        controller.close();
        return end("complete");
      }
      // A copy, because the runtime keeps the whole part in memory while it sends a view of it.
      const chunk = part.data.slice(taken, taken + Math.min(MAX_CHUNK, left));
      taken += chunk.length;
      left -= chunk.length;
      // The rows of a part count when its last byte is sent, also in a range.
      if (taken === part.data.length) recordPart(part, exchange, task);
      exchange.facts.bytes += chunk.length;
      controller.enqueue(chunk);
      idleSince = clock.now();
    },
    cancel: () => end("aborted"),
  }, { highWaterMark: 0 });
}

/** Adds a part to the facts of the request, and logs how a complete document differs from the count of the service. */
function recordPart(part: SentPart, { facts, log }: Exchange, task: string): void {
  facts.rows += part.rows;
  facts.notes = part.notes ?? facts.notes;
  const { missingRows = 0, surplusRows = 0 } = part.isLast ? part : {};
  if (missingRows + surplusRows === 0) return;
  log.logMessage(`${task}: ${missingRows} rows missing, ${surplusRows} not counted`, "warn");
}

/** Error for a client that has read nothing for a time (ms); `undefined` if it may still read. */
function idleError(idle: number, readerTimeout: number): Error | undefined {
  if (idle < readerTimeout) return undefined;
  return new Error(`the client read nothing for ${Math.round(readerTimeout / 1000)} s`);
}
