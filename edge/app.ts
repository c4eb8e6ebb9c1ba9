/**
 * The edge function: a URL that downloads records as CSV, streamed page by page.
 *
 * @module
 */
import { accepts } from "@std/http/negotiation";
import { type Context, Hono } from "hono";
import type { DataStreamOptions } from "../src/client/client_options.ts";
import { DataStream } from "../src/client/datastream.ts";
import { DataStreamError, oneLine } from "../src/errors.ts";
import { downloadResponse } from "./download.ts";
import { readOptions } from "./options.ts";
import { badRequestResponse, faultResponse, problemResponse } from "./problem.ts";

/** Options for {@linkcode createApp}. */
export interface AppOptions extends Omit<DataStreamOptions, "apiKey"> {
  /**
   * Who may download: `caller`, each request brings its own `x-api-key`, which is used for that
   * request alone; `public`, anyone, with the server's key. There is no default.
   */
  access: "caller" | "public";
  /** The server's key; for `public` access, and never used otherwise. */
  apiKey?: string;
  /** Whether the data is the sandbox's: answers and file names then say so. Default false. */
  synthetic?: boolean;
  /**
   * Told, in a line without the key, of what went wrong on this side of a caller: a download that
   * failed or broke, a fault of the server. Default `console.error`.
   */
  log?: (line: string) => void;
}

/** What the edge function is to a server: `export default` it, or call it in a test. */
export interface EdgeApp {
  /** Answers a request; this is what `deno serve`, Bun and Workers call. */
  fetch(request: Request): Response | Promise<Response>;
  /** Answers a request made of its arguments: for tests. */
  request(input: Request | URL | string, init?: RequestInit): Response | Promise<Response>;
}

/**
 * Makes the edge function.
 *
 * `GET /Records.csv` takes `$select`, `$filter` and `$top` (the page size) in the URL, the `$` raw
 * or encoded, and streams each page as it comes; `GET /Records` does the same where CSV is
 * accepted. A fault before the first page is an HTTP error with a problem+json body; a later one
 * breaks the transfer, so that no short file ends clean. `GET /healthz` answers 200.
 *
 * @param options Access, key, address of the service and pace
 * @returns The app, for any server of fetch handlers
 * @throws {TypeError} If `access` is neither word, or is public without a key, or an option of
 *   the client is wrong
 * @throws {RangeError} If the rate is not above 0, or above 2 for the service itself
 *
 * @example A download over the sandbox
 * ```ts
 * import { createApp } from "@weir/datastream/edge";
 * import { createSandbox } from "@weir/datastream/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const { apiKey, url, fetch } = createSandbox();
 * const app = createApp({ access: "public", apiKey, baseUrl: url, fetch, synthetic: true });
 * const response = await app.request("/Records.csv?$select=Id&$filter=LocationId eq 1015");
 * assertEquals(response.headers.get("content-type"), "text/csv; charset=utf-8");
 * assertEquals((await response.text()).split("\r\n").length, 1 + 450 + 1);
 * ```
 */
export function createApp(options: AppOptions): EdgeApp {
  const { access, apiKey, synthetic = false, log = console.error, ...service } = options;
  if (access !== "caller" && access !== "public") {
    throw new TypeError(`access must be "caller" or "public", got "${access}"`);
  }
  if (access === "public" && !apiKey) {
    throw new TypeError("access is public, so the server must have a key: pass apiKey");
  }
  // Made in either mode, so that a wrong option stops the server and not each request; a caller's
  // key goes where the server's would.
  const own = new DataStream({
    ...service,
    apiKey: access === "public" ? apiKey : "a-caller's-key",
  });
  const clientFor = (request: Request) =>
    access === "public"
      ? own
      : new DataStream({ ...service, apiKey: request.headers.get("x-api-key") ?? "" });

  const headers = {
    "content-type": "text/csv; charset=utf-8",
    "content-disposition": `attachment; filename="${synthetic ? "synthetic-" : ""}records.csv"`,
    "cache-control": "no-store, no-transform",
    "x-content-type-options": "nosniff",
    ...(synthetic && { "x-weir-data": "synthetic" }),
  };

  const records = async ({ req: { raw: request } }: Context): Promise<Response> => {
    if (access === "caller" && !request.headers.get("x-api-key")) {
      return problemResponse({
        status: 401,
        title: "No API key",
        detail: "Wanted the header x-api-key, got none",
        hint: "send your own DataStream API key; it is used for this request alone",
      });
    }
    let query;
    try {
      query = clientFor(request).records(readOptions(new URL(request.url)));
    } catch (error) {
      return badRequestResponse(error);
    }
    // Answered before the work begins: hono would run it all and drop the body.
    if (request.method === "HEAD") return new Response(null, { headers });
    try {
      return await downloadResponse({
        stream: query.csv(),
        headers,
        signal: request.signal,
        onFault: (error) => log(`A download of Records broke: ${oneLine(error)}`),
      });
    } catch (error) {
      if (!(error instanceof DataStreamError)) throw error;
      const response = faultResponse(error, access === "caller");
      // What is no caller's doing is for the operator to know: a key that was revoked, for one.
      if (response.status >= 500) log(`A download of Records failed: ${oneLine(error)}`);
      return response;
    }
  };

  const app = new Hono();
  app.get("/healthz", (context) => context.text("ok\n"));
  app.get("/Records.csv", records);
  app.get("/Records", async (context) => {
    const response = accepts(context.req.raw, "text/csv")
      ? await records(context)
      : problemResponse({
        status: 406,
        title: "No such format",
        detail: "Wanted text/csv to be accepted",
        hint: "send accept: text/csv, or ask for /Records.csv",
      });
    response.headers.set("vary", "accept");
    return response;
  });
  app.on(
    ["POST", "PUT", "PATCH", "DELETE"],
    ["/Records", "/Records.csv"],
    ({ req }) =>
      problemResponse({
        status: 405,
        title: "No such method",
        detail: `Wanted GET or HEAD, got ${req.method}`,
        hint: "downloads are read, nothing is written",
      }, { allow: "GET, HEAD" }),
  );
  app.notFound(({ req }) =>
    problemResponse({
      status: 404,
      title: "Nothing here",
      detail: `Wanted GET /Records.csv, got ${req.method} ${req.path}`,
      hint: "GET /Records.csv?$filter=… downloads records",
    })
  );
  app.onError((error) => {
    log(`A request failed: ${oneLine(error)}`);
    return problemResponse({
      status: 500,
      title: "A fault of this server",
      detail: "The request could not be answered; the server's log says why",
    });
  });
  return { fetch: answer, request: (input, init) => answer(new Request(toUrl(input), init)) };

  async function answer(request: Request): Promise<Response> {
    const response = await app.fetch(request);
    // With no body at all, a server would say content-length: 0, which is not the download's.
    const empty = () => new ReadableStream({ start: (controller) => controller.close() });
    return request.method === "HEAD" ? new Response(empty(), response) : response;
  }
}

/** A path stands for one on this host: tests need no host of their own. */
function toUrl(input: Request | URL | string): Request | URL {
  return input instanceof Request ? input : new URL(input, "http://localhost");
}
