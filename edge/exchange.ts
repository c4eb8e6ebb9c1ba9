// A request and its response: request id, requests to DataStream, and data for the log and metrics.
import type { Hono } from "hono";
import type { DataStream } from "../src/client/datastream.ts";
import type { RateLimiter } from "../src/client/rate_limiter.ts";
import { defaultFetch } from "../src/client/transport.ts";
import { DataStreamError } from "../src/errors.ts";
import { PRODUCTION_URL } from "../src/service_constants.ts";
import type { Metrics } from "./metrics.ts";
import type { LogLevel, Settings } from "./options.ts";
import type { Readiness } from "./readiness.ts";
import {
  createBodyError,
  createRedactor,
  type FailureLog,
  logMessage,
  logRequest,
  type RequestOutcome,
  searchParamsOf,
} from "./request_log.ts";
import { StartDeadline } from "./start_deadline.ts";

/** Objects of an app that its exchanges use. */
export interface Recorders {
  settings: Settings;
  metrics: Metrics;
  readiness: Readiness;
  /**
   * Exchanges that have not ended; `undefined` unless a server can interrupt them. Workerd can drop a request
   * without notice, so its exchange would stay here.
   */
  open: Set<Exchange> | undefined;
}

/** Hono app whose handlers read the exchange from `env.exchange`. */
export type Router = Hono<{ Bindings: { exchange: Exchange } }>;

/** Status of a response to a client that has already disconnected, as in nginx. */
export const CLIENT_CLOSED_REQUEST = 499;
/** Status of a response without a body, also to HEAD (RFC 9110, section 15.4.5). */
const NOT_MODIFIED = 304;
/** Path in the log and metrics for an unknown path, because the path itself may contain a key. */
const UNKNOWN_PATH = "(unknown)";
/** Methods to log. A client can send any other text as a method. */
const KNOWN_METHODS = /^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|TRACE|CONNECT)$/;
/** Maximum time (ms) for which one page or count waits for the rate limiter, before the response has content. */
const MAX_TURN_WAIT = 20_000;
/** Valid request ids of clients. */
const REQUEST_ID_PATTERN = /^[A-Za-z0-9\-_.]{1,128}$/;

/** A request that the app handles, and its response. */
export class Exchange implements FailureLog {
  /** Request id: from the header `x-request-id` if it is valid, else a random UUID. */
  readonly id: string;
  /** Path, if the app has a route for it. */
  route: string = UNKNOWN_PATH;
  /** URL parameters to log. The handler sets them when all are valid. */
  query: Readonly<Record<string, string>> = {};
  /** Number of rows, or citations, in the response. */
  rows = 0;
  /** Number of bytes of the body that the server has passed to the runtime. */
  bytes = 0;
  /** Whether the body is a stream that calls {@linkcode end}. */
  isStream = false;
  /** Status of the response. Until the response is known, the status to log if the server stops. */
  #status = 503;
  /** Client, as `identifyClient()` returns it. */
  client: string | undefined;
  /** Time (ms since 1970) of the last response of the service. */
  responseDate = 0;
  #upstreamRequests = 0;
  #hasEnded = false;
  /** Limits of the time until the response has its first content. */
  readonly deadline: StartDeadline;
  readonly #startedAt: number;
  readonly #secrets: Set<string>;
  readonly #recorders: Recorders;

  /**
   * @param connection Second argument of `EdgeApp.fetch()`: information about the connection
   * @param waitUntil Keeps the request of a Worker alive while a promise is pending
   */
  constructor(
    readonly request: Request,
    readonly connection: unknown,
    recorders: Recorders,
    readonly waitUntil: (promise: Promise<unknown>) => void = () => {},
  ) {
    this.#recorders = recorders;
    recorders.open?.add(this);
    const { clock, dataStreamOptions: { baseUrl = PRODUCTION_URL } } = recorders.settings;
    this.deadline = new StartDeadline(clock, baseUrl);
    this.#startedAt = this.#now();
    this.#secrets = secretsOf(request);
    const given = request.headers.get("x-request-id") ?? "";
    const isValid = REQUEST_ID_PATTERN.test(given) && this.#redact(given) === given;
    this.id = isValid ? given : crypto.randomUUID();
  }

  /** Adds a secret to replace in the log. */
  addSecret(secret: string | undefined): void {
    if (secret) this.#secrets.add(secret);
  }

