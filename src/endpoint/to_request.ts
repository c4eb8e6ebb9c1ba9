import { isAsyncIterable, isBodyInit, toJson, toStream } from "./body.ts";
import { mergeHeaders } from "./headers.ts";
import type { RequestOptions } from "./types.ts";

/**
 * Turns request options into a web `Request`.
 *
 * The method is upper case, because `fetch` normalises only some methods. Redirects are not
 * followed, so that no header, and no key, reaches another host.
 *
 * Text, bytes, `FormData`, `URLSearchParams`, `Blob` and streams are sent unchanged. An async
 * iterable of text and bytes, such as a Node `Readable`, is sent as a stream. Any other body is sent
 * as JSON, `null` too, with the content type `application/json; charset=utf-8` unless one is set.
 *
 * @param options The result of `endpoint`
 * @param init Other options of `Request`, for example `signal`
 * @returns The request, ready for `fetch`
 * @throws {TypeError} If the URL or a header is not valid, or the body holds something that JSON
 *   cannot represent: a `Map`, a function, `NaN`, or an object that refers to itself
 *
 * Source: Fetch, section 5.4.
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
export function toRequest(
  options: RequestOptions,
  init: Omit<RequestInit, "method" | "headers" | "body"> = {},
): Request {
  const headers = mergeHeaders({}, options.headers);
  for (const [name, value] of Object.entries(headers)) requireValid(name, value);
  let { body } = options;
  if (body !== undefined && !isBodyInit(body)) {
    if (isAsyncIterable(body)) {
      body = toStream(body);
    } else {
      body = toJson(body);
      headers["content-type"] ??= "application/json; charset=utf-8";
    }
  }
  return new Request(options.url, {
    redirect: "manual",
    ...init,
    method: options.method.toUpperCase(),
    // Not a `Headers` object, which Deno copies in quadratic time.
    headers,
    ...(body !== undefined && { body: body as BodyInit }),
    // Fetch requires it for a stream.
    ...(body instanceof ReadableStream && { duplex: "half" }),
  });
}

/** Names an invalid header without its value, which may be a key. */
function requireValid(name: string, value: string): void {
  try {
    new Headers([[name, value]]);
  } catch {
    throw new TypeError(
      `Cannot send header "${name}": wanted a token and a line of bytes after it, got other characters`,
    );
  }
}
