import type { RequestOptions } from "./types.ts";

/**
 * Turns request options into a web `Request`.
 *
 * The method is upper case again, because `fetch` normalises some methods only; a plain object or
 * array in the body is encoded as JSON, anything else is passed as it is. A redirect is not
 * followed, so that no header, and so no key, goes where it was not sent.
 *
 * @param options The result of `endpoint`
 * @param init What a `Request` takes beside: a signal, for one
 * @returns The request, ready for `fetch`
 * @throws {TypeError} If the URL or a header is not valid
 *
 * @example
 * ```ts
 * import { endpoint, toRequest } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * const request = toRequest(endpoint("POST https://example.org/notes", { text: "clear" }));
 * assertEquals(request.method, "POST");
 * assertEquals(await request.json(), { text: "clear" });
 * ```
 */
export function toRequest(options: RequestOptions, init: RequestInit = {}): Request {
  return new Request(options.url, {
    redirect: "manual",
    ...init,
    method: options.method.toUpperCase(),
    headers: options.headers,
    body: toBody(options.body),
  });
}

function toBody(body: unknown): BodyInit | undefined {
  if (body === undefined) return undefined;
  const isPlain = Array.isArray(body) || Object.prototype.toString.call(body) === "[object Object]";
  return isPlain || typeof body === "number" || typeof body === "boolean" || body === null
    ? JSON.stringify(body)
    : body as BodyInit;
}
