// Lines of the log, in text or JSON, without secrets.
import { oneLine } from "../src/errors.ts";
import { FORMAT_NAMES, FORMATS } from "../src/formats/formats.ts";
import { parseBox } from "../src/odata/bounding_box.ts";
import { clausesOf } from "../src/odata/query_options.ts";
import { fieldNames, FILTER_FIELDS, type ResourceName, RESOURCES } from "../src/odata/resources.ts";
import type { LogLevel, Settings } from "./options.ts";

/**
 * How a response ended: `complete` with any status, `aborted` by the client, `disconnected` by the server,
 * `failed` after its first byte, or `interrupted` because the server stopped. The server disconnects a client
 * that reads nothing or too slowly.
 */
export type RequestOutcome = "complete" | "aborted" | "disconnected" | "failed" | "interrupted";

/** Facts about a request that has ended. */
export interface RequestFacts {
  /** Request id. */
  id: string;
  /** HTTP method; `OTHER` for an unknown one. */
  method: string;
  /** Path, if the app has a route for it; else `(unknown)`. */
  path: string;
  /** URL of the request. It can contain a secret. */
  url: string;
  status: number;
  outcome: RequestOutcome;
  /** Number of rows, or citations, in the response. */
  rows: number;
  /** Number of bytes of the body that the server passed to the runtime. */
  bytes: number;
  /** Duration (ms) from the request to the end of the response. */
  milliseconds: number;
  /** Number of requests to DataStream. */
  upstreamRequests: number;
}

/** Writes errors of one request to the log. */
export interface FailureLog {
  /** Request id, which each line contains. */
  readonly id: string;
  /**
   * Logs an error that the client did not cause.
   *
   * @param failure Start of the message, such as "Download of Records failed"
   * @param error Error whose message follows
   */
  logFailure(failure: string, error: unknown): void;
}

/** Replaces secrets in a text by `[secret]`. */
export type Redact = (text: string) => string;

/** Writes the log. Each line is plain text or one JSON object. */
export class RequestLog {
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** Writes a line about a request that has ended, unless only errors are logged. */
  addRequest(facts: RequestFacts, redact: Redact): void {
    if (!this.#settings.logRequests) return;
    const query = Object.fromEntries(
      loggedQuery(facts.url).map(([name, value]) => [name, limitLength(redact(value))]),
    );
    this.#write(levelOf(facts), facts.id, describeRequest(facts, query), {
      message: "request",
      requestId: facts.id,
      method: facts.method,
      path: facts.path,
      query,
      status: facts.status,
      outcome: facts.outcome,
      rows: facts.rows,
      bytes: facts.bytes,
      milliseconds: facts.milliseconds,
      upstreamRequests: facts.upstreamRequests,
    });
  }

  /**
   * Writes a line about an error.
   *
   * @param id Id of the request that caused the error
   */
  addError(id: string, text: string, redact: Redact): void {
    this.#addMessage("error", id, text, redact);
  }

  /**
   * Writes a line about a client or the configuration of the server.
   *
   * @param id Id of the request to which the line belongs
   */
  addWarning(id: string, text: string, redact: Redact): void {
    this.#addMessage("warn", id, text, redact);
  }

  #addMessage(level: LogLevel, id: string, text: string, redact: Redact): void {
    // Redacts first: `oneLine()` changes white space, which a secret can contain.
    const message = limitLength(oneLine(redact(text)));
    this.#write(level, id, message, { message, requestId: id });
  }

  /**
   * Creates the error of a response body that fails. It does not contain the reason, which can quote a secret.
   *
   * Deno and `@hono/node-server` print this error. Its custom inspection makes that a line of the log.
   *
   * @param id Id of the request whose response fails
   */
  createBodyError(id: string): Error {
    const message = "The download was interrupted (the log has the reason)";
    const line = this.#format("info", id, message, { message, requestId: id });
    return Object.assign(new Error(message), {
      stack: `Error: ${message}`,
      [Symbol.for("nodejs.util.inspect.custom")]: () => line,
    });
  }

  #write(level: LogLevel, id: string, text: string, members: Record<string, unknown>): void {
    this.#settings.log(this.#format(level, id, text, members), level);
  }

  #format(level: LogLevel, id: string, text: string, members: Record<string, unknown>): string {
    const { logFormat, now } = this.#settings;
    const time = toIsoTime(now);
    return escapeInvisible(
      logFormat === "json"
        ? JSON.stringify({ time, level, ...members })
        : `${time} ${level} ${id} ${text}`,
    );
  }
}

/**
 * Formats a request as text. The query comes last and in quotes, because the client chooses its content.
 */
function describeRequest(
  { method, path, status, outcome, rows, bytes, milliseconds, upstreamRequests }: RequestFacts,
  query: Readonly<Record<string, string>>,
): string {
  const parameters = Object.entries(query).map(([name, value]) => `${name}=${value}`).join("&");
  const count = (number: number, noun: string) => `${number} ${noun}${number === 1 ? "" : "s"}`;
  const parts = [
    `${method} ${path} ${status} ${outcome}: ${count(rows, "row")}`,
    count(bytes, "byte"),
    `${milliseconds} ms`,
    count(upstreamRequests, "upstream request"),
    ...(parameters === "" ? [] : [`query ${JSON.stringify(parameters)}`]),
  ];
  return parts.join(", ");
}

