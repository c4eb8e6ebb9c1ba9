import { describeService, outcomeOf, temporaryFaultOf } from "../../src/client/http_error.ts";
import type { ServiceState } from "../../src/client/rate_limiter.ts";
import {
  DataStreamError,
  type NameOption,
  nameOptions,
  oneLine,
  ValidationError,
} from "../../src/errors.ts";
import { KEY_SOURCE } from "../../src/service_constants.ts";
import { type AccessMode, type Settings, withoutSecretPath } from "./options.ts";
import { PARAMETER_NAMES } from "./parameters.ts";

export interface FailureLog {
  readonly id: string;
  /** For errors that the client did not cause. */
  logFailure(failure: string, error: unknown): void;
  /** Replaces the secrets of the server and of the request. */
  redact(text: string): string;
}

/** RFC 9457, without `type`. `hint` is an extension member. */
interface ProblemDetails {
  status: number;
  /** Does not change between occurrences (RFC 9457, 3.1.3). */
  title: string;
  /** Has the value received. */
  detail: string;
  hint?: string | undefined;
}

/** Why a response has status 503, for the log and the metrics. */
export const UNAVAILABLE_CAUSES = [
  "limit",
  "memory",
  "wait",
  "outage",
  "block",
  "key",
  "changed",
  "other",
] as const;
export type UnavailableCause = typeof UNAVAILABLE_CAUSES[number];

export class HttpProblem extends Error {
  override readonly name = "HttpProblem";
  /** Default `other`. */
  unavailableCause?: UnavailableCause | undefined;
  constructor(readonly details: ProblemDetails, readonly headers: Record<string, string> = {}) {
    super(details.detail);
  }
}

/** A limit of the server or of one client, or a state of the service: the same request of another client can succeed. */
export class LimitReached extends HttpProblem {
  /** `remedy` is another way than to try again. */
  constructor(
    { remedy, cause, ...details }: Omit<ProblemDetails, "hint"> & {
      remedy?: string | undefined;
      cause?: UnavailableCause;
    },
    seconds = LIMIT_RETRY_DELAY,
    readonly service: ServiceState["is"] = "answering",
  ) {
    const tryAgain = `try again after ${seconds} s`;
    const hint = remedy === undefined ? tryAgain : `${remedy}, or ${tryAgain}`;
    super({ ...details, hint }, { "retry-after": String(seconds) });
    this.unavailableCause = STATE_CAUSES[service] ?? cause;
  }
}
const STATE_CAUSES: Partial<Record<ServiceState["is"], UnavailableCause>> = {
  silent: "outage",
  blocked: "block",
  "key rejected": "key",
};
/** Seconds. */
const LIMIT_RETRY_DELAY = 30;

/** Of a server that has only a mirror. */
export function noServerKey(): HttpProblem {
  const problem = new HttpProblem({
    status: 503,
    title: TITLES[401]!,
    detail: "This server has no API key of DataStream, and serves only the files of its mirror",
    hint: "use a URL of the list /mirror.json, or ask the operator of this server to set a key",
  });
  return withCause(problem, "key");
}

export function withCause(problem: HttpProblem, cause: UnavailableCause): HttpProblem {
  problem.unavailableCause = cause;
  return problem;
}

export function problemResponse(
  details: ProblemDetails,
  headers: Record<string, string> = {},
): Response {
  return new Response(JSON.stringify({ type: "about:blank", ...details }), {
    status: details.status,
    headers: {
      "content-type": "application/problem+json",
      "cache-control": "no-store",
      ...headers,
    },
  });
}

/** By option, also of the server. Other options have their own names. */
const NAMES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(PARAMETER_NAMES),
  invalidValues: "allowInvalid",
  url: "The URL",
  "within.west": "The west side of bbox",
  "within.south": "The south side of bbox",
  "within.east": "The east side of bbox",
  "within.north": "The north side of bbox",
  apiKey: "The header x-api-key",
};

