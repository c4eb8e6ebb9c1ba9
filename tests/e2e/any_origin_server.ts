/** Method, URL and headers of a request. Deno releases those of a `Request` after its response. */
export type RequestHead = Pick<Request, "method" | "url" | "headers">;

/** A server on loopback whose CORS headers allow requests from any origin. */
export interface AnyOriginServer extends AsyncDisposable {
  origin: string;
  /** All requests so far, including CORS preflights. */
  readonly requests: readonly RequestHead[];
}

/** Serves on loopback with the CORS headers of the service. */
export function serveAnyOrigin(
  handle: (request: Request) => Response | Promise<Response>,
): AnyOriginServer {
  const requests: RequestHead[] = [];
  const closing = new AbortController();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {}, signal: closing.signal },
    async (request) => {
      const { method, url } = request;
      requests.push({ method, url, headers: new Headers(request.headers) });
      const cors = {
        "access-control-allow-origin": "*",
        "access-control-allow-headers": "x-api-key",
        "access-control-expose-headers": "link, retry-after",
      };
      if (method === "OPTIONS") return new Response(null, { status: 204, headers: cors });
      const { body, status, headers } = await handle(request);
      return new Response(body, { status, headers: { ...Object.fromEntries(headers), ...cors } });
    },
  );
  return {
    origin: `http://127.0.0.1:${server.addr.port}`,
    requests,
    async [Symbol.asyncDispose]() {
      closing.abort(); // a graceful shutdown would wait for pending responses
      await server.finished;
    },
  };
}
