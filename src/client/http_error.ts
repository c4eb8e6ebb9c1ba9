import { DataStreamError, oneLine } from "../errors.ts";
import { KEY_SOURCE, MAX_REQUESTS_PER_SECOND } from "../service_constants.ts";

const TIMEOUT_HINT = "try again; if that fails too, lower {top} or narrow the filter";
const OR_REQUEST_ONE = `or request one at ${KEY_SOURCE}`;

/**
 * Hints by status.
 *
 * Source: DataStream Public API, "Errors".
 */
const HINTS: Record<number, string> = {
  400: "check the names and the filter",
  401: `send an API key, ${OR_REQUEST_ONE}`,
  403: `check the API key, which DataStream may have replaced, ${OR_REQUEST_ONE}`,
  408: TIMEOUT_HINT,
  413: "lower {top} or select fewer fields",
  429:
    `send at most ${MAX_REQUESTS_PER_SECOND} requests per second with this key, and none in parallel`,
  504: TIMEOUT_HINT,
};

/**
 * Creates the error for a response whose status is not 200.
 *
 * @param response The response; its body is not read
 * @param url URL of the request
 * @param body Start of the body
 * @param redact Removes the API key from a text
 */
export function statusError(
  response: Response,
  url: string,
  body: string,
  redact: (text: string) => string,
): DataStreamError {
  const { status } = response;
  const facts = { kind: "status" as const, url, address: url.split("?")[0], status };
  if (isRedirect(response)) {
    return new DataStreamError("responded with a redirect", {
      ...facts,
      hint:
        "check the base URL; redirects are not followed, because the API key is sent to one origin",
    });
  }
  // Redacts the parsed message, because the key may be escaped in JSON.
  const message = redact(messageIn(body));
  return new DataStreamError(`responded with status ${status}${message && ` (${message})`}`, {
    ...facts,
    retryAfter: readRetryAfter(response.headers),
    hint: HINTS[status] ?? (status >= 500 ? "try again later" : "check the base URL"),
  });
}

/** Whether a response is a redirect. In a browser, a redirect that is not followed has status 0. */
export function isRedirect({ status }: Response): boolean {
  return status === 0 || (status >= 300 && status < 400);
}

/** Returns the `message` or `error.message` of a JSON body on one line, or an empty string. */
function messageIn(body: string): string {
  try {
    const { error, message = error?.message } = JSON.parse(body);
    return typeof message === "string" ? oneLine(message) : "";
  } catch {
    return ""; // not JSON: the error message has the status only
  }
}

/**
 * Reads the `Retry-After` header of a response.
 *
 * A date is compared with the `Date` header of the response, because the clocks of server and client may
 * differ. Without that header, it is compared with the client's clock.
 *
 * @returns Milliseconds to wait, 0 for a date in the past; `undefined` if the header is missing or
 *   invalid
 *
 * Source: RFC 9110, section 10.2.3.
 */
export function readRetryAfter(headers: Headers): number | undefined {
  const text = headers.get("retry-after")?.trim();
  if (!text) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  // `Date.parse()` also accepts other texts as dates, such as "1.5".
  const until = text.endsWith("GMT") ? Date.parse(text) : NaN;
  if (Number.isNaN(until)) return undefined;
  const sentAt = Date.parse(headers.get("date") ?? "");
  return Math.max(0, until - (Number.isNaN(sentAt) ? Date.now() : sentAt));
}
