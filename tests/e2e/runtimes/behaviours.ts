// Behaviours of the client that run in every runtime, with its own fetch(), streams and errors. They
// use only the public API; `cases.ts` has the expected results.
import { DataStream, type DataStreamOptions, type Query } from "../../../mod.ts";

/** Path whose response arrives when a client has aborted the stalled request. */
export const ABORTED_PATH = "/aborted";
/** API key of the tests, which only the service may receive. */
export const KEY = "k3y-of-a-test";

const createClient = (baseUrl: string, options: DataStreamOptions = {}) =>
  new DataStream({ baseUrl, apiKey: KEY, requestsPerSecond: Infinity, ...options });

const createQuery = (baseUrl: string, options?: DataStreamOptions, signal?: AbortSignal) =>
  createClient(baseUrl, options).locations({ select: ["Id"], top: 20, signal });

const retry = (attempts: number) => ({ retry: { attempts, backoff: 5 } });

const readWithRetry = async (baseUrl: string) =>
  (await createQuery(baseUrl, retry(2)).toArray()).map(({ Id }) => Id);

/** Returns a `fetch` and a promise that resolves after the headers of a number of responses. */
function countResponses(count: number): { fetch: typeof fetch; received: Promise<void> } {
  let resolveReceived = () => {};
  const received = new Promise<void>((resolve) => resolveReceived = resolve);
  const send = async (request: Request | URL | string) => {
    const response = await fetch(request);
    if (--count === 0) resolveReceived();
    return response;
  };
  return { fetch: send, received };
}

/** Whether the service notices that the client has aborted a request. */
const isAborted = async (baseUrl: string) => (await fetch(new URL(ABORTED_PATH, baseUrl))).ok;

/** Reads three pages at five requests a second; returns the numbers of rows and of counted requests. */
async function countRequests(baseUrl: string): Promise<unknown> {
  let counted = 0;
  const rows = await createClient(baseUrl, { ...retry(2), requestsPerSecond: 5 }).locations({
    select: ["Id"],
    top: 25,
    onProgress: ({ requests }) => void (counted = requests),
  }).toArray();
  return { rows: rows.length, counted };
}

/** Returns the text of a query in two formats, to compare it between runtimes. */
export const textsOf = async (query: Query<object>): Promise<string[]> => [
  await new Response(query.csv({ bom: true })).text(),
  await new Response(query.json()).text(),
];

/** Behaviours by name. Each has a separate service at `baseUrl` and returns JSON-serialisable data. */
export const BEHAVIOURS = {
  "csv() and json() give the same text when runtimes differ": (baseUrl) =>
    textsOf(createClient(baseUrl).records({ top: 100 })),

  "pages() rejects with the reason when a signal aborts during a request": async (baseUrl) => {
    const { fetch, received } = countResponses(2);
    const stop = new AbortController();
    const reason = new Error("enough");
    const reader = createQuery(baseUrl, { fetch }, stop.signal).pages().getReader();
    const { value } = await reader.read();
    const next = reader.read();
    await received;
    stop.abort(reason);
    const isReason = await next.catch((error) => error === reason);
    return { rows: value?.length, isReason, isAborted: await isAborted(baseUrl) };
  },

  "toArray() rejects a redirect when its origin is different": (baseUrl) =>
    createQuery(baseUrl).toArray().catch(({ kind, detail, hint }) => ({ kind, detail, hint })),

  "toArray() requests a page again when its connection closes early": readWithRetry,

  "Progress.requests counts each request when the service resets connections": countRequests,
} satisfies Record<string, (baseUrl: string) => Promise<unknown>>;

export type BehaviourName = keyof typeof BEHAVIOURS;
