import type { Hono } from "hono";
import type { DataStream } from "../../src/client/datastream.ts";
import type { RateLimiter } from "../../src/client/rate_limiter.ts";
import { defaultFetch } from "../../src/client/options.ts";
import { isResponse } from "../../src/client/transport.ts";
import { startTimeLimit, type TimeLimit } from "../../src/clock.ts";
import { DataStreamError, oneLine } from "../../src/errors.ts";
import { PRODUCTION_URL } from "../../src/service_constants.ts";
import type { RowNotes } from "../../src/formats/tidy.ts";
import type { LogLevel, Settings } from "./options.ts";
import type { Metrics, RequestFacts, RequestOutcome } from "./metrics.ts";
import type { Readiness } from "./readiness.ts";

export interface Recorders {
  settings: Settings;
  metrics: Metrics;
  readiness: Readiness;
  /** Exchanges that have not ended; `undefined` if the runtime does not report ends. */
  open: Set<Exchange> | undefined;
}

/** Handlers read `env.exchange`. */
export type Router = Hono<{ Bindings: { exchange: Exchange } }>;

/** As in nginx. */
export const CLIENT_CLOSED_REQUEST = 499;
const NOT_MODIFIED = 304;
/** For the log and metrics: the path itself may contain a key. */
const UNKNOWN_PATH = "(unknown)";
/** A client can send any other text as a method. */
const KNOWN_METHODS = /^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|TRACE|CONNECT)$/;
/** Maximum wait (ms) of one page or count for the rate limiter, before the response has content. */
const MAX_TURN_WAIT = 20_000;
/** Milliseconds without a response of the service, over all requests before the response has content. */
const MAX_SILENCE = 60_000;
const REQUEST_ID_PATTERN = /^[A-Za-z0-9\-_.]{1,128}$/;

/** A request and its response, with what the log and the metrics say about them. */
export class Exchange {
  readonly id: string;
  /** Set if the app has a route for it. */
  route: string = UNKNOWN_PATH;
  /** URL parameters to log, set when all are valid. */
  query: Readonly<Record<string, string>> = {};
  rows = 0;
  bytes = 0;
  /** Of the rows. */
  notes: RowNotes | undefined;
  /** A stream calls {@linkcode end} itself. */
  isStream = false;
  /** Until the response is known, the status to log if the server stops. */
  #status = 503;
  client: string | undefined;
  /** Time (ms since 1970) of the service's last response. */
  responseDate = 0;
  #upstreamRequests = 0;
  #hasEnded = false;
  readonly #silence = new AbortController();
  /** Does not run while a page arrives. */
  #silenceLimit: TimeLimit | undefined;
  #hasContent = false;
  readonly #startedAt: number;
  readonly #method: string;
  readonly #secrets: Set<string>;

  /** `waitUntil` keeps the request of a Worker alive. */
  constructor(
    /** The page replaces a form by the request of its file. */
    public request: Request,
    readonly connection: unknown,
    readonly recorders: Recorders,
    readonly waitUntil: (promise: Promise<unknown>) => void = () => {},
  ) {
    recorders.open?.add(this);
    this.#startedAt = recorders.settings.clock.now();
    this.#method = request.method;
    this.#secrets = secretsOf(request);
    const given = request.headers.get("x-request-id") ?? "";
    const isValid = REQUEST_ID_PATTERN.test(given) && this.redact(given) === given;
    this.id = isValid ? given : crypto.randomUUID();
  }

  addSecret(secret: string | undefined): void {
    if (secret) this.#secrets.add(secret);
  }

  /** Aborts if the service is silent before the response has content. */
  get silence(): AbortSignal {
    return this.#silence.signal;
  }

  get signal(): AbortSignal {
    return AbortSignal.any([this.request.signal, this.silence]);
  }

