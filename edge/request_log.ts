// Lines of the log, in text or JSON, without secrets.
import { oneLine } from "../src/errors.ts";
import type { LogLevel, Settings } from "./options.ts";

/**
 * How a response ended: `complete` with any status, `aborted` by the client, `disconnected` by the server,
 * `failed` after its first byte, or `interrupted` because the server stopped. The server disconnects a client
 * that reads nothing or too slowly.
 */
export type RequestOutcome = "complete" | "aborted" | "disconnected" | "failed" | "interrupted";

/** Facts about a request that has ended, in the order of the log. */
export interface RequestFacts {
  requestId: string;
  /** HTTP method; `OTHER` for an unknown one. */
  method: string;
  /** Path, if the app has a route for it; else `(unknown)`. */
  path: string;
  /** Valid URL parameters. A value can contain a secret. */
  query: Readonly<Record<string, string>>;
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

/** Settings of the log. */
type LogSettings = Pick<Settings, "log" | "logFormat" | "logRequests" | "now">;

/** Writes a line about a request that has ended, unless only errors are logged. */
export function logRequest(settings: LogSettings, facts: RequestFacts, redact: Redact): void {
  if (!settings.logRequests) return;
  const query = Object.fromEntries(
    Object.entries(facts.query).map(([name, value]) => [name, limitLength(redact(value))]),
  );
  const redacted = { ...facts, query };
  const level = levelOf(facts);
  const members = { message: "request", ...redacted };
  settings.log(formatLine(settings, level, describeRequest(redacted), members), level);
}

/**
 * Writes a line about an error, a client or the configuration of the server.
 *
 * @param requestId Id of the request to which the line belongs
 */
export function logMessage(
  settings: LogSettings,
  level: LogLevel,
  requestId: string,
  text: string,
  redact: Redact,
): void {
  // Redacts first: `oneLine()` changes white space, which a secret can contain.
  const message = limitLength(oneLine(redact(text)));
  settings.log(formatLine(settings, level, message, { message, requestId }), level);
}

/**
 * Creates the error of a response body that fails. It does not contain the reason, which can quote a secret.
 *
 * Deno and `@hono/node-server` print this error. Its custom inspection makes that a line of the log.
 *
 * @param requestId Id of the request whose response fails
 */
export function createBodyError(settings: LogSettings, requestId: string): Error {
  const message = "The download was interrupted (the log has the reason)";
  const line = formatLine(settings, "info", message, { message, requestId });
  return Object.assign(new Error(message), {
    stack: `Error: ${message}`,
    [Symbol.for("nodejs.util.inspect.custom")]: () => line,
  });
}

/** Formats a line: plain text, or one JSON object. */
function formatLine(
  { logFormat, now }: LogSettings,
  level: LogLevel,
  text: string,
  members: { message: string; requestId: string },
): string {
  const time = toIsoTime(now);
  return escapeInvisible(
    logFormat === "json"
      ? JSON.stringify({ time, level, ...members })
      : `${time} ${level} ${members.requestId} ${text}`,
  );
}

/**
 * Formats a request as text. The query comes last and in quotes, because the client chooses its content.
 */
function describeRequest(
  { method, path, query, status, outcome, rows, bytes, milliseconds, upstreamRequests }:
    RequestFacts,
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
  // 503 is the normal response at a limit. For its other causes, `logMessage()` writes a second line.
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

/** Creates a function that replaces secrets, also in the forms that a URL, a message, a filter and JSON have. */
export function createRedactor(secrets: Iterable<string>): Redact {
  const forms = new Set([...secrets].flatMap(formsOf).filter((form) => form !== ""));
  if (forms.size === 0) return (text) => text;
  // Longest first, because one secret can be the beginning of another.
  const alternatives = [...forms].sort((a, b) => b.length - a.length)
    .map((form) => form.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
  const pattern = new RegExp(alternatives.join("|"), "g");
  return (text) => text.replace(pattern, REDACTED);
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

/**
 * Returns the URL parameters of a request; none if its URL is invalid. In Deno and Bun, an
 * invalid `host` header makes the URL invalid.
 */
export function searchParamsOf(url: string): URLSearchParams {
  return URL.canParse(url) ? new URL(url).searchParams : new URLSearchParams();
}
