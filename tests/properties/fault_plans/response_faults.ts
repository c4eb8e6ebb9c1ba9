import type { FaultContext, FaultKind, FaultResponse } from "./fault_kind.ts";
import type { Plan } from "./plan.ts";
import { API_KEY } from "./reference_rows.ts";

const HTML = "<!doctype html><html><body><h1>Bad gateway</h1></body></html>";

/** Bodies of error responses. Two of them repeat the key, as some gateways repeat request headers. */
const BODIES = [
  '{"message":"Something failed"}',
  '{"message":null}',
  '{"error":{"code":"E1","message":"Something failed"}}',
  `{"message":"Bad request headers: x-api-key: ${API_KEY}"}`,
  HTML,
  "",
  `key ${API_KEY}\u0007\nis refused`,
];
const RETRY_AFTER = [
  undefined,
  undefined,
  "0",
  "1",
  "7",
  "119",
  "1.5",
  "-3",
  "soon",
  "Wed, 21 Oct 2015 07:28:00 GMT",
];

function statusFault(code: number, isRecoverable: boolean): FaultKind {
  return {
    name: `status ${code}`,
    isRecoverable,
    async respond(context) {
      const { random, clock, signal } = context;
      if ((code === 408 || code === 504) && random.chance(0.3)) {
        await clock.sleep(30_000, signal);
      }
      const retryAfter = [413, 429, 503].includes(code) ? random.pick(RETRY_AFTER) : undefined;
      const headers: Record<string, string> = retryAfter === undefined
        ? {}
        : { "retry-after": retryAfter };
      return { ...errorResponse(code, context), headers };
    },
  };
}

function errorResponse(code: number, { random }: FaultContext): FaultResponse {
  return { status: code, body: random.pick(BODIES) };
}

/** Creates a fault that affects every request for 15 s. */
function outage(failure: number | "reset"): FaultKind {
  return {
    name: `outage of 15 s (${failure})`,
    duration: 15_000,
    respond: (context) => failure === "reset" ? failure : errorResponse(failure, context),
  };
}

/** Creates a fault that responds with a fixed body and status 200. */
function fixedBody(name: string, body: string, contentType: string): FaultKind {
  return { name, respond: () => ({ status: 200, body, headers: { "content-type": contentType } }) };
}

const LOCATIONS = [
  `https://elsewhere.invalid/v1/odata/v4/Records?x-api-key=${API_KEY}`,
  "/login",
  "not a URL %%%",
];

function redirect(status: number): FaultKind {
  return {
    name: `redirect ${status}`,
    isRecoverable: false,
    respond: ({ random }) => ({ status, headers: { location: random.pick(LOCATIONS) } }),
  };
}

/** Creates a service that rejects some pages, such as large ones, from the first request on. */
function rejectsPages(
  name: string,
  codes: readonly number[],
  applies: (context: FaultContext) => boolean,
  isRecoverable: (plan: Plan) => boolean,
): FaultKind {
  return {
    ...{ name, on: "page", isRecoverable, isPermanent: true, applies },
    respond: (context) => errorResponse(context.random.pick(codes), context),
  };
}

const isLargeResource = ({ request }: FaultContext) =>
  /Records|Observations/.test(request.resource);

function isSplittable({ partition, locations, output, skipToken }: Plan): boolean {
  if (locations < 2 || output.startsWith("edge-") && skipToken !== undefined) return false;
  return partition === undefined;
}

/** Responses of a service, gateway or proxy other than a page or a count. */
export const RESPONSE_FAULTS: readonly FaultKind[] = [
  ...[408, 429, 429, 500, 502, 503, 504, 504].map((code) => statusFault(code, true)),
  // A page of one row cannot be halved.
  {
    ...statusFault(413, true),
    on: "page",
    isRecoverable: ({ top, limit }) => limit === undefined && top > 1,
  },
  ...[400, 401, 403, 404, 410].map((code) => statusFault(code, false)),
  ...[503, 504, 408, "reset" as const].map(outage),
  ...[301, 302, 307].map(redirect),
  { name: "reset before the headers", respond: () => "reset" },
  {
    name: "no response",
    respond: ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      }),
  },
  {
    name: "headers after up to 44 s",
    respond: ({ clock, random, signal }) =>
      clock.sleep(random.int(1_000, 44_000), signal).then(() => undefined),
  },
  fixedBody("HTML with status 200", HTML, "text/html"),
  fixedBody("HTML with status 200 and a JSON media type", HTML, "application/json"),
  fixedBody("message instead of a page", '{"message":"Try again"}', "application/json"),
  // As the response to a count request, a number is valid.
  { ...fixedBody("number instead of a page", "42", "application/json"), on: "page" },
  // The client halves a page three or four times before it gives up or splits the query.
  rejectsPages(
    "504 or 408 for pages over 40 rows",
    [504, 408],
    (context) => context.request.top > 40 && isLargeResource(context),
    ({ top }) => top <= 320,
  ),
  rejectsPages(
    "413 for pages over 60 rows",
    [413],
    // Requests for the list of locations start with 10,000 rows.
    (context) => context.request.top > (isLargeResource(context) ? 60 : 700),
    ({ top }) => top <= 960,
  ),
  rejectsPages(
    "504, 408 or 413 for queries without a location",
    [504, 408, 413],
    (context) => isLargeResource(context) && !context.request.filter?.includes("LocationId"),
    isSplittable,
  ),
];
