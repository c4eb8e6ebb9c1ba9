// What the client does, in the public names alone: bundled as it is, it runs in every runtime, which
// has its own fetch, its own streams and its own errors. What comes of it is held to `cases.ts`.
import {
  and,
  DataStream,
  type DataStreamOptions,
  endpoint,
  eq,
  gte,
  toRequest,
} from "../../../mod.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import { digestsOf, drain, reportFault } from "./report.ts";

/** Where a service tells that the reader of an answer has left, as soon as it has. */
export const LEFT = "/left";
/** Path at which a service that resets connections lists the requests that it received. */
export const RECEIVED = "/received";
/** The key of the tests, which nobody but the service may see. */
export const KEY = "k3y-of-a-test";

const clientOf = (baseUrl: string, options: DataStreamOptions = {}) =>
  new DataStream({ baseUrl, apiKey: KEY, requestsPerSecond: Infinity, ...options });

/** Sixty rows on three pages. */
const ask = (baseUrl: string, options?: DataStreamOptions, signal?: AbortSignal) =>
  clientOf(baseUrl, options).locations({ select: ["Id"], top: 20, signal });

/** A pause of a few milliseconds, and so many attempts. */
const retry = (attempts: number) => ({ retry: { attempts, backoff: 5 } });

/** What comes of a fault that no second attempt would help. */
const readInVain = (baseUrl: string) => reportFault(() => ask(baseUrl).toArray(), baseUrl, KEY);

/** The rows that come in spite of a fault. */
const readAgain = async (baseUrl: string) =>
  (await ask(baseUrl, retry(2)).toArray()).map(({ Id }) => Id);

/** Reads with a clock of its own: what was waited for, and whether it was waited for. */
async function readWaiting(baseUrl: string): Promise<unknown> {
  const clock = new FakeClock();
  const starts: number[] = [];
  const told: [status: number | undefined, wait: number][] = [];
  const fetch = (request: Request) => {
    starts.push(clock.now());
    return clock.standStill(readWhole(request));
  };
  const rows = await clientOf(baseUrl, { clock, fetch }).locations({
    select: ["Id"],
    onProgress: ({ retrying }) => {
      if (retrying) told.push([retrying.fault.status, retrying.wait]);
    },
  }).toArray();
  const waits = told.map(([, wait], index) => starts[index + 1]! - starts[index]! - wait);
  return {
    rows: rows.length,
    told: told.map(([status, wait]) => [status, Math.ceil(wait / 1000)]),
    // The clock may move on by a look or two of the watch over a request.
    waited: waits.every((more) => more >= 0 && more < 5_000),
  };
}

async function readWhole(request: Request): Promise<Response> {
  const response = await fetch(request);
  return new Response(await response.arrayBuffer(), response);
}

/** A fetch that tells when the headers of so many answers have come. */
function tellOf(answers: number): { fetch: typeof fetch; came: Promise<void> } {
  let tell = () => {};
  const came = new Promise<void>((resolve) => tell = resolve);
  const send = async (request: Request | URL | string) => {
    const response = await fetch(request);
    if (--answers === 0) tell();
    return response;
  };
  return { fetch: send, came };
}

/** Whether the service sees, while this runtime goes on, that the reader of an answer has left. */
const isLeft = async (baseUrl: string) => (await fetch(new URL(LEFT, baseUrl))).ok;

/**
 * Reads three pages from a service that resets reused connections, at five requests a second.
 *
 * @returns The number of requests that the client did not count, and of those that arrived too soon
 */
async function readOverResets(baseUrl: string): Promise<unknown> {
  let counted = 0;
  const rows = await clientOf(baseUrl, { ...retry(2), requestsPerSecond: 5 }).locations({
    select: ["Id"],
    top: 25,
    onProgress: ({ requests }) => void (counted = requests),
  }).toArray();
  const response = await fetch(new URL(RECEIVED, baseUrl));
  const received: { time: number }[] = await response.json();
  const gaps = received.slice(1).map(({ time }, index) => time - received[index]!.time);
  return {
    rows: rows.length,
    uncounted: received.length - counted,
    tooSoon: gaps.filter((gap) => gap < 150).length,
  };
}

