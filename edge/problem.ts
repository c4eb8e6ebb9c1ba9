import { DataStreamError, oneLine, ValidationError } from "../src/errors.ts";
import { BadOption } from "./search_params.ts";

/** A problem to answer with (RFC 9457). */
interface Problem {
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
const FEWER = "select fewer fields or narrow the filter";
/** What a caller can do where the client's hint is of its own options. */
const HINTS: Record<number, string> = { 413: FEWER, 504: `try again; if it stays so, ${FEWER}` };
/** What a caller is told where the hint is for whoever runs the server. */
const SERVERS_HINT =
  "try again later; if it stays so, tell whoever runs this server, whose log says more";
/** Seconds to wait where the service does not say how long. */
const SOME_SECONDS = 5;

/** The problem for a request that cannot be read: 400, with the hint of the error. */
export function badRequest(error: unknown): HttpProblem {
  if (error instanceof ValidationError) {
    const message = error.messageFor(PARAMETERS);
    const end = message.indexOf(error.problem) + error.problem.length;
    return toBadRequest(oneLine(message.slice(0, end)), oneLine(message.slice(end + 2)));
  }
  const message = oneLine(error);
  const found = /^(.*\S): ((?:did you mean|filter|find|give|leave|select|use) .*)$/s.exec(message);
  return toBadRequest(found?.[1] ?? message, found?.[2]);
}

function toBadRequest(detail: string, hint?: string): HttpProblem {
  return new HttpProblem({
    status: 400,
    title: TITLES[400]!,
    detail,
    hint: hint || "correct that part of the request",
  });
}

/** URL parameters by option. */
const PARAMETERS: Record<string, string> = {
  select: "$select",
  filter: "$filter",
  within: "bbox",
  "within.west": "The west side of the box",
  "within.south": "The south side of the box",
  "within.east": "The east side of the box",
  "within.north": "The north side of the box",
  top: "$top",
  skipToken: "$skiptoken",
};

/**
 * Runs what reads a request, or makes a query of it; what it is refused by is the caller's matter.
 *
 * @throws {HttpProblem} 400 where the request names, or leaves out, what it must not
 */
export function refusing<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    const isCallers = error instanceof BadOption || error instanceof TypeError ||
      error instanceof SyntaxError || error instanceof RangeError;
    throw isCallers ? badRequest(error) : error;
  }
}

/** Whose key was refused, and where a fault of the service is told. */
interface Teller {
  access: string;
  log: (line: string) => void;
}

/**
 * A fault of the service as a problem, never with the key; another error as it is. What is no
 * caller's doing is logged, and the caller told no more of this server's inside.
 *
 * @param error What came instead of rows
 * @param what What was being done, for the log
 */
export function tellFault(error: unknown, what: string, { access, log }: Teller): unknown {
  if (!(error instanceof DataStreamError)) return error;
  const { status: given, retryAfter } = error;
  const isCallers = access === "caller" && (given === 401 || given === 403);
  const isSilence = error.cause instanceof Error && error.cause.name === "TimeoutError";
  const status = isCallers ? given! : isSilence ? 504 : STATUSES[given ?? 0] ?? 502;
  if (status >= 500) log(`${what} failed: ${oneLine(error)}`);
  const seconds = retryAfter === undefined
    ? SOME_SECONDS
    : Math.max(1, Math.ceil(retryAfter / 1000));
  return new HttpProblem({
    status,
    title: TITLES[status]!,
    detail: given === undefined || status === 502
      ? "The service did not give a whole answer"
      : error.detail.replace(/https?:\/\/\S+/g, "The service"),
    hint: given === undefined || status === 502 ? SERVERS_HINT : HINTS[status] ?? error.hint,
  }, status === 503 ? { "retry-after": String(seconds) } : {});
}
