// A request and its response. Hono composes the functions that record it.
import type { Context, Hono, Next } from "hono";
import type { Clock } from "../../src/clock.ts";
import type { Turn } from "./queue.ts";
import type { RequestFacts, RequestOutcome } from "./metrics.ts";
import { createRequestLog, type RequestLog } from "./request_log.ts";
import { createUpstream, type Recorders, type Upstream } from "./upstream.ts";

export interface Exchange {
  /** The page replaces a form by the request of its file. */
  request: Request;
  readonly connection: unknown;
  /** Keeps the request of a Worker alive. */
  readonly waitUntil: (promise: Promise<unknown>) => void;
  /** Time of the clock (ms). */
  readonly startedAt: number;
  /** Set when access is granted. */
  client?: string | undefined;
  /** Place at the rate limiter of the requests for the current page. */
  readonly turn: Turn;
  readonly log: RequestLog;
  readonly upstream: Upstream;
  /** For the log and the metrics. `path` is set if the app has a route, and `query` when all parameters are valid. */
  readonly facts: RequestFacts;
  /** A stream calls `end()` itself. */
  isStream: boolean;
  /** Later calls have no effect. */
  end(outcome: RequestOutcome): void;
}

type Env = { Bindings: { exchange: Exchange } };
/** Handlers read `env.exchange`. */
export type Router = Hono<Env>;

/** As in nginx. */
export const CLIENT_CLOSED_REQUEST = 499;
const NOT_MODIFIED = 304;
/** For the log and metrics: the path itself may contain a key. */
const UNKNOWN_PATH = "(unknown)";
/** A client can send any other text as a method. */
const KNOWN_METHODS = /^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|TRACE|CONNECT)$/;

/** `open` has the exchanges that have not ended; `undefined` if the runtime does not report ends. */
export function createExchange(
  inputs: Pick<Exchange, "request" | "connection" | "waitUntil">,
  recorders: Recorders,
  open: Set<Exchange> | undefined,
): Exchange {
  const { settings, metrics } = recorders;
  const { request: { method } } = inputs;
  const startedAt = settings.clock.now();
  const log = createRequestLog(inputs.request, settings);
  const upstream = createUpstream(recorders, log);
  const facts: RequestFacts = {
    requestId: log.id,
    method: KNOWN_METHODS.test(method) ? method : "OTHER",
    path: UNKNOWN_PATH,
    query: {},
    // To log if the server stops before the response is known.
    status: 503,
    outcome: "complete",
    rows: 0,
    bytes: 0,
    milliseconds: 0,
    upstreamRequests: 0,
    upstreamMilliseconds: 0,
    waitMilliseconds: 0,
  };
  let hasEnded = false;
  const exchange: Exchange = {
    ...inputs,
    startedAt,
    turn: {},
    log,
    upstream,
    facts,
    isStream: false,
    end(outcome) {
      if (hasEnded) return;
      hasEnded = true;
      open?.delete(exchange);
      facts.outcome = outcome;
      upstream.logService();
      facts.milliseconds = Math.round(settings.clock.now() - startedAt);
      facts.upstreamRequests = upstream.requests;
      facts.upstreamMilliseconds = Math.round(upstream.milliseconds);
      facts.waitMilliseconds = Math.round(upstream.waited);
      facts.cause = facts.status === 503 ? facts.cause ?? "other" : undefined;
      metrics.addRequest(facts);
      if (settings.logRequests) log.logRequest(facts);
    },
  };
  open?.add(exchange);
  return exchange;
}

export async function sendRequestId(context: Context<Env>, next: Next): Promise<void> {
  await next();
  context.res.headers.set("x-request-id", context.env.exchange.log.id);
}

/** Ends the record of a response that is not a stream. */
export async function recordResponse(context: Context<Env>, next: Next): Promise<void> {
  await next();
  const { res: response, env: { exchange } } = context;
  exchange.facts.status = response.status;
  if (exchange.isStream) return;
  if (exchange.request.method !== "HEAD" && response.body !== null) {
    // Only streams are long.
    const body = await response.arrayBuffer();
    exchange.facts.bytes = body.byteLength;
    context.res = new Response(body, response);
  }
  exchange.end(response.status === CLIENT_CLOSED_REQUEST ? "aborted" : "complete");
}

export async function endSilence({ env }: Context<Env>, next: Next): Promise<void> {
  await next();
  env.exchange.upstream.silence.end();
}

/**
 * Returns the response to HEAD with a body that is open when its headers are sent, so that no server adds
 * `content-length: 0`. Not a middleware, because Hono removes the body.
 */
export function keepBodyOpen(response: Response, clock: Clock): Response {
  if (response.status === NOT_MODIFIED) return response;
  const pull = (body: ReadableStreamDefaultController) => clock.sleep(0).then(() => body.close());
  return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), response);
}
