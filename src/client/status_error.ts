import { DataStreamError, oneLine } from "../errors.ts";

/** What to do about a status (water-quality-api, Errors). */
const HINTS: Record<number, string> = {
  400: "check the names and the filter; every parameter must be encoded",
  401: "send an API key",
  403: "check the API key; the service may have replaced it",
  404: "check the base URL",
  408: "try again; if it stays so, lower top or narrow the filter",
  413: "lower top or select fewer fields",
  429: "keep to 2 requests a second and none at once, counting all that use this key",
  504: "try again; if it stays so, lower top or narrow the filter",
};
/** So many characters of an error's body are read, and no more. */
const LONGEST_ERROR_BODY = 2_000;

/**
 * The error for an answer whose status is not 200; its body is read a little or dropped.
 *
 * @param response The answer
 * @param url What was asked
 * @param withoutKey Blots the key out, should the service repeat it
 */
export async function statusError(
  response: Response,
  url: string,
  withoutKey: (text: string) => string,
): Promise<DataStreamError> {
  const { status } = response;
  const { origin, pathname } = new URL(url);
  const wanted = `${origin}${pathname} answered`;
  // A redirect that is not followed has status 0 in a browser.
  if (status === 0 || (status >= 300 && status < 400)) {
    response.body?.cancel().catch(() => {});
    return new DataStreamError(`${wanted} a redirect`, {
      kind: "status",
      status,
      url,
      hint: "check the base URL; a redirect is not followed, so that the key goes nowhere else",
    });
  }
  const message = withoutKey(await readMessage(response));
  return new DataStreamError(`${wanted} status ${status}${message && ` (${message})`}`, {
    kind: "status",
    status,
    url,
    hint: HINTS[status] ?? "try again later",
  });
}

/** The `message` of a JSON error body on one line; empty where there is none. */
async function readMessage(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    while (reader && text.length < LONGEST_ERROR_BODY) {
      const { done, value } = await reader.read();
      if (done) break;
      text += decoder.decode(value, { stream: true });
    }
    const { message } = JSON.parse(text);
    return typeof message === "string" ? oneLine(message) : "";
  } catch {
    return ""; // the status alone says enough
  } finally {
    reader?.cancel().catch(() => {});
  }
}
