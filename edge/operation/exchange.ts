import type { Hono } from "hono";
import type { DataStream } from "../../src/client/datastream.ts";
import type { RateLimiter } from "../../src/client/rate_limiter.ts";
import { defaultFetch } from "../../src/client/transport.ts";
import { DataStreamError } from "../../src/errors.ts";
import { PRODUCTION_URL } from "../../src/service_constants.ts";
import type { Metrics } from "./metrics.ts";
import type { LogLevel, Settings } from "../options.ts";
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
import { StartDeadline } from "../downloads/start_deadline.ts";

export interface Recorders {
  settings: Settings;
  metrics: Metrics;
  readiness: Readiness;
  /** `undefined` if the runtime does not tell the end of each. */
  open: Set<Exchange> | undefined;
}

/** Handlers read `env.exchange`. */
export type Router = Hono<{ Bindings: { exchange: Exchange } }>;

/** The client has already disconnected; as in nginx. */
export const CLIENT_CLOSED_REQUEST = 499;
/** Has no body (RFC 9110, section 15.4.5). */
const NOT_MODIFIED = 304;
/** For the log and metrics: the path itself may contain a key. */
const UNKNOWN_PATH = "(unknown)";
/** A client can send any other text as a method. */
const KNOWN_METHODS = /^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|TRACE|CONNECT)$/;
/** Maximum wait (ms) of one page or count for the rate limiter, before the response has content. */
const MAX_TURN_WAIT = 20_000;
const REQUEST_ID_PATTERN = /^[A-Za-z0-9\-_.]{1,128}$/;

export class Exchange implements FailureLog {
  readonly id: string;
  /** Set if the app has a route for it. */
  route: string = UNKNOWN_PATH;
  /** URL parameters to log, set when all are valid. */
  query: Readonly<Record<string, string>> = {};
  rows = 0;
  /** Bytes of the body that the server has passed to the runtime. */
  bytes = 0;
  /** A stream calls {@linkcode end} itself. */
  isStream = false;
  /** Until the response is known, the status to log if the server stops. */
  #status = 503;
  client: string | undefined;
  /** Time (ms since 1970) of the service's last response. */
  responseDate = 0;
  #upstreamRequests = 0;
  #hasEnded = false;
  readonly deadline: StartDeadline;
  readonly #startedAt: number;
  readonly #secrets: Set<string>;
  readonly #recorders: Recorders;

  /** `waitUntil` keeps the request of a Worker alive. */
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

  addSecret(secret: string | undefined): void {
    if (secret) this.#secrets.add(secret);
  }

  /** Aborts when the client disconnects, or DataStream is silent before the first content. */
  get signal(): AbortSignal {
    return AbortSignal.any([this.request.signal, this.deadline.signal]);
  }

  /** Counts the requests of a client, which obeys the deadline of this exchange. */
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

  createBodyError(): Error {
    return createBodyError(this.#recorders.settings, this.id);
  }

  readonly logWarning = (text: string): void => this.#logMessage("warn", text);

  #logMessage(level: LogLevel, text: string): void {
    logMessage(this.#recorders.settings, level, this.id, text, this.#redact);
  }

  /** Ends the exchange unless the body is a stream. */
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

  /** Later calls have no effect. */
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

  readonly #redact = (text: string): string =>
    createRedactor([...this.#recorders.settings.secrets, ...this.#secrets])(text);

  /** 0 if the clock fails: logging never throws. */
  #now(): number {
    try {
      return this.#recorders.settings.clock.now();
    } catch {
      return 0;
    }
  }
}

function secretsOf({ headers, url }: Request): Set<string> {
  const authorization = headers.get("authorization")?.trim() ?? "";
  return new Set([
    headers.get("x-api-key")?.trim() ?? "",
    authorization,
    authorization.replace(/^\S+\s+/, ""),
    ...searchParamsOf(url).getAll("signature"),
  ]);
}
