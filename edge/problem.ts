import { type DataStreamError, oneLine } from "../src/errors.ts";

/** A problem to answer with (RFC 9457). */
export interface Problem {
  status: number;
  title: string;
  /** What was wanted and what came. */
  detail: string;
  /** What to do next. */
  hint?: string;
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

/** A request that names, or leaves out, what it must not. */
export function badRequestResponse(error: unknown): Response {
  return problemResponse({ status: 400, title: TITLES[400]!, detail: oneLine(error) });
}

/**
 * A fault of the service as an answer; never with the key.
 *
 * @param error What came before the first page
 * @param callersKey Whether the key was the caller's own, so that its refusal is the caller's matter
 */
export function faultResponse(error: DataStreamError, callersKey: boolean): Response {
  const own = callersKey && (error.status === 401 || error.status === 403);
  const status = own ? error.status! : STATUSES[error.status ?? 0] ?? 502;
  return problemResponse(
    { status, title: TITLES[status]!, detail: error.detail, hint: error.hint },
    status === 503 ? { "retry-after": "5" } : {},
  );
}
