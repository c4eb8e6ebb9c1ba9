/** What a service of a test answers with. */
export type Handler = (request: Request) => Response | Promise<Response>;

/** What came in a request; the headers of Deno's own are gone with its answer. */
export type Came = Pick<Request, "method" | "url" | "headers">;

/** A service that pages of any origin may read, as they meet the real one. */
export interface AnyOrigin {
  /** Every request so far, those that ask for leave among them. */
  readonly asked: Came[];
  handler: Handler;
}

/**
 * Lets the pages of any origin read what a service answers: they may send a key, and see what a
 * page of another origin is shown when the service says so.
 */
export function forAnyOrigin(answer: Handler): AnyOrigin {
  const asked: Came[] = [];
  const handler = async (request: Request): Promise<Response> => {
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
  };
  return { asked, handler };
}
