import { type Delivery, type FaultContext, type FaultKind, toDelivery } from "./fault_kind.ts";
import { oneRefusal } from "./firewall_faults.ts";
import type { Plan } from "./plan.ts";
import { API_KEY } from "./reference_rows.ts";

const HTML = "<!doctype html><html><body><h1>Bad gateway</h1></body></html>";

/** Bodies of error responses. Two of them repeat the key, as some gateways repeat request headers. */
const BODIES = [
  '{"message":"Something failed"}',
  '{"message":null}',
  `{"message":"Bad request headers: x-api-key: ${API_KEY}"}`,
  HTML,
  "",
  `key ${API_KEY}\u0007\nis refused`,
];
const RETRY_AFTER = ["0", "1", "7", "119", "1.5", "-3", "soon", "Wed, 21 Oct 2015 07:28:00 GMT"];

function errorResponse(status: number, { random }: FaultContext, headers = {}): Delivery {
  const body = random.pick(BODIES);
  const type = body.startsWith("{") ? "application/json" : "text/html";
  return toDelivery(body, status, { "content-type": type, ...headers });
}

/** What errors may name because of a status. */
const CAUSES: Readonly<Record<number, FaultKind["causes"]>> = {
  400: () => ["length"],
  401: () => ["key"],
  403: oneRefusal,
  413: () => ["length"],
  429: () => ["block", "limit"],
};

function statusFault(status: number, isRecoverable: boolean): FaultKind {
  const causes = CAUSES[status];
  return {
    name: `status ${status}`,
    isRecoverable,
    ...(causes && { causes }),
    async respond(context) {
      const { random, clock, signal } = context;
      if ((status === 408 || status === 504) && random.chance(0.3)) {
        await clock.sleep(30_000, signal);
      }
      const hasDelay = [413, 429, 503].includes(status) && random.chance(0.8);
      const headers = hasDelay ? { "retry-after": random.pick(RETRY_AFTER) } : {};
      return errorResponse(status, context, headers);
    },
  };
}

/** Creates a fault that affects every request for 15 s. */
function outage(failure: number | "reset"): FaultKind {
  return {
    name: `outage of 15 s (${failure})`,
    duration: 15_000,
    respond: (context) => failure === "reset" ? failure : errorResponse(failure, context),
  };
}

/** Creates a service that rejects some pages, such as large ones, from the first request on. */
function rejectsPages(
  name: string,
  statuses: readonly number[],
  applies: (context: FaultContext) => boolean,
  isRecoverable: (plan: Plan) => boolean,
): FaultKind {
  return {
    name,
    on: "page",
    isRecoverable,
    isPermanent: true,
    applies,
    respond: (context) => errorResponse(context.random.pick(statuses), context),
  };
}

const isMeasured = ({ request }: FaultContext) => /Records|Observations/.test(request.resource);

function isSplittable({ partition, locations, reader, skipToken }: Plan): boolean {
  if (locations < 2 || reader === "server" && skipToken !== undefined) return false;
  return partition === undefined;
}

/** Responses of a service, gateway or proxy other than a page or a count. */
export const RESPONSE_FAULTS: readonly FaultKind[] = [
  ...[408, 429, 429, 500, 502, 503, 504, 504].map((status) => statusFault(status, true)),
  // A page of one row cannot be halved.
  {
    ...statusFault(413, true),
    on: "page",
    isRecoverable: ({ top, limit }) => limit === undefined && top > 1,
  },
  ...[400, 401, 403, 404, 410].map((status) => statusFault(status, false)),
  ...[503, 504, 408, "reset" as const].map(outage),
  {
    name: "redirect",
    isRecoverable: false,
    respond: ({ random }) => {
      const targets = [`https://elsewhere.invalid/Records?x-api-key=${API_KEY}`, "/login", "%%%"];
      return toDelivery("", random.pick([301, 302, 307]), { location: random.pick(targets) });
    },
  },
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
  {
    name: "HTML with status 200",
    respond: ({ random }) =>
      toDelivery(HTML, 200, random.chance(0.5) ? { "content-type": "text/html" } : {}),
  },
  { name: "message instead of a page", respond: () => toDelivery('{"message":"Try again"}') },
  // The client halves a page three or four times before it gives up or splits the query.
  rejectsPages(
    "504 or 408 for pages over 40 rows",
    [504, 408],
    (context) => context.request.top > 40 && isMeasured(context),
    ({ top }) => top <= 320,
  ),
  rejectsPages(
    "413 for pages over 60 rows",
    [413],
    // Requests for the list of locations start with 10,000 rows.
    (context) => context.request.top > (isMeasured(context) ? 60 : 700),
    ({ top }) => top <= 960,
  ),
  rejectsPages(
    "504, 408 or 413 for queries without a location",
    [504, 408, 413],
    (context) => isMeasured(context) && !context.request.filter?.includes("LocationId"),
    isSplittable,
  ),
];
