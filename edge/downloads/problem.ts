import { type DataStreamError, oneLine } from "../../src/errors.ts";

/** A problem to answer with (RFC 9457). */
export interface Problem {
  status: number;
  title: string;
  /** What was wanted and what came. */
  detail: string;
  /** What to do next. */
  hint?: string;
}

/** A problem that ends the handling of a request. */
export class HttpProblem extends Error {
  override readonly name = "HttpProblem";
  /**
   * @param problem What to answer
   * @param headers What else to say
   */
  constructor(readonly problem: Problem, readonly headers: Record<string, string> = {}) {
    super(problem.detail);
  }
}

/** A problem as an answer. */
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

/** How the service's statuses are told to a caller; any other is 502. */
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
  502: "The service did not give a page",
  503: "The service is busy",
  504: "The service took too long",
};
/** What a caller is told where the hint is for whoever runs the server. */
const SERVERS_HINT = "tell whoever runs this server; its log says more";
/** Seconds to wait where the service does not say how long. */
const SOME_SECONDS = 5;

/** A request that names, or leaves out, what it must not. */
export function badRequest(error: unknown): HttpProblem {
  const [detail, hint] = splitHint(oneLine(error));
  return new HttpProblem({ status: 400, title: TITLES[400]!, detail, hint });
}

/** What was wrong, and what to do, where the message says both; else it says all. */
function splitHint(message: string): [detail: string, hint: string] {
  const found = /^(.*\S): (did you mean .*)$/.exec(message);
  return found ? [found[1]!, found[2]!] : [message, "correct the URL; see / for what there is"];
}

/**
 * A fault of the service as a problem; never with the key.
 *
 * @param error What came before the first page
 * @param isCallersKey Whether the key was the caller's own, so that its refusal is the caller's matter
 */
export function faultProblem(error: DataStreamError, isCallersKey: boolean): HttpProblem {
  const { status: given, detail, retryAfter } = error;
  const isRefused = given === 401 || given === 403;
  const status = isCallersKey && isRefused ? given : STATUSES[given ?? 0] ?? 502;
  const hint = isRefused && !isCallersKey ? SERVERS_HINT : error.hint;
  const seconds = retryAfter === undefined
    ? SOME_SECONDS
    : Math.max(1, Math.ceil(retryAfter / 1000));
  return new HttpProblem(
    { status, title: TITLES[status]!, detail, hint },
    status === 503 ? { "retry-after": String(seconds) } : {},
  );
}
