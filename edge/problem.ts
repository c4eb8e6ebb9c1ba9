import { DataStreamError } from "../src/errors.ts";

/** A problem to answer with (RFC 9457). */
export interface Problem {
  status: number;
  title: string;
  /** What was wanted and what came. */
  detail: string;
  /** What to do next. */
  hint?: string;
}

/** A fault in a request, found before anything was asked of the service. */
export class BadOption extends Error {
  override readonly name = "BadOption";
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

/**
 * A fault of a download as an answer; never with the key.
 *
 * @param error What was thrown before the first page
 * @param callersKey Whether the key was the caller's own, so that its refusal is the caller's matter
 */
export function faultResponse(error: unknown, callersKey: boolean): Response {
  if (error instanceof DataStreamError) {
    const own = callersKey && (error.status === 401 || error.status === 403);
    const status = own ? error.status! : STATUSES[error.status ?? 0] ?? 502;
    return problemResponse(
      { status, title: TITLES[status]!, detail: error.detail, hint: error.hint },
      status === 503 ? { "retry-after": "5" } : {},
    );
  }
  if (error instanceof TypeError || error instanceof RangeError || error instanceof BadOption) {
    return problemResponse({ status: 400, title: TITLES[400]!, detail: error.message });
  }
  throw error;
}