/** Names URL parameters instead of options. With a value: the parameter that sets it. */
const nameParameter: NameOption = (option, value) => {
  const name = Object.hasOwn(NAMES, option) ? NAMES[option]! : option;
  if (value === undefined) return name;
  const text = option === "invalidValues" ? "true" : value === "\t" ? "tab" : String(value);
  return `${name}=${text}`;
};

export function toProblem(error: unknown): HttpProblem | undefined {
  if (error instanceof HttpProblem) return error;
  if (!(error instanceof ValidationError)) return undefined;
  const { option, problem } = error;
  return new HttpProblem({
    status: 400,
    title: TITLES[400]!,
    detail: oneLine(`${nameParameter(option)} ${problem}`),
    hint: oneLine(nameOptions(error.hint, nameParameter)) || undefined,
  });
}

/** This server is a gateway to the service (RFC 9110, 15.6.3). Otherwise 502. */
const GATEWAY_STATUS: Record<number, number> = {
  400: 400,
  408: 504,
  // Means that the result is too large, as in the service. In RFC 9110, the request is too large.
  413: 413,
  // The rate limit of the service applies to all clients of this server together.
  429: 503,
  504: 504,
};
const TITLES: Record<number, string> = {
  400: "Bad request",
  401: "No API key",
  403: "API key refused",
  413: "Result too large",
  502: "DataStream error",
  503: "DataStream is busy",
  504: "DataStream timeout",
};
const STATE_TITLES: Partial<Record<ServiceState["is"], string>> = {
  "key rejected": TITLES[403]!,
  blocked: TITLES[503]!,
};
const NARROW_QUERY_HINT = "select fewer fields or narrow the filter";
/** Replace hints of `DataStream` that suggest a lower page size: the server sets it. */
const STATUS_HINTS: Record<number, string> = {
  413: NARROW_QUERY_HINT,
  504: `try again; if it fails again, ${NARROW_QUERY_HINT}`,
};
export function requestIdHint(requestId: string): string {
  return "try again later; if it fails again, send the operator of this server the request id " +
    `${requestId}, which is in its log`;
}
/** Seconds, if the service does not send `retry-after`. */
const DEFAULT_RETRY_DELAY = 5;

/** A state of the service as a problem. */
export function serviceProblem(
  service: ServiceState,
  { now, access }: Pick<Settings, "now" | "access">,
  { status, retryAfter = 0 }: { status: number; retryAfter?: number | undefined } = { status: 503 },
): LimitReached {
  const { is, wait } = service;
  const title = STATE_TITLES[is] ?? "DataStream does not answer";
  const owner = access === "caller"
    ? `send another API key, or request one at ${KEY_SOURCE}`
    : "ask the operator of this server to set another API key";
  const remedy = is === "key rejected" ? owner : undefined;
  const seconds = Math.ceil(Math.max(wait, retryAfter) / 1000);
  return new LimitReached(
    { status, title, detail: describeService(service, now()), remedy },
    Math.max(is === "silent" ? DEFAULT_RETRY_DELAY : 1, seconds),
    is,
  );
}

function isKeyError({ kind, status, isTemporary }: DataStreamError): boolean {
  return kind === "status" && (status === 401 || status === 403 && !isTemporary);
}

/** Whether an error is about the service or the key, and not about one query. */
function isAboutService(error: DataStreamError): boolean {
  const { kind, retryAfter } = error;
  if (kind === "rate-limit") return retryAfter !== undefined;
  return isKeyError(error) || outcomeOf(error) !== undefined ||
    kind === "page" && error.isTemporary;
}

/** Returns the problem of an error, and records why its status is 503. */
export function toServiceProblem(
  error: unknown,
  task: string,
  settings: Settings,
  exchange: FailedExchange & { facts: { cause?: UnavailableCause | undefined } },
): unknown {
  const problem = problemOf(error, task, settings, exchange);
  if (problem instanceof HttpProblem) exchange.facts.cause = problem.unavailableCause;
  return problem;
}

