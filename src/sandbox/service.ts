/**
 * The query API in process, over synthetic data: for demos, and for tests of one's own code.
 *
 * @module
 */
import { type ResourceName, RESOURCES } from "../odata/resources.ts";
import { BadRequest, countRows, pageBody, readPage, readQuery } from "./search.ts";

/** Options for {@linkcode createSandbox}. */
export interface SandboxOptions {
  /** The key that callers must send as `x-api-key`. Default `sandbox`. */
  apiKey?: string;
  /** How many records there are; they are computed, not kept. Default 40000. */
  records?: number;
  /** How many monitoring locations there are. Default 60. */
  locations?: number;
  /**
   * How many requests may start in any second, one at a time. Default 2, as the service allows;
   * Infinity sets no limit.
   */
  requestsPerSecond?: number;
  /** The clock of that limit, in milliseconds. Default: the time since the process began. */
  now?: () => number;
}

/** What a sandbox has seen and sent; the numbers go on changing. */
export interface SandboxStats {
  /** Requests that came, whatever the answer. */
  readonly requests: number;
  /** Rows sent. */
  readonly rows: number;
  /** Requests turned away with 429 because too many had started within a second. */
  readonly tooFast: number;
  /** Requests turned away with 429 because another one was in flight. */
  readonly parallel: number;
  /** The most requests that were in flight at once. */
  readonly mostInFlight: number;
}

/** The API in process. */
export interface Sandbox {
  /** Answers a request as the service would; takes what the global `fetch` takes. */
  fetch: (input: Request | URL | string, init?: RequestInit) => Promise<Response>;
  /** The root address, for `baseUrl`; any other origin with the same path does as well. */
  url: string;
  /** The key that callers must send as `x-api-key`. */
  apiKey: string;
  /** What was asked and sent so far. */
  stats: SandboxStats;
}

const ROOT_PATH = "/v1/odata/v4";

/**
 * Makes the query API in process, over deterministic, plainly synthetic data: five datasets,
 * locations in the provinces and territories, and records from 2012 to 2023 with every oddity that real ones have.
 *
 * It is as strict as the service: a raw `$` in the query is 400, a missing key 401, a wrong one
 * 403, more than two starts in a second or two requests at once 429. It answers on any origin
 * under `/v1/odata/v4`, so it can stand behind a server too. Nothing it holds was ever measured.
 * Detection limits, depths and coded values follow DataStream's schema 3.0.0 (2026-07-14).
 *
 * @param options Key, size of the data, limit and clock
 * @returns Its fetch handler, address, key and statistics
 * @throws {RangeError} If a number of records, locations or requests is out of range
 *
 * Source: water-quality-api, Endpoints, Paging, Errors and Limits.
 *
 * @example Run a client against it
 * ```ts
 * import { DataStream } from "@weir/datastream";
 * import { createSandbox } from "@weir/datastream/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const sandbox = createSandbox({ records: 25, requestsPerSecond: Infinity });
 * const client = new DataStream({
 *   apiKey: sandbox.apiKey,
 *   baseUrl: sandbox.url,
 *   fetch: sandbox.fetch,
 *   requestsPerSecond: Infinity,
 * });
 * const rows = await client.records().toArray();
 * assertEquals(rows.length, 25);
 * assertEquals(sandbox.stats.requests, 1);
 * ```
 */