/** Each by the root address of a service of its own; what it gives can stand in JSON. */
export const BEHAVIOURS = {
  "endpoint() builds request options": (baseUrl: string) => {
    const own = endpoint.defaults({
      baseUrl: "https://own.example/api",
      headers: { "X-Own": "1" },
    });
    return Promise.resolve([
      endpoint("GET /Records", { $filter: "DOI eq '10.1/é b'", $top: 5, none: undefined }),
      own("POST /Locations/{id}{?tags*}", { id: "a/b", tags: ["x", "y"], note: { deep: [1] } }),
      endpoint(`GET ${baseUrl}/:name`, { name: "Métadonnées", mediaType: { format: "raw" } }),
    ]);
  },

  "toRequest() sends what endpoint() built": async (baseUrl) => {
    const options = { baseUrl, headers: { "x-api-key": KEY }, $top: 3, $select: "Id" };
    const response = await fetch(toRequest(endpoint("GET /Locations", options)));
    const { value } = await response.json();
    return { status: response.status, value };
  },

  "rows come from every page, once and in order": async (baseUrl) => {
    const query = clientOf(baseUrl).observations({ select: ["Id"], top: 100 });
    const looped: number[] = [];
    for await (const { Id } of query) looped.push(Id);
    const streamed = (await drain(query.rows())).map(({ Id }) => Id);
    const pages = (await drain(query.pages())).map((rows) => rows.length);
    return { looped, same: looped.join() === streamed.join(), pages };
  },

  "CSV, NDJSON and JSON have the same bytes": (baseUrl) =>
    digestsOf(clientOf(baseUrl).records({ top: 100 })),

  "filter and select reach the service": (baseUrl) =>
    clientOf(baseUrl).observations({
      select: ["Id", "CharacteristicName", "ActivityStartDate", "ResultValue"],
      filter: and(eq("CharacteristicName", "pH"), gte("ActivityStartYear", 2020)),
    }).toArray(),

  "limit takes no more than it needs": async (baseUrl) => {
    const rows = await clientOf(baseUrl).locations({ select: ["Id"], top: 10, limit: 25 })
      .toArray();
    return rows.map(({ Id }) => Id);
  },

  "count() is one request": (baseUrl) => ask(baseUrl).count(),

  "a 429 is waited for as it says": readWaiting,
  "a 504 is tried again after a pause": readWaiting,

  "an error of the service does not show the key": readInVain,

  "an error of the network does not show the key": (baseUrl) =>
    reportFault(() => ask(baseUrl, retry(1)).toArray(), baseUrl, KEY),

  "a signal stops a page in flight, with its own reason": async (baseUrl) => {
    const { fetch, came } = tellOf(2);
    const stop = new AbortController();
    const reason = new Error("enough");
    const reader = ask(baseUrl, { fetch }, stop.signal).pages().getReader();
    const { value } = await reader.read();
    const next = reader.read();
    await came;
    stop.abort(reason);
    const isReason = await next.catch((error) => error === reason);
    return { rows: value?.length, isReason, isLeft: await isLeft(baseUrl) };
  },

  "a loop that is left asks for nothing more": async (baseUrl) => {
    for await (const { Id } of ask(baseUrl)) return Id;
  },

  "an iterator that is left stops the page in flight": async (baseUrl) => {
    const { fetch, came } = tellOf(2);
    const rows = ask(baseUrl, { fetch })[Symbol.asyncIterator]();
    for (let row = 0; row < 20; row++) await rows.next();
    const next = rows.next();
    await came;
    await rows.return?.();
    return { ...await next, isLeft: await isLeft(baseUrl) };
  },

  "a link to another origin is not followed": readInVain,

  "a redirect to another origin is not followed": (baseUrl) =>
    reportFault(() => ask(baseUrl).toArray(), baseUrl, KEY, ["status"]),

  "a page that ends early is asked for again": readAgain,

  "a page whose connection is cut is asked for again": readAgain,

  "a page that always ends early is an error": async (baseUrl) => {
    const reader = ask(baseUrl, retry(2)).csv().getReader();
    const first = await reader.read();
    const lines = new TextDecoder().decode(first.value).split("\r\n").length - 2;
    return { lines, ...await reportFault(() => reader.read(), baseUrl, KEY) };
  },

  "a page that is always cut is an error": async (baseUrl) => {
    const reader = ask(baseUrl, retry(2)).pages().getReader();
    const rows = (await reader.read()).value?.length;
    return { rows, ...await reportFault(() => reader.read(), baseUrl, KEY) };
  },

  "Progress.requests counts each request when the service resets connections": readOverResets,
} satisfies Record<string, (baseUrl: string) => Promise<unknown>>;

/** What a behaviour is called. */
export type BehaviourName = keyof typeof BEHAVIOURS;
