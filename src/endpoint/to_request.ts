import { utf8Encoder } from "../bytes.ts";
import { invalidValue } from "../validation.ts";
import { ValidationError } from "../errors.ts";
import { JSON_CONTENT_TYPE } from "./endpoint.ts";
import { mergeHeaders, requireTypeIfSet } from "./merge.ts";
import type { RequestOptions } from "./types.ts";

/**
 * Turns request options into a web `Request`.
 *
 * The method is in upper case, because `fetch` normalizes only some methods. Redirects are not
 * followed, so that no header, such as an API key, is sent to another host.
 *
 * Text, bytes, `FormData`, `URLSearchParams`, `Blob` and streams are sent unchanged. An async
 * iterable of text and bytes, such as a Node `Readable`, is sent as a stream. Any other body is sent
 * as JSON, `null` too, with the content type `application/json; charset=utf-8` unless one is set.
 *
 * The header `user-agent` is sent by Deno, Node, Bun and Cloudflare Workers. It is left out in
 * browsers, which send their own: Chromium would ignore it, and Firefox would send a CORS preflight
 * for it.
 * Source: Fetch Standard, section 5.4 (Request class).
 *
 * @param options The result of `endpoint`
 * @param init Other options of `Request`, for example `signal`
 * @returns The request, ready for `fetch`
 * @throws {ValidationError} If the URL or a header is not valid, or the body contains something that
 *   JSON cannot represent: a `Map`, a function, `NaN`, or an object that refers to itself. If
 *   `Request` rejects another option, such as the method, `cause` is its error
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
  requireTypeIfSet("init", init, "object");
  try {
    const { url, method, headers: given } = options;
    let { body } = options;
    if (!URL.canParse(url)) throw invalidValue("url", "a full URL", url);
    const headers = mergeHeaders({}, given);
    if (isBrowser()) delete headers["user-agent"];
    if (body !== undefined && !isBodyInit(body)) {
      if (isAsyncIterable(body)) {
        body = toStream(body);
      } else {
        body = toJson(body);
        headers["content-type"] ??= JSON_CONTENT_TYPE;
      }
    }
    return new Request(url, {
      redirect: "manual",
      ...init,
      method: method.toUpperCase(),
      // Deno copies a `Headers` object in quadratic time.
      headers,
      ...(body !== undefined && { body: body as BodyInit }),
      // The Fetch Standard requires it for a stream.
      ...(body instanceof ReadableStream && { duplex: "half" }),
    });
  } catch (cause) {
    if (cause instanceof ValidationError) throw cause;
    throw new ValidationError("options", "must be valid for Request", { cause });
  }
}

/** The user agent of every browser begins with `Mozilla/`. */
function isBrowser(): boolean {
  const { navigator } = globalThis as { navigator?: { userAgent?: string } };
  return navigator?.userAgent?.startsWith("Mozilla/") ?? false;
}

function isBodyInit(body: unknown): body is BodyInit {
  return typeof body === "string" || body instanceof ReadableStream || body instanceof Blob ||
    body instanceof FormData || body instanceof URLSearchParams || body instanceof ArrayBuffer ||
    ArrayBuffer.isView(body);
}

function isAsyncIterable(body: unknown): body is AsyncIterable<unknown> {
  return Symbol.asyncIterator in Object(body);
}

/** `JSON.stringify` writes other objects, such as a `Map`, as `{}`. */
const REPRESENTABLE = /^(?:Array|Boolean|Null|Number|Object|String|Undefined)$/;

function toJson(body: unknown): string {
  let root: unknown;
  let option = "body";
  let got = "an object that refers to itself or cannot be read";
  try {
    return JSON.stringify(body, function (this: unknown, key: string, value: unknown) {
      if (root === undefined) root = value;
      else if (this === root) option = `body.${key}`;
      const type = typeOf(value);
      if (REPRESENTABLE.test(type) && root !== undefined) return value;
      throw new TypeError(`JSON cannot represent ${got = type}`);
    });
  } catch (cause) {
    throw new ValidationError(option, `must contain only what JSON can represent, got ${got}`, {
      cause,
    });
  }
}

/** Chromium has no `ReadableStream.from`, and `fetch` takes bytes only. */
function toStream(source: AsyncIterable<unknown>): ReadableStream<Uint8Array> {
  const chunks = encodeChunks(source);
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await chunks.return();
    },
  }, { highWaterMark: 0 });
}

/** Text becomes UTF-8; a character may be split between two chunks of text. */
async function* encodeChunks(source: AsyncIterable<unknown>): AsyncGenerator<Uint8Array, void> {
  let half = "";
  for await (const chunk of source) {
    const text = typeof chunk === "string" ? half + chunk : half;
    half = typeof chunk === "string" && /[\ud800-\udbff]$/.test(text) ? text.slice(-1) : "";
    const parts: Uint8Array[] = [utf8Encoder.encode(text.slice(0, text.length - half.length))];
    if (typeof chunk !== "string") parts.push(toBytes(chunk));
    // An empty chunk would end a chunked request body.
    for (const bytes of parts) if (bytes.length > 0) yield bytes;
  }
  if (half) yield utf8Encoder.encode(half);
}

function toBytes(chunk: unknown): Uint8Array {
  if (chunk instanceof ArrayBuffer) return new Uint8Array(chunk);
  if (ArrayBuffer.isView(chunk)) {
    return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  }
  throw new ValidationError("body", `must yield text or bytes, got ${typeOf(chunk)}`);
}

function typeOf(value: unknown): string {
  return typeof value === "number" && !Number.isFinite(value)
    ? String(value)
    : Object.prototype.toString.call(value).slice(8, -1);
}
