import type { RequestOptions } from "./types.ts";

/**
 * Turns request options into a web `Request`.
 *
 * The method is upper case again, because `fetch` normalises some methods only. Text, bytes, a
 * `FormData`, `URLSearchParams`, `Blob` or stream in the body passes as it is; anything else is
 * encoded as JSON. A redirect is not followed, so that no header, and so no key, goes where it was
 * not sent.
 *
 * @param options The result of `endpoint`
 * @param init What a `Request` takes beside: a signal, for one
 * @returns The request, ready for `fetch`
 * @throws {TypeError} If the URL or a header is not valid, or the body cannot be JSON
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
  const { body } = options;
  return new Request(options.url, {
    redirect: "manual",
    ...init,
    method: options.method.toUpperCase(),
    headers: toHeaders(options.headers),
    ...(body !== undefined && { body: isBodyInit(body) ? body : toJson(body) }),
    // Fetch asks for this beside a stream, which it sends before it reads.
    ...(body instanceof ReadableStream && { duplex: "half" }),
  });
}

/** A header that cannot be is named, its value is not shown: it may be a key. */
function toHeaders(fields: Record<string, string>): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(fields)) {
    try {
      headers.set(name, value);
    } catch {
      throw new TypeError(
        `Cannot send header "${name}": wanted a token and a line of bytes after it, got other characters`,
      );
    }
  }
  return headers;
}

function isBodyInit(body: unknown): body is BodyInit {
  return typeof body === "string" || body instanceof ReadableStream || body instanceof Blob ||
    body instanceof FormData || body instanceof URLSearchParams || body instanceof ArrayBuffer ||
    ArrayBuffer.isView(body);
}

function toJson(body: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(body);
  } catch (error) {
    throw new TypeError(
      "Cannot encode the body: wanted what JSON can hold, got a bigint or a circle",
      {
        cause: error,
      },
    );
  }
  if (text === undefined) {
    throw new TypeError(`Cannot encode the body: wanted what JSON can hold, got a ${typeof body}`);
  }
  return text;
}
