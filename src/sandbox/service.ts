/**
 * DataStream in process, with synthetic data: for demos, and for tests of your own code. It needs neither an
 * API key of DataStream nor a network.
 *
 * The sandbox has the four resources of the service. It is as strict as the service about encoding, API
 * keys, names and the rate of requests. Its rows are computed, not stored. None of its data was measured.
 *
 * ## Use
 *
 * Pass its URL, key and `fetch` to a client:
 *
 * ```ts
 * import { DataStream } from "@weir/datastream";
 * import { createSandbox } from "@weir/datastream/sandbox";
 *
 * const sandbox = createSandbox({
 *   records: 1_000,
 *   requestsPerSecond: Infinity,
 * });
 * const client = new DataStream({
 *   apiKey: sandbox.apiKey,
 *   baseUrl: sandbox.url,
 *   fetch: sandbox.fetch,
 *   requestsPerSecond: Infinity,
 * });
 * const rows = await client.records({ select: ["Id"] }).toArray();
 * console.log(rows.length); // 1000
 * console.log(sandbox.stats.requests); // 1
 * ```
 *
 * A sandbox limits requests to two per second, as the service does. `requestsPerSecond: Infinity` disables
 * the limit; set it in the sandbox and in the client, as above. Without it, clients of several sandboxes share
 * one rate, because all sandboxes have the same URL: give each client another origin as `baseUrl`, followed
 * by `/v1/odata/v4`.
 *
 * ## Runtimes
 *
 * Deno, Node, Bun, browsers, Cloudflare Workers and other edge runtimes. The module imports no package.
 *
 * @module
 */
import { utf8Encoder } from "../bytes.ts";
import { type ResourceName, RESOURCES } from "../odata/resources.ts";
import { type OptionRule, readOptions, requirePositive } from "../validation.ts";
import { createFirewall } from "./firewall.ts";
import { BadRequest, parseQuery, type SandboxQuery } from "./query.ts";
import { search } from "./search.ts";
import { createRequestLimit } from "./rate_limit.ts";
import { MAX_REQUESTS_PER_SECOND } from "../service_constants.ts";

/**
 * Options for {@linkcode createSandbox}.
 *
 * @example Small, for tests: `{ records: 10, locations: 2, requestsPerSecond: Infinity }`
 */
export interface SandboxOptions {
  /** API key that requests must send as `x-api-key`. Default `sandbox`. */
  apiKey?: string;
  /** Number of records. They are computed, not stored. Default 40000. */
  records?: number;
  /** Number of monitoring locations. Default 60. */
  locations?: number;
  /** Maximum requests per second, one at a time; `Infinity` disables both limits. Default 2. */
  requestsPerSecond?: number;
  /** Whether names and comments have markup, formulas and control characters. Default `false`. */
  hostileNames?: boolean;
  /**
   * Whether a firewall answers before the service: 403 with a page of HTML to query strings above 2,048 bytes and to texts
   * like attacks, such as `''`, and 429 to too many requests in five minutes. Next links have no filter then. Default `false`.
   */
  firewall?: boolean;
  /** Requests in five minutes that the firewall lets through. Default 2000. */
  firewallRequests?: number;
  /** Clock of the rate limit, in milliseconds. Default: the time since the process started. */
  now?: () => number;
}

/** Statistics of a sandbox. The numbers keep changing. */
export interface SandboxStats {
  /** Number of requests received, whatever the response. */
  readonly requests: number;
  /** Number of rows sent. */
  readonly rows: number;
  /** Number of requests rejected with 429 because too many had started within a second. */
  readonly tooFast: number;
  /** Number of requests rejected with 429 because another one was in flight. */
  readonly parallel: number;
  /** Number of requests that the firewall refused. */
  readonly refused: number;
  /** Highest number of requests that were in flight concurrently. */
  readonly mostInFlight: number;
}

/** The service in process. */
export interface Sandbox {
  /** Responds to a request as the service would. Takes the arguments of the global `fetch`. */
  fetch: (input: Request | URL | string, init?: RequestInit) => Promise<Response>;
  /** Root URL, for `baseUrl`. Any other origin with the same path works too. */
  url: string;
  /** API key that requests must send as `x-api-key`. */
  apiKey: string;
  /** Statistics so far. */
  stats: SandboxStats;
}

const SANDBOX_OPTIONS = {
  apiKey: { default: "sandbox", type: "string" },
  records: { default: 40_000, min: 0, max: Number.MAX_SAFE_INTEGER },
  locations: { default: 60, min: 1, max: Number.MAX_SAFE_INTEGER },
  requestsPerSecond: { default: MAX_REQUESTS_PER_SECOND, check: requirePositive },
  hostileNames: { default: false, type: "boolean" },
  firewall: { default: false, type: "boolean" },
  firewallRequests: { default: 2_000, min: 1, max: Number.MAX_SAFE_INTEGER },
  now: { default: () => performance.now(), type: "function" },
} satisfies Record<keyof SandboxOptions, OptionRule>;

const ROOT_PATH = "/v1/odata/v4";

/**
 * Creates the service in process, with deterministic synthetic data: five datasets, locations at real lakes and
 * rivers of all provinces and territories, and records from 2012 to 2023. Values have seasons, trends and
 * results below detection limits, but none was measured.
 *
 * A raw `$` in the query string is 400, a missing API key 401, and a wrong one 403. More than two requests in
 * a second are 429, and so are two concurrent requests. Coded values follow DataStream's schema 3.0.0.
 *
 * @param options API key, size of the data, rate limit and clock
 * @returns Its fetch function, root URL, API key and statistics
 * @throws {ValidationError} If an option is unknown or has an invalid value
 *
 * Source: DataStream Public API, "Endpoints", "URL Parameters", "Response Format" and "Errors".
 *
 * @example Send a request without a client
 * ```ts
 * import { createSandbox } from "@weir/datastream/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const { apiKey, url, fetch } = createSandbox({ records: 25 });
 * const response = await fetch(`${url}/Records?%24count=true`, { headers: { "x-api-key": apiKey } });
 * assertEquals((await response.json()).value, 25);
 * ```
 */