function levelOf({ status, outcome }: RequestFacts): LogLevel {
  // 503 is the normal response at a limit. For its other causes, `addError()` writes a second line.
  if (outcome === "failed" || outcome === "interrupted") return "error";
  if (status >= 500 && status !== 503) return "error";
  if (outcome === "disconnected") return "warn";
  return status >= 400 && outcome === "complete" ? "warn" : "info";
}

/** Formats the current time as ISO 8601. Uses the system clock if `now` fails, so that logging never throws. */
export function toIsoTime(now: () => number): string {
  try {
    return new Date(now()).toISOString();
  } catch {
    return new Date().toISOString();
  }
}

/** Maximum length (characters) of a message and of a URL parameter's value. */
const MAX_LOGGED_LENGTH = 2_000;

function limitLength(text: string): string {
  return text.length > MAX_LOGGED_LENGTH ? `${text.slice(0, MAX_LOGGED_LENGTH)}…` : text;
}

/**
 * Escapes characters that could end a line or change the order of the text on a screen: control
 * characters, direction marks, line separators. `JSON.stringify()` escapes only some of them.
 */
function escapeInvisible(line: string): string {
  return line.replace(
    /[\p{C}\p{Zl}\p{Zp}]/gu,
    (character) =>
      character.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
        .join(""),
  );
}

/** Text in place of a secret. */
const REDACTED = "[secret]";

/** Maximum number of times that a text is decoded to find a secret. */
const MAX_DECODINGS = 5;

/**
 * Creates a function that replaces secrets, also in encoded form, in one pass. If a secret is percent-encoded in
 * another way, for example twice, it replaces the whole text.
 */
export function createRedactor(secrets: Iterable<string>): Redact {
  const forms = new Set([...secrets].flatMap(formsOf).filter((form) => form !== ""));
  if (forms.size === 0) return (text) => text;
  // Longest first, because one secret can be the beginning of another.
  const alternatives = [...forms].sort((a, b) => b.length - a.length)
    .map((form) => form.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
  const pattern = new RegExp(alternatives.join("|"), "g");
  return (text) => {
    const redacted = text.replace(pattern, REDACTED);
    return decodedForms(redacted).some((one) => one.search(pattern) >= 0) ? REDACTED : redacted;
  };
}

/** Percent-decodes a text repeatedly. Returns all results. */
function decodedForms(text: string, depth = MAX_DECODINGS): string[] {
  const decoded = text
    .replace(/%(?:25)+(?=[\da-f]{2})/gi, "%") // a percent sign that was encoded any number of times
    .replace(/(?:%[\da-f]{2})+/gi, (run) => {
      const bytes = run.slice(1).split("%").map((hex) => parseInt(hex, 16));
      return new TextDecoder().decode(new Uint8Array(bytes));
    });
  return decoded === text || depth === 0 ? [] : [decoded, ...decodedForms(decoded, depth - 1)];
}

/** Returns the forms of a secret in a URL, a message, a filter and JSON. */
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

const isBooleanText = (text: string) => /^(true|false|1|0)$/.test(text);
const isDigits = (text: string) => /^\d{1,15}$/.test(text);

/**
 * URL parameters to log, each with a function that validates its value. An invalid value is not logged,
 * because it may be a key in the wrong place. `filename` can be any text, so it is never logged.
 */
export const LOGGED_PARAMETERS: Readonly<Record<string, (value: string) => boolean>> = {
  $select: (value) => value.split(",").every((name) => FIELD_NAMES.has(name.trim())),
  $filter(value) {
    const clauses = clausesOf(value);
    return clauses.length > 0 && clauses.every(({ field }) => Object.hasOwn(FILTER_FIELDS, field));
  },
  $top: isDigits,
  $skiptoken: (value) => /^Id:\d{1,15}$/.test(value),
  $count: isBooleanText,
  $format(value) {
    const name = value.toLowerCase();
    return FORMAT_NAMES.some((format) => name === format || name === FORMATS[format].mediaType);
  },
  limit: isDigits,
  bbox: (value) => parseBox(value) !== undefined,
  separator: (value) => value === "tab" || value.length === 1,
  bom: isBooleanText,
  header: isBooleanText,
  escapeFormulas: isBooleanText,
};

const FIELD_NAMES = new Set<string>(
  (Object.keys(RESOURCES) as ResourceName[]).flatMap((name) => fieldNames(name)),
);

/** Returns the URL parameters to log: known names only, and `[invalid]` for an invalid value. */
function loggedQuery(url: string): [name: string, value: string][] {
  const searchParams = searchParamsOf(url);
  return Object.entries(LOGGED_PARAMETERS).flatMap(([name, isValid]) => {
    const value = searchParams.get(name);
    return value === null ? [] : [[name, isValid(value) ? value : "[invalid]"]];
  });
}

/**
 * Returns the URL parameters of a request; none if its URL is invalid. In Deno and Bun, an
 * invalid `host` header makes the URL invalid.
 */
export function searchParamsOf(url: string): URLSearchParams {
  return URL.canParse(url) ? new URL(url).searchParams : new URLSearchParams();
}
