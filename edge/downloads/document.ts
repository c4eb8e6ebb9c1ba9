// Responds with documents whose bytes several requests share: conditions, ranges and HEAD.
import { type Bytes, utf8Encoder } from "../../src/bytes.ts";
import type { DataStream } from "../../src/client/datastream.ts";
import type { AccessControl } from "../http/access.ts";
import type {
  CompleteDocument,
  DatasetState,
  FeedPart,
  FeedSource,
  KnownState,
  Reader,
} from "./feed.ts";
import type { Feeds } from "./feeds.ts";
import type { RequestQueue } from "../http/queue.ts";
import { refusalOf, type Representation, selectBytes, type Selection } from "../http/ranges.ts";
import { notModified, strongTag } from "./versions.ts";
import type { Exchange } from "../http/exchange.ts";
import type { Settings } from "../http/options.ts";
import { type HttpProblem, noServerKey, toServiceProblem } from "../http/problem.ts";
import { type DocumentOptions, type ParameterName, readParameters } from "../http/parameters.ts";
import { createBody } from "./body.ts";

/** What all routes share. */
export interface AppContext {
  settings: Settings;
  accessControl: AccessControl;
  /** Documents, counts and citations that are being fetched, or were fetched recently. */
  feeds: Feeds;
  requests: RequestQueue;
}

/** Returns the client of a request that may download. Its requests are counted, and take turns with those of others. */
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

/** Callers with different API keys can get different rows. */
export function keyOf(document: unknown, { client }: Exchange, { access }: Settings): string {
  return JSON.stringify([document, access === "caller" && client]);
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
export async function respondWithDocument(
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

export function valueSource(
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
