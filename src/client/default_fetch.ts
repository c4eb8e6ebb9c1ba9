/**
 * Sends a request with the global `fetch`, in Deno and Bun over a new HTTP/1.1 connection.
 *
 * An HTTP client may repeat a GET by itself when its connection breaks (RFC 9110, section 9.2.2) or when an
 * HTTP/2 server refuses its stream (RFC 9113, section 8.7). The second request follows within
 * milliseconds; the service counts it, but the rate limiter does not. Number of requests that a loopback
 * server received for one call of `fetch`, 2026-11-22:
 *
 * | runtime | reused connection reset | stream refused | reason | option that prevents it |
 * |---|---|---|---|---|
 * | Deno 2.9.6 | 2 | 2 | denoland/deno#32566 | `Deno.createHttpClient({ http2: false })` |
 * | Bun 1.4.5 | 2 | 6, HTTP/2 is opt-in | oven-sh/bun#28706 | `keepalive: false`, `protocol: "http1.1"` |
 * | Node 20, 24 | 1 | no HTTP/2 | | not needed |
 * | Node 26 | 1 | 2 | nodejs/undici#5598 | none |
 * | workerd 1.20261117 | 2 | no HTTP/2 | capnproto/capnproto#2785 | none |
 * | Chromium 156 | 2 | 3 | `HttpNetworkTransaction::ShouldResendRequest` | none |
 *
 * Deno versions without the fix denoland/deno#36415 also repeat a request on a new connection.
 *
 * The header `connection: close` prevents it over HTTP/1.1 in Deno and Bun only. Over HTTP/2, where the
 * header is not allowed, Deno, Bun and Node drop it and keep the connection. Workerd and Chromium ignore it.
 *
 * Cost: an empty response over TLS on loopback takes 1.1 to 1.5 ms in Deno instead of 0.2 ms, and 0.9 ms
 * in Bun instead of 0.05 ms; a network adds two round trips. Requests start 530 ms apart.
 *
 * Each request gets an HTTP client of its own in Deno (0.03 ms), because `Deno.test` can report a shared
 * one as a leaked resource.
 *
 * @param request The request to send
 * @returns The response, once its headers have arrived
 */
export async function defaultFetch(request: Request): Promise<Response> {
  const { Bun: bun, Deno: deno } = globalThis as RuntimeGlobals;
  const client = deno?.createHttpClient?.({ http2: false });
  const options = bun ? { keepalive: false, protocol: "http1.1" } : client && { client };
  try {
    return await fetch(request, options as RequestInit | undefined);
  } finally {
    client?.close(); // the connection stays open until the body has been read
  }
}

/** Globals of the runtimes whose `fetch` needs a special option. */
interface RuntimeGlobals {
  Deno?: { createHttpClient?: (options: { http2: boolean }) => { close(): void } };
  Bun?: unknown;
}
