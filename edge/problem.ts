import { DataStreamError, oneLine, ValidationError } from "../src/errors.ts";
import type { Settings } from "./options.ts";

/** A problem document (RFC 9457), without its type. */
interface Problem {
  /** HTTP status. */
  status: number;
  /** Kind of problem, the same text for each request that has it. */
  title: string;
  /** What failed in this request, and the value received. */
  detail: string;
  /** What to do next. */
  hint?: string | undefined;
}

/** An error that ends the handling of a request with a problem document. */
export class HttpProblem extends Error {
  override readonly name = "HttpProblem";
  /**
   * @param problem Content of the response
   * @param headers Further headers of the response
   */
  constructor(readonly problem: Problem, readonly headers: Record<string, string> = {}) {
    super(problem.detail);
  }
}

/** Creates the response for a problem. */
export function problemResponse(problem: Problem, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify({ type: "about:blank", ...problem }), {
    status: problem.status,
    headers: {
      "content-type": "application/problem+json",
      "cache-control": "no-store",
      ...headers,
    },
  });
}

/** Names in a request of the options that a {@linkcode ValidationError} can name. */
const REQUEST_NAMES: Readonly<Record<string, string>> = {
  url: "The URL",
  select: "$select",
  filter: "$filter",
  top: "$top",
  skipToken: "$skiptoken",
  format: "$format",
  within: "bbox",
  "within.west": "The west side of the box",
  "within.south": "The south side of the box",
  "within.east": "The east side of the box",
  "within.north": "The north side of the box",
  apiKey: "The header x-api-key",
};

/**
 * Returns the problem that an error describes to the client of the server.
 *
 * @returns The problem, 400 for a `ValidationError`; `undefined` for an error of the server itself
 */
export function toProblem(error: unknown): HttpProblem | undefined {
  if (error instanceof HttpProblem) return error;
  if (!(error instanceof ValidationError)) return undefined;
  const { option, problem } = error;
  const name = Object.hasOwn(REQUEST_NAMES, option) ? REQUEST_NAMES[option]! : option;
  return new HttpProblem({
    status: 400,
    title: TITLES[400]!,
    detail: oneLine(`${name} ${problem}`),
    hint: oneLine(error.hintFor(REQUEST_NAMES)) || undefined,
  });
}

/** Status of the response for a status of the service; 502 for any other. */
const STATUSES: Record<number, number> = {
  400: 400,
  408: 504,
  413: 413,
  429: 503,
  504: 504,
};
const TITLES: Record<number, string> = {
  400: "Bad request",
  401: "No API key",
  403: "API key refused",
  413: "Result too large",
  502: "Error of the service",
  503: "The service is busy",
  504: "Timeout of the service",
};
const REDUCE = "select fewer fields or narrow the filter";
/** Hints that replace those of the client, which name its own options. */
const STATUS_HINTS: Record<number, string> = {
  413: REDUCE,
  504: `try again; if it fails again, ${REDUCE}`,
};
/** Hint for an error that only the operator of the server can resolve. */
const OPERATOR_HINT =
  "try again later; if it fails again, tell the operator of this server, whose log has the details";
/** Delay (s) before a retry if the service does not say how long to wait. */
const DEFAULT_RETRY_DELAY = 5;

/**
 * Converts an error of the service to a problem. It never contains the API key; an error that the
 * client of the server did not cause is logged, and its details are not part of the problem.
 *
 * @param error Error of a query
 * @param task What failed, for the log
 * @returns The problem, or the same error if it is not a `DataStreamError`
 */
export function toServiceProblem(
  error: unknown,
  task: string,
  { access, log, maxRows }: Settings,
): unknown {
  if (!(error instanceof DataStreamError)) return error;
  if (error.kind === "too-many-rows") {
    return new HttpProblem({
      status: 413,
      title: TITLES[413]!,
      detail: `The result has ${error.expectedRows} rows, and this server allows ${maxRows}`,
      hint: `narrow the filter, by years or regions, or set limit=${maxRows}`,
    });
  }
  const { status: received, retryAfter } = error;
  const isCallersKey = access === "caller" && (received === 401 || received === 403);
  const isTimeout = error.cause instanceof Error && error.cause.name === "TimeoutError";
  const status = isCallersKey ? received! : isTimeout ? 504 : STATUSES[received ?? 0] ?? 502;
  if (status >= 500) log(`${task} failed: ${oneLine(error)}`);
  const seconds = retryAfter === undefined
    ? DEFAULT_RETRY_DELAY
    : Math.max(1, Math.ceil(retryAfter / 1000));
  const isInternal = received === undefined || status === 502;
  return new HttpProblem({
    status,
    title: TITLES[status]!,
    detail: isInternal
      ? "The service did not return a complete response"
      : error.detail.replace(/https?:\/\/\S+/g, "The service"),
    hint: isInternal ? OPERATOR_HINT : STATUS_HINTS[status] ?? error.hint,
  }, status === 503 ? { "retry-after": String(seconds) } : {});
}