export function createSandbox(options: SandboxOptions = {}): Sandbox {
  const { apiKey, requestsPerSecond, firewall, firewallRequests, now, ...world } = readOptions(
    "createSandbox()",
    options,
    SANDBOX_OPTIONS,
  );
  const stats = { requests: 0, rows: 0, tooFast: 0, parallel: 0, refused: 0, mostInFlight: 0 };
  const refuse = firewall ? createFirewall(firewallRequests, now, stats) : () => undefined;
  const enter = createRequestLimit(requestsPerSecond, now, stats);

  /** In the service's order: firewall, encoding, key, path, rate limit, query. */
  function respond(request: Request): Response {
    stats.requests++;
    const url = new URL(request.url);
    const refusal = refuse(url);
    if (refusal !== undefined) return refusal;
    if (url.search.includes("$") || !isDecodable(url.search)) return reject(400, null);
    const key = request.headers.get("x-api-key");
    if (key === null) return reject(401, "Unauthorized");
    if (key !== apiKey) return reject(403, "Forbidden");
    const resource = toResource(url.pathname);
    if (resource === undefined) return reject(404, "Not Found");
    if (request.method !== "GET") return reject(405, "Method Not Allowed", { allow: "GET" });
    const leave = enter();
    if (leave === undefined) return reject(429, "Too Many Requests");
    try {
      const query = parseQuery(resource, url.search.slice(1));
      const found = search(world, resource, query.tests);
      if (query.count) {
        const count = JSON.stringify({ value: found.count() });
        return streamResponse(request, [count].values(), leave);
      }
      const { rows, next } = takeRows(found.rows(query.after), query);
      const nextLink = next === undefined ? undefined : toNextLink(url, query, next, !firewall);
      stats.rows += rows.length;
      const headers = nextLink ? { link: `<${nextLink}>; rel="next"` } : undefined;
      return streamResponse(request, pageBody(resource, rows, nextLink), leave, headers);
    } catch (error) {
      leave();
      if (error instanceof BadRequest) return reject(400, error.message);
      throw error;
    }
  }

  return {
    apiKey,
    url: `https://sandbox.invalid${ROOT_PATH}`,
    stats,
    // deno-lint-ignore require-await -- fetch rejects, it does not throw
    fetch: async (input, init) => {
      const request = new Request(input, init);
      request.signal.throwIfAborted();
      return respond(request);
    },
  };
}

/** Returns the rows of a page in JSON, and the last Id of a page that is followed by others. */
function takeRows(
  found: Iterable<{ Id: string | number }>,
  { top, select }: SandboxQuery,
): { rows: string[]; next?: string | number } {
  const rows: string[] = [];
  let next: string | number = "";
  for (const row of found) {
    if (rows.length === top) return { rows, next };
    rows.push(JSON.stringify(pickFields(row, select)));
    next = row.Id;
  }
  return { rows };
}

/** Faster than a list of fields as the second argument of `JSON.stringify()`. */
function pickFields(row: object, fields: readonly string[]): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  for (const field of fields) picked[field] = (row as Record<string, unknown>)[field];
  return picked;
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

/** Its `$` is not encoded, as in the service. */
function toNextLink(
  url: URL,
  { carried, top }: SandboxQuery,
  lastId: string | number,
  hasFilter: boolean,
): string {
  const options = carried.filter(([name]) => hasFilter || name !== "$filter");
  const kept = options.map(([name, value]) => `${name}=${encodeURIComponent(value)}&`).join("");
  return `${url.origin}${url.pathname}?${kept}$skiptoken=Id:${lastId}&$top=${top}`;
}

const CHUNK_ROWS = 500;

function* pageBody(
  resource: ResourceName,
  rows: readonly string[],
  nextLink: string | undefined,
): Generator<string> {
  yield `{"@data.context":"odata/v4/${resource}/$links/Metadata(Id=@DatasetId)","value":[`;
  for (let start = 0; start < rows.length; start += CHUNK_ROWS) {
    yield (start > 0 ? "," : "") + rows.slice(start, start + CHUNK_ROWS).join();
  }
  yield nextLink ? `],"@odata.nextLink":${JSON.stringify(nextLink)}}` : "]}";
}

/** In flight until the body is consumed, cancelled or aborted. */
function streamResponse(
  request: Request,
  chunks: Iterator<string>,
  leave: () => void,
  headers: Record<string, string> = {},
): Response {
  const { signal } = request;
  let abort: () => void;
  const end = () => {
    // The listener would keep the page in memory for as long as the caller keeps the signal.
    signal.removeEventListener("abort", abort);
    leave();
  };
  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      abort = () => {
        leave();
        controller.error(signal.reason);
      };
      signal.addEventListener("abort", abort, { once: true });
    },
    pull(controller) {
      const { done, value } = chunks.next();
      if (!done) return controller.enqueue(utf8Encoder.encode(value));
      controller.close();
      end();
    },
    cancel: end,
  }, { highWaterMark: 0 });
  return new Response(stream, { headers: { "content-type": "application/json", ...headers } });
}

function reject(
  status: number,
  message: string | null,
  headers: Record<string, string> = {},
): Response {
  return Response.json({ message }, { status, headers });
}
