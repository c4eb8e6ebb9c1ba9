import { createSandbox } from "../../../src/sandbox/service.ts";
import { bundle } from "../../helpers/bundle.ts";
import { type AnyOriginServer, serveAnyOrigin } from "../../helpers/any_origin_server.ts";

/**
 * Serves a web author's page: `mod.ts` and all that it imports is one module script.
 *
 * @param change What is made of its files before they are served
 */
export async function serveSite(
  change: (path: string, text: string) => string = (_, text) => text,
): Promise<AnyOriginServer> {
  const read = (name: string) => Deno.readTextFile(new URL(`site/${name}`, import.meta.url));
  const files: Record<string, [type: string, text: string]> = {
    "/": ["text/html", await read("index.html")],
    "/download_worker.js": ["text/javascript", await read("download_worker.js")],
    "/weir.js": ["text/javascript", await bundle("mod.ts", "--platform", "browser", "--minify")],
  };
  return serveAnyOrigin(({ url }) => {
    const { pathname } = new URL(url);
    const [type, text] = files[pathname] ?? [];
    return type === undefined
      ? new Response(null, { status: 404 })
      : new Response(change(pathname, text!), { headers: { "content-type": type } });
  });
}

/** The data of the service. */
export const DATA = { records: 300, requestsPerSecond: Infinity };

/** What a service may do in place of the whole answer to a page's request; the first has number 1. */
export type Instead = (
  request: Request,
  number: number,
) => undefined | Response | Promise<undefined | Response>;

/** Serves the sandbox as the service meets browsers: it asks for a key where one is sent alone. */
export function serveService(instead: Instead = () => undefined): AnyOriginServer {
  const { apiKey, fetch } = createSandbox(DATA);
  let pages = 0;
  return serveAnyOrigin(async (request) => {
    const number = request.url.includes("count=true") ? 0 : ++pages;
    const headers = new Headers(request.headers);
    if (!headers.has("x-api-key")) headers.set("x-api-key", apiKey);
    return await instead(request, number) ?? fetch(request.url, { headers });
  });
}
