import { createSandbox } from "../../../src/sandbox/service.ts";
import { bundle } from "../bundle.ts";
import { type AnyOriginServer, serveAnyOrigin } from "../any_origin_server.ts";

/** Serves a page with `mod.ts` bundled as one script. `change` edits the text of each file. */
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

export const SANDBOX_OPTIONS = { records: 300, hostileNames: true, requestsPerSecond: Infinity };

/** Replaces the response to a request for a page; the first page has number 1. */
export type ResponseOverride = (
  request: Request,
  number: number,
) => undefined | Response | Promise<undefined | Response>;

/** Serves the sandbox with CORS headers; requests without a key are valid. */
export function serveService(override: ResponseOverride = () => undefined): AnyOriginServer {
  const { apiKey, fetch } = createSandbox(SANDBOX_OPTIONS);
  let pages = 0;
  return serveAnyOrigin(async (request) => {
    const number = request.url.includes("count=true") ? 0 : ++pages;
    const headers = new Headers(request.headers);
    if (!headers.has("x-api-key")) headers.set("x-api-key", apiKey);
    return await override(request, number) ?? fetch(request.url, { headers });
  });
}
