/** What came in a request; the headers of Deno's own are gone with its answer. */
export type Came = Pick<Request, "method" | "url" | "headers">;

/** A server on loopback that pages of any origin may read, as they meet the service. */
export interface AnyOriginServer extends AsyncDisposable {
  origin: string;
  /** Every request so far, those that ask for leave among them. */
  readonly asked: readonly Came[];
}

/**
 * Serves on loopback, and lets the pages of any origin read the answers, send a key, and see the
 * headers that say how to go on.
 */
export function serveAnyOrigin(
  answer: (request: Request) => Response | Promise<Response>,
): AnyOriginServer {
  const asked: Came[] = [];
  const closing = new AbortController();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {}, signal: closing.signal },
    async (request) => {
      const { method, url } = request;
      asked.push({ method, url, headers: new Headers(request.headers) });
      const cors = {
        "access-control-allow-origin": "*",
        "access-control-allow-headers": "x-api-key",
        "access-control-expose-headers": "link, retry-after",
      };
      if (method === "OPTIONS") return new Response(null, { status: 204, headers: cors });
      const { body, status, headers } = await answer(request);
      return new Response(body, { status, headers: { ...Object.fromEntries(headers), ...cors } });
    },
  );
  return {
    origin: `http://127.0.0.1:${server.addr.port}`,
    asked,
    async [Symbol.asyncDispose]() {
      closing.abort(); // what hangs still must not hold the test up
      await server.finished;
    },
  };
}
