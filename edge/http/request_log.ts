// The lines of one request in the log: its id, errors and facts, without secrets.
import { oneLine } from "../../src/errors.ts";
import type { RequestFacts } from "./metrics.ts";
import type { LogLevel, Settings } from "./options.ts";
import type { FailureLog } from "./problem.ts";

export interface RequestLog extends FailureLog {
  /** Also a credential that is not in a header, such as that of a form. */
  addSecret(secret: string | undefined): void;
  logMessage(text: string, level: LogLevel): void;
  logRequest(facts: RequestFacts): void;
  /** Deno and `@hono/node-server` print this error. Its reason could quote a secret. */
  createBodyError(): Error;
}

const REQUEST_ID_PATTERN = /^[A-Za-z0-9\-_.]{1,128}$/;

/** The id is that of the request, if it is valid. */
export function createRequestLog(request: Request, settings: Settings): RequestLog {
  const secrets = secretsOf(request);
  const redactText = (text: string) => redact(text, [...settings.secrets, ...secrets]);
  const given = request.headers.get("x-request-id") ?? "";
  const isValid = REQUEST_ID_PATTERN.test(given) && redactText(given) === given;
  const id = isValid ? given : crypto.randomUUID();

  const write = (level: LogLevel, text: string, members: LogMembers) =>
    settings.log(formatLine(settings, level, text, members), level);
  const writeMessage = (text: string, level: LogLevel) => {
    // Redacts first: `oneLine()` changes white space, which a secret can contain.
    const message = limitLength(oneLine(redactText(text)));
    write(level, message, { message, requestId: id });
  };
  return {
    id,
    redact: redactText,
    addSecret(secret) {
      if (secret) secrets.add(secret);
    },
    logFailure(failure, error) {
      writeMessage(`${failure}: ${error instanceof Error ? error.message : error}`, "error");
    },
    logMessage: writeMessage,
    logRequest(facts) {
      const query = Object.entries(facts.query).map(([name, value]) =>
        [name, limitLength(redactText(value))] as const
      );
      const { notes, ...others } = { ...facts, query: Object.fromEntries(query) };
      // Without texts of the rows.
      const { forms: _, fractions: __, ...counts } = notes ?? {};
      const logged = { ...others, ...(Object.keys(counts).length > 0 && { notes: counts }) };
      write(levelOf(facts), describeRequest(logged), { message: "request", ...logged });
    },
    createBodyError() {
      const message = "The download was interrupted (the log has the reason)";
      const line = formatLine(settings, "info", message, { message, requestId: id });
      return Object.assign(new Error(message), {
        stack: `Error: ${message}`,
        [Symbol.for("nodejs.util.inspect.custom")]: () => line,
      });
    },
  };
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
  facts: RequestFacts,
): string {
  const { method, path, query, status, outcome, rows, bytes, milliseconds } = facts;
  const { upstreamRequests, upstreamMilliseconds, waitMilliseconds } = facts;
  const { cause, token, notes = {} } = facts;
  const parameters = Object.entries(query).map(([name, value]) => `${name}=${value}`).join("&");
  const count = (number: number, noun: string) => `${number} ${noun}${number === 1 ? "" : "s"}`;
  const parts = [
    `${method} ${path} ${status} ${outcome}: ${count(rows, "row")}`,
    count(bytes, "byte"),
    `${milliseconds} ms`,
    count(upstreamRequests, "upstream request"),
    ...(upstreamRequests + waitMilliseconds === 0
      ? []
      : [`${waitMilliseconds} ms at the rate limiter`, `${upstreamMilliseconds} ms upstream`]),
    ...(cause === undefined ? [] : [`cause ${cause}`]),
    ...(token === undefined ? [] : [`token ${token}`]),
    ...Object.entries(notes).map(([name, rows]) => `${name} ${rows}`),
    ...(parameters === "" ? [] : [`query ${JSON.stringify(parameters)}`]),
  ];
  return parts.join(", ");
}

function levelOf({ status, outcome }: RequestFacts): LogLevel {
  // 503 is the normal response at a limit. For its other causes, `writeMessage()` writes a second line.
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
