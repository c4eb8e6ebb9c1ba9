import { oneLine } from "../../src/errors.ts";
import type { LogLevel, Settings } from "../options.ts";

/**
 * How a response ended: `aborted` by the client, `disconnected` by the server because the client
 * reads too slowly, `failed` after its first byte, or `interrupted` because the server stopped.
 */
export type RequestOutcome = "complete" | "aborted" | "disconnected" | "failed" | "interrupted";

export interface RequestFacts {
  requestId: string;
  /** `OTHER` for an unknown one. */
  method: string;
  /** `(unknown)` without a route. */
  path: string;
  /** A value can contain a secret. */
  query: Readonly<Record<string, string>>;
  status: number;
  outcome: RequestOutcome;
  rows: number;
  /** Bytes passed to the runtime. */
  bytes: number;
  /** From the request to the end of the response. */
  milliseconds: number;
  upstreamRequests: number;
}

export interface FailureLog {
  readonly id: string;
  /** For errors that the client did not cause. */
  logFailure(failure: string, error: unknown): void;
}

export type Redact = (text: string) => string;

type LogSettings = Pick<Settings, "log" | "logFormat" | "logRequests" | "now">;

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

/** Deno and `@hono/node-server` print this error. Its reason could quote a secret. */
export function createBodyError(settings: LogSettings, requestId: string): Error {
  const message = "The download was interrupted (the log has the reason)";
  const line = formatLine(settings, "info", message, { message, requestId });
  return Object.assign(new Error(message), {
    stack: `Error: ${message}`,
    [Symbol.for("nodejs.util.inspect.custom")]: () => line,
  });
}

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

/** The query comes last and in quotes, because the client chooses its content. */
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

/** Uses the system clock if `now` fails: logging never throws. */
export function toIsoTime(now: () => number): string {
  try {
    return new Date(now()).toISOString();
  } catch {
    return new Date().toISOString();
  }
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

/** Replaces secrets, also in the forms that a URL, a message, a filter and JSON have. */
export function createRedactor(secrets: Iterable<string>): Redact {
  const forms = new Set([...secrets].flatMap(formsOf).filter((form) => form !== ""));
  if (forms.size === 0) return (text) => text;
  // Longest first, because one secret can be the beginning of another.
  const alternatives = [...forms].sort((a, b) => b.length - a.length)
    .map((form) => form.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
  const pattern = new RegExp(alternatives.join("|"), "g");
  return (text) => text.replace(pattern, REDACTED);
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

/** In Deno and Bun, an invalid `host` header makes the URL invalid. */
export function searchParamsOf(url: string): URLSearchParams {
  return URL.canParse(url) ? new URL(url).searchParams : new URLSearchParams();
}