interface FailedExchange {
  log: FailureLog;
  upstream: { service(): ServiceState };
}

// The problem never has the API key or the URL of the service. Without a status, or with 502, its
// detail is general: the client could not use the error, which is in the log.
function problemOf(
  error: unknown,
  task: string,
  settings: Settings,
  { log, upstream }: FailedExchange,
): unknown {
  if (!(error instanceof DataStreamError)) return error;
  const service = upstream.service();
  const { access, maxRows } = settings;
  if (error.kind === "too-many-rows") {
    const problem = { status: 413, title: TITLES[413]! };
    if (error.option === "format") {
      const hint = nameOptions(error.hint, nameParameter);
      return new HttpProblem({ ...problem, detail: error.detail, hint });
    }
    const hint = "narrow the filter, by years or regions";
    // Otherwise it is a limit of the page, whose requests have no parameter for it.
    const isOfServer = error.expectedRows! > maxRows;
    if (!isOfServer) return new HttpProblem({ ...problem, detail: error.detail, hint });
    const detail = `The result has ${error.expectedRows} rows, and this server allows ${maxRows}`;
    return new HttpProblem({ ...problem, detail, hint: `${hint}, or set limit=${maxRows}` });
  }
  const status = statusFor(error, access);
  const isOfLimiter = error.kind === "rate-limit";
  // The rate limiter refused a request: a limit or a known state, not a failure.
  const isRefusal = error.retryAfter !== undefined &&
    (error.kind !== "status" || isKeyError(error));
  if (status >= 500 && !isRefusal) log.logFailure(`${task} failed`, error);
  if (service.is !== "answering" && isAboutService(error)) {
    return serviceProblem(service, settings, { status, retryAfter: error.retryAfter });
  }
  const { retryAfter = 1000 * DEFAULT_RETRY_DELAY } = error;
  const seconds = Math.max(1, Math.ceil(retryAfter / 1000));
  const headers = status === 503 ? { "retry-after": String(seconds) } : undefined;
  const title = isOfLimiter && !isRefusal ? "Rate limiter failed" : TITLES[status]!;
  const isSilent = error.status === undefined && error.retryAfter === undefined;
  // The client can accept a value that does not fit its column.
  const isMisfit = error.option === "invalidValues";
  if ((isSilent || status === 502) && !isMisfit) {
    const detail = isOfLimiter
      ? "The rate limiter of this server failed"
      : "DataStream did not return a complete response";
    const problem = { status, title, detail, hint: requestIdHint(log.id) };
    return withCause(new HttpProblem(problem, headers), "outage");
  }
  // A message of the service can contain its address.
  const { origin } = new URL(error.url);
  const detail = log.redact(
    withoutSecretPath(error.detail, settings, origin).replaceAll(origin, "DataStream"),
  );
  const hint = status === 503
    ? `try again after ${seconds} s`
    : STATUS_HINTS[status] ?? nameOptions(error.hint, nameParameter);
  // The service asked this query to wait, or the rate limiter did.
  return withCause(new HttpProblem({ status, title, detail, hint }, headers), "wait");
}

function statusFor(error: DataStreamError, access: AccessMode): number {
  const { kind, status, retryAfter, cause } = error;
  if (kind === "refused") return 400;
  // The key is the client's own, so the client can correct it.
  if (access === "caller" && isKeyError(error)) return status!;
  if (cause instanceof Error && cause.name === "TimeoutError") return 504;
  const isNotSent = status === undefined && retryAfter !== undefined;
  if (kind === "rate-limit" || isNotSent || temporaryFaultOf(error) === "block") return 503;
  if (status === 503 && retryAfter !== undefined) return 503;
  if (status === undefined) return 502;
  return GATEWAY_STATUS[status] ?? 502;
}