  /** Aborts when the client disconnects, or when DataStream is silent before the response has content. */
  get signal(): AbortSignal {
    return AbortSignal.any([this.request.signal, this.deadline.signal]);
  }

  /**
   * Returns a client whose requests are counted as upstream requests of this exchange, and obey its deadline.
   *
   * @param rateLimiter Rate limiter of the client
   */
  countRequests(dataStream: DataStream, rateLimiter: RateLimiter): DataStream {
    const { fetch = defaultFetch } = this.#recorders.settings.dataStreamOptions;
    const { metrics, readiness } = this.#recorders;
    return dataStream.with({
      rateLimiter,
      maxWait: MAX_TURN_WAIT,
      fetch: async (request: Request) => {
        this.#upstreamRequests++;
        this.deadline.onRequest();
        try {
          const response = await fetch(request);
          this.deadline.onResponse(response);
          const date = Date.parse(response.headers.get("date") ?? "");
          this.responseDate = Number.isNaN(date) ? this.#recorders.settings.now() : date;
          metrics.addUpstreamRequest(String(response.status));
          readiness.recordResponse(response);
          return response;
        } catch (error) {
          metrics.addUpstreamRequest(request.signal.aborted ? "aborted" : "failed");
          throw error;
        }
      },
    });
  }

  logFailure(failure: string, error: unknown): void {
    if (error instanceof DataStreamError) this.#recorders.readiness.recordError(error);
    const message = error instanceof Error ? error.message : String(error);
    this.#logMessage("error", `${failure}: ${message}`);
  }

  /** Creates the error of a response body that fails. */
  createBodyError(): Error {
    return createBodyError(this.#recorders.settings, this.id);
  }

  /** Logs a warning about the client or the configuration of the server. */
  logWarning(text: string): void {
    this.#logMessage("warn", text);
  }

  #logMessage(level: LogLevel, text: string): void {
    logMessage(this.#recorders.settings, level, this.id, text, this.#redact);
  }

  /**
   * Adds the request id to a response. Ends the exchange unless the body is a stream.
   *
   * @param emptyBody Creates the body of a response to `HEAD`
   */
  async respond(response: Response, emptyBody: () => ReadableStream): Promise<Response> {
    this.deadline.end();
    this.#status = response.status;
    response.headers.set("x-request-id", this.id);
    if (this.isStream) return response;
    let body: BodyInit | null = null;
    if (response.status === NOT_MODIFIED) {
      body = null; // a response with this status cannot have a body
    } else if (this.request.method === "HEAD") {
      body = emptyBody();
    } else if (response.body !== null) {
      // Only streams are long.
      body = await response.arrayBuffer();
      this.bytes = body.byteLength;
    }
    this.end(response.status === CLIENT_CLOSED_REQUEST ? "aborted" : "complete");
    return new Response(body, response);
  }

  /** Writes the exchange to the log and metrics. Later calls have no effect. */
  end(outcome: RequestOutcome): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#recorders.open?.delete(this);
    const { method } = this.request;
    const facts = {
      requestId: this.id,
      method: KNOWN_METHODS.test(method) ? method : "OTHER",
      path: this.route,
      query: this.query,
      status: this.#status,
      outcome,
      rows: this.rows,
      bytes: this.bytes,
      milliseconds: Math.max(0, Math.round(this.#now() - this.#startedAt)),
      upstreamRequests: this.#upstreamRequests,
    };
    this.#recorders.metrics.addRequest(facts);
    logRequest(this.#recorders.settings, facts, this.#redact);
  }

  /** Replaces the secrets of the server and of this request in a text. */
  readonly #redact = (text: string): string =>
    createRedactor([...this.#recorders.settings.secrets, ...this.#secrets])(text);

  /** Returns the time (ms), or 0 if the clock fails, so that logging never throws. */
  #now(): number {
    try {
      return this.#recorders.settings.clock.now();
    } catch {
      return 0;
    }
  }
}

/** Returns the credentials in the headers and the URL of a request. */
function secretsOf({ headers, url }: Request): Set<string> {
  const authorization = headers.get("authorization")?.trim() ?? "";
  return new Set([
    headers.get("x-api-key")?.trim() ?? "",
    authorization,
    authorization.replace(/^\S+\s+/, ""),
    ...searchParamsOf(url).getAll("signature"),
  ]);
}