  /** Counts the requests of a client, and limits their silence. */
  countRequests(dataStream: DataStream, rateLimiter?: RateLimiter): DataStream {
    const { metrics, readiness, settings } = this.recorders;
    const { fetch = defaultFetch } = settings.dataStreamOptions;
    return dataStream.with({
      ...(rateLimiter && { rateLimiter }),
      maxWait: MAX_TURN_WAIT,
      fetch: async (request: Request) => {
        this.#upstreamRequests++;
        if (this.#silenceLimit === undefined) this.#limitSilence();
        try {
          const response = await fetch(request);
          if (!isResponse(response)) return response; // the client names the option
          this.#silenceLimit?.stop();
          this.#silenceLimit = undefined;
          if (!response.ok) this.#limitSilence();
          const date = Date.parse(response.headers.get("date") ?? "");
          this.responseDate = Number.isNaN(date) ? settings.now() : date;
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

  #limitSilence(): void {
    if (this.#hasContent) return;
    const { clock, dataStreamOptions: { baseUrl: url = PRODUCTION_URL } } = this.recorders.settings;
    const limit = this.#silenceLimit = startTimeLimit(clock, MAX_SILENCE, "no response");
    limit.signal.addEventListener("abort", () => {
      const cause = new DOMException("silence", "TimeoutError");
      this.#silence.abort(
        new DataStreamError(`DataStream sent nothing for ${MAX_SILENCE / 1000} s`, {
          kind: "network",
          isTemporary: true,
          url,
          hint: "try again later",
          cause,
        }),
      );
    });
  }

  logFailure(failure: string, error: unknown): void {
    if (error instanceof DataStreamError) this.recorders.readiness.recordError(error);
    const message = error instanceof Error ? error.message : String(error);
    this.#logMessage("error", `${failure}: ${message}`);
  }

  logWarning(text: string): void {
    this.#logMessage("warn", text);
  }

  #logMessage(level: LogLevel, text: string): void {
    // Redacts first: `oneLine()` changes white space, which a secret can contain.
    const message = limitLength(oneLine(this.redact(text)));
    this.#log(level, message, { message, requestId: this.id });
  }

  #log(level: LogLevel, text: string, members: LogMembers): void {
    const { settings } = this.recorders;
    settings.log(formatLine(settings, level, text, members), level);
  }

  /** Deno and `@hono/node-server` print this error. Its reason could quote a secret. */
  createBodyError(): Error {
    const message = "The download was interrupted (the log has the reason)";
    const members = { message, requestId: this.id };
    const line = formatLine(this.recorders.settings, "info", message, members);
    return Object.assign(new Error(message), {
      stack: `Error: ${message}`,
      [Symbol.for("nodejs.util.inspect.custom")]: () => line,
    });
  }

  /** Ends the exchange unless the body is a stream. */
  async respond(response: Response): Promise<Response> {
    this.#hasContent = true;
    this.#silenceLimit?.stop();
    this.#status = response.status;
    response.headers.set("x-request-id", this.id);
    if (this.isStream) return response;
    let body: BodyInit | null = null;
    if (this.request.method === "HEAD" && response.status !== NOT_MODIFIED) {
      // The stream is open when the headers are sent, so that no server adds `content-length: 0`.
      const { clock } = this.recorders.settings;
      const pull = (body: ReadableStreamDefaultController) =>
        clock.sleep(0).then(() => body.close());
      body = new ReadableStream({ pull }, { highWaterMark: 0 });
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
    this.recorders.open?.delete(this);
    const method = this.#method;
    const { settings: { clock, logRequests }, metrics } = this.recorders;
    const query = Object.entries(this.query).map(([name, value]) =>
      [name, limitLength(this.redact(value))] as const
    );
    // Without texts of the rows.
    const { forms: _, fractions: __, ...notes } = this.notes ?? {};
    const facts: RequestFacts = {
      requestId: this.id,
      method: KNOWN_METHODS.test(method) ? method : "OTHER",
      path: this.route,
      query: Object.fromEntries(query),
      status: this.#status,
      outcome,
      rows: this.rows,
      bytes: this.bytes,
      milliseconds: Math.round(clock.now() - this.#startedAt),
      upstreamRequests: this.#upstreamRequests,
      ...(Object.keys(notes).length > 0 && { notes }),
    };
    metrics.addRequest(facts);
    if (!logRequests) return;
    this.#log(levelOf(facts), describeRequest(facts), { message: "request", ...facts });
  }

  redact(text: string): string {
    return redact(text, [...this.recorders.settings.secrets, ...this.#secrets]);
  }
}

function secretsOf({ headers, url }: Request): Set<string> {
  const authorization = headers.get("authorization")?.trim() ?? "";
  return new Set([
    headers.get("x-api-key")?.trim() ?? "",
    authorization,
    authorization.replace(/^\S+\s+/, ""),
    // In Deno and Bun, an invalid `host` header makes the URL invalid.
    ...(URL.canParse(url) ? new URL(url).searchParams.getAll("signature") : []),
  ]);
}

interface LogMembers {
  message: string;
  requestId: string;
}

function formatLine(
  { logFormat, now }: Settings,
  level: LogLevel,
  text: string,
  members: LogMembers,
): string {
  const time = new Date(now()).toISOString();
  return escapeInvisible(
    logFormat === "json"
      ? JSON.stringify({ time, level, ...members })
      : `${time} ${level} ${members.requestId} ${text}`,
  );
}

/** The query comes last and in quotes, because the client chooses its content. */
function describeRequest(
  { method, path, query, status, outcome, rows, bytes, milliseconds, upstreamRequests, notes = {} }:
    RequestFacts,
): string {
  const parameters = Object.entries(query).map(([name, value]) => `${name}=${value}`).join("&");
  const count = (number: number, noun: string) => `${number} ${noun}${number === 1 ? "" : "s"}`;
  const parts = [
    `${method} ${path} ${status} ${outcome}: ${count(rows, "row")}`,
    count(bytes, "byte"),
    `${milliseconds} ms`,
    count(upstreamRequests, "upstream request"),
    ...Object.entries(notes).map(([name, rows]) => `${name} ${rows}`),
    ...(parameters === "" ? [] : [`query ${JSON.stringify(parameters)}`]),
  ];
  return parts.join(", ");
}

function levelOf({ status, outcome }: RequestFacts): LogLevel {
  // 503 is the normal response at a limit. For its other causes, `logMessage()` writes a second line.
  if (outcome === "failed" || outcome === "interrupted") return "error";
  if (status >= 500 && status !== 503) return "error";
  if (outcome === "disconnected") return "warn";
  return status >= 400 && outcome === "complete" ? "warn" : "info";
}

/** Characters. */
const MAX_LOGGED_LENGTH = 2_000;

function limitLength(text: string): string {
  return text.length > MAX_LOGGED_LENGTH ? `${text.slice(0, MAX_LOGGED_LENGTH)}…` : text;
}

/** Characters that could end a line or change its order; `JSON.stringify()` escapes only some. */
function escapeInvisible(line: string): string {
  return line.replace(
    /[\p{C}\p{Zl}\p{Zp}]/gu,
    (character) =>
      character.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
        .join(""),
  );
}

const REDACTED = "[secret]";

function redact(text: string, secrets: readonly string[]): string {
  // Longest first, because one secret can be the beginning of another. In one pass, because one can be in `REDACTED`.
  const forms = secrets.flatMap(formsOf).filter((form) => form !== "")
    .sort((a, b) => b.length - a.length)
    .map((form) => form.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
  return forms.length === 0 ? text : text.replace(new RegExp(forms.join("|"), "g"), REDACTED);
}

function formsOf(secret: string): string[] {
  const decoded = new URLSearchParams(`secret=${secret.replaceAll("&", "%26")}`).get("secret")!;
  // A secret that was put into a URL unencoded, after the server has decoded it.
  return [secret, decoded].flatMap((text) => [
    text,
    oneLine(text),
    text.replaceAll("'", "''"),
    encodeURIComponent(text.toWellFormed()),
    JSON.stringify(text).slice(1, -1),
  ]);
}