export function createSandbox(options: SandboxOptions = {}): Sandbox {
  const {
    apiKey = "sandbox",
    records = 40_000,
    locations = 60,
    requestsPerSecond = 2,
    now = () => performance.now(),
  } = options;
  requireRange("records", records, 0);
  requireRange("locations", locations, 1);
  if (!(requestsPerSecond > 0)) {
    throw new RangeError(`requestsPerSecond must be above 0, got ${requestsPerSecond}`);
  }
  const world = { records, locations };
  const throttle = new Throttle(requestsPerSecond, now);
  const stats = { requests: 0, rows: 0, tooFast: 0, parallel: 0, mostInFlight: 0 };

  /** The service's checks in its order: the gateway's, the key's, the limit's, the query's. */
  function answer(request: Request): Response {
    stats.requests++;
    const url = new URL(request.url);
    if (url.search.includes("$") || !isDecodable(url.search)) return refuse(400, null);
    const key = request.headers.get("x-api-key");
    if (key === null) return refuse(401, "Unauthorized");
    if (key !== apiKey) return refuse(403, "Forbidden");
    const resource = toResource(url.pathname);
    if (resource === undefined) return refuse(404, "Not Found");
    if (request.method !== "GET") return refuse(405, "Method Not Allowed", { allow: "GET" });
    const leave = throttle.enter();
    if (typeof leave === "string") {
      stats[leave]++;
      return refuse(429, "Too Many Requests");
    }
    stats.mostInFlight = throttle.mostInFlight;
    try {
      const query = readQuery(resource, url.search.slice(1));
      if (query.count) {
        const count = JSON.stringify({ value: countRows(world, resource, query) });
        return streamed(request, [count].values(), leave);
      }
      const page = readPage(world, resource, query, url);
      stats.rows += page.rows.length;
      return streamed(
        request,
        pageBody(resource, page),
        leave,
        page.nextLink ? { link: `<${page.nextLink}>; rel="next"` } : {},
      );
    } catch (error) {
      leave();
      if (error instanceof BadRequest) return refuse(400, error.message);
      throw error;
    }
  }

  return {
    apiKey,
    url: `https://sandbox.invalid${ROOT_PATH}`,
    stats,
    // deno-lint-ignore require-await -- a rejection, as fetch gives it, not a throw
    fetch: async (input, init) => {
      const request = new Request(input, init);
      request.signal.throwIfAborted();
      return answer(request);
    },
  };
}

/** An answer that stays in flight until its body is taken, dropped or aborted. */
function streamed(
  request: Request,
  pieces: Iterator<string>,
  leave: () => void,
  headers: Record<string, string> = {},
): Response {
  const encoder = new TextEncoder();
  const { signal } = request;
  let stop: () => void;
  const end = () => {
    // Else the signal would hold the page for as long as the caller holds the signal.
    signal.removeEventListener("abort", stop);
    leave();
  };
  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      stop = () => {
        leave();
        controller.error(signal.reason);
      };
      signal.addEventListener("abort", stop, { once: true });
    },
    pull(controller) {
      const { done, value } = pieces.next();
      if (!done) return controller.enqueue(encoder.encode(value));
      controller.close();
      end();
    },
    cancel: end,
  }, { highWaterMark: 0 });
  return new Response(stream, { headers: { "content-type": "application/json", ...headers } });
}

function refuse(
  status: number,
  message: string | null,
  headers: Record<string, string> = {},
): Response {
  return Response.json({ message }, { status, headers });
}

function toResource(path: string): ResourceName | undefined {
  return (Object.keys(RESOURCES) as ResourceName[])
    .find((name) => path === ROOT_PATH + RESOURCES[name].path);
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

function requireRange(name: string, value: number, least: number): void {
  if (!Number.isSafeInteger(value) || value < least) {
    throw new RangeError(`${name} must be a whole number of at least ${least}, got ${value}`);
  }
}

/** Why a request is turned away with 429. */
export type Violation = "tooFast" | "parallel";

/** The service gives up on a request after 30 seconds: none is in flight for longer. */
const LONGEST_REQUEST = 30_000;

/**
 * The service's limit: so many starts in any second, and one request at a time.
 *
 * A request is in flight until its body has been taken; one that is turned away is no start.
 */
class Throttle {
  /** The most requests that were in flight at once. */
  mostInFlight = 0;
  #starts: number[] = [];
  #inFlight = new Map<number, number>();
  #last = 0;

  /**
   * @param requestsPerSecond Infinity sets no limit at all
   * @param now The clock, in milliseconds
   */
  constructor(readonly requestsPerSecond: number, readonly now: () => number) {}

  /** Lets a request in and gives the function that ends it, or says why it is turned away. */
  enter(): (() => void) | Violation {
    const now = this.now();
    for (const [request, start] of this.#inFlight) {
      if (now - start >= LONGEST_REQUEST) this.#inFlight.delete(request);
    }
    if (this.requestsPerSecond !== Infinity) {
      if (this.#inFlight.size > 0) return "parallel";
      const starts = Math.max(1, Math.floor(this.requestsPerSecond));
      const window = 1000 * starts / this.requestsPerSecond;
      this.#starts = this.#starts.filter((start) => now - start < window);
      if (this.#starts.length >= starts) return "tooFast";
      this.#starts.push(now);
    }
    const request = ++this.#last;
    this.#inFlight.set(request, now);
    this.mostInFlight = Math.max(this.mostInFlight, this.#inFlight.size);
    return () => this.#inFlight.delete(request);
  }
}
