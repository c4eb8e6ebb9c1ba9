/** What a service of a test answers with. */
export type Handler = (request: Request) => Response | Promise<Response>;

/** A service that pages of any origin may read, as they meet the real one. */
export interface AnyOrigin {
  /** Every request so far, those that ask for leave among them. */
  readonly asked: Request[];
  handler: Handler;
}

/**
 * Lets the pages of any origin read what a service answers: they may send a key, and see what a
 * page of another origin is shown when the service says so.
 */
export function forAnyOrigin(answer: Handler): AnyOrigin {
  const asked: Request[] = [];
  const handler = async (request: Request): Promise<Response> => {
    asked.push(request);
    const cors = {
      "access-control-allow-origin": "*",
      "access-control-allow-headers": "x-api-key",
      "access-control-expose-headers": "link, retry-after",
    };
    if (request.method === "OPTIONS") return new Response(null, { status: 204, headers: cors });
    const { body, status, headers } = await answer(request);
    return new Response(body, { status, headers: { ...Object.fromEntries(headers), ...cors } });
  };
  return { asked, handler };
}
