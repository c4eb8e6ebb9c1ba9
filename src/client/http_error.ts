import { DataStreamError, oneLine } from "../errors.ts";
import { KEY_SOURCE } from "../service_roots.ts";

const OR_REQUEST_ONE = `or request one at ${KEY_SOURCE}`;

/** What to do about a status (water-quality-api, Errors). */
const HINTS: Record<number, string> = {
  400: "check the names and the filter",
  401: `send an API key, ${OR_REQUEST_ONE}`,
  403: `check the API key, which the service may have replaced, ${OR_REQUEST_ONE}`,
  404: "check the base URL",
  408: "try again; if it stays so, lower top or narrow the filter",
  413: "lower top or select fewer fields",
  429: "keep to 2 requests a second and none at once, counting all that use this key",
  504: "try again; if it stays so, lower top or narrow the filter",
};

/**
 * The error for an answer whose status is not 200.
 *
 * @param response The answer; its body is not touched
 * @param url What was asked
 * @param body The beginning of the body
 * @param withoutKey Blots the key out, should the service repeat it
 */
export function statusError(
  response: Response,
  url: string,
  body: string,
  withoutKey: (text: string) => string,
): DataStreamError {
  const { status } = response;
  const { origin, pathname } = new URL(url);
  const wanted = `${origin}${pathname} answered`;
  if (isRedirect(response)) {
    return new DataStreamError(`${wanted} a redirect`, {
      kind: "status",
      status,
      url,
      hint: "check the base URL; a redirect is not followed, so that the key goes nowhere else",
    });
  }
  // The key is looked for in what the JSON says: in its text it may be escaped.
  const message = withoutKey(messageOf(body));
  return new DataStreamError(`${wanted} status ${status}${message && ` (${message})`}`, {
    kind: "status",
    status,
    url,
    retryAfter: readRetryAfter(response.headers),
    hint: HINTS[status] ?? (status >= 500 ? "try again later" : "check the base URL"),
  });
}

/** Whether an answer leads elsewhere; one that is not followed has status 0 in a browser. */
export function isRedirect({ status }: Response): boolean {
  return status === 0 || (status >= 300 && status < 400);
}

/** The message of a JSON error body, the service's or OData's, on one line; empty where there is none. */
function messageOf(body: string): string {
  try {
    const { error, message = error?.message } = JSON.parse(body);
    return typeof message === "string" ? oneLine(message) : "";
  } catch {
    return ""; // the status alone says enough
  }
}

/**
 * How long an answer asks to wait before the next request.
 *
 * Source: RFC 9110, section 10.2.3.
 *
 * @param headers The answer's headers; a date in `Retry-After` is held against their `Date`, so
 *   that the two clocks need not agree, or against this machine's where there is none
 * @returns Milliseconds, 0 for a date that has passed; undefined where there is no such header, or
 *   none that can be read
 */
export function readRetryAfter(headers: Headers): number | undefined {
  const text = headers.get("retry-after")?.trim();
  if (!text) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  // Other text may be read as a date too: 1.5, say.
  const until = text.endsWith("GMT") ? Date.parse(text) : NaN;
  if (Number.isNaN(until)) return undefined;
  const sent = Date.parse(headers.get("date") ?? "");
  return Math.max(0, until - (Number.isNaN(sent) ? Date.now() : sent));
}
