/**
 * The edge function: URLs that download open water-quality data, streamed page by page, and a page
 * that makes such URLs.
 *
 * @module
 */
import { Hono } from "hono";
import { cors } from "hono/cors";
import { secureHeaders } from "hono/secure-headers";
import { oneLine } from "../src/errors.ts";
import { type ResourceName, RESOURCES } from "../src/odata/resources.ts";
import { createAccess } from "./access.ts";
import { type AppOptions, type Settings, toSettings } from "./options.ts";
import { answerCitations, CITATION_PATHS } from "./citations.ts";
import { Downloads } from "./download.ts";
import { formatsOf } from "../src/formats/formats.ts";
import { Gate } from "./concurrency_limit.ts";
import { HttpProblem, problemResponse } from "./problem.ts";
import { addPage } from "./page/page.ts";
import { pathHint } from "./path_hint.ts";

export { signUrl, type SignUrlOptions } from "../src/signing/signed_url.ts";
export type { AccessMode, AppOptions } from "./options.ts";

/** The status of an answer whose reader has left before it, as some servers' logs have it. */
const LEFT = 499;

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
 * `GET /Records.csv`, and every other resource and format, streams each page as it comes; the query
 * options stand in the URL, their `$` raw or encoded. A fault before the first page is an HTTP error
 * with a problem+json body; a later one breaks the transfer, so that no short file ends clean.
 * `GET /` is a page that makes such URLs, `GET /Citations.txt` says how to cite, `GET /healthz`
 * answers 200.
 *
 * @param options Access, key, address of the service, pace and bounds
 * @returns The app, for any server of fetch handlers
 * @throws {TypeError} If `access` is no mode, or lacks its key, secret or tokens, or an option of
 *   the client is wrong
 * @throws {RangeError} If a number is out of range
 *
 * @example A download over the sandbox
 * ```ts
 * import { createApp } from "@weir/datastream/edge";
 * import { createSandbox } from "@weir/datastream/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const { apiKey, url, fetch } = createSandbox();
 * const app = createApp({ access: "public", apiKey, baseUrl: url, fetch, synthetic: true });
 * const response = await app.request("/Records.csv?$select=Id&limit=450&$filter=LocationId eq 1015");
 * assertEquals(response.headers.get("content-type"), "text/csv; charset=utf-8");
 * assertEquals((await response.text()).split("\r\n").length, 1 + 450 + 1);
 * ```
 */
export function createApp(options: AppOptions): EdgeApp {
  const settings = toSettings(options);
  const log = withoutSecrets(settings);
  const access = createAccess(settings);
  const gate = new Gate(settings.maxWaiting, "downloads", settings.clock);
  const downloads = new Downloads({ ...settings, log }, access, gate);

  const app = new Hono();
  app.use(secureHeaders({
    contentSecurityPolicy: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      styleSrc: ["'self'"],
      imgSrc: ["'self'"],
      connectSrc: ["'self'"],
      formAction: ["'self'"],
      baseUri: ["'none'"],
      frameAncestors: ["'none'"],
    },
    // Downloads are for other pages too; whether the rest of a host has TLS is not ours to say.
    crossOriginResourcePolicy: "cross-origin",
    strictTransportSecurity: "max-age=15552000",
    xFrameOptions: "DENY",
  }));
  app.use(cors({
    origin: settings.corsOrigins === "*" ? "*" : [...settings.corsOrigins],
    allowMethods: ["GET", "HEAD"],
    allowHeaders: ["x-api-key", "authorization"],
    exposeHeaders: ["content-disposition", "link", "retry-after", "x-weir-data"],
    maxAge: 86_400,
  }));
  if (settings.synthetic) {
    app.use(async ({ header }, next) => {
      await next();
      header("x-weir-data", "synthetic");
    });
  }

  const paths = new Map<string, string>();
  const get = (path: string, answer: (request: Request) => Response | Promise<Response>) => {
    paths.set(path, "GET, HEAD");
    app.get(path, ({ req }) => answer(req.raw));
  };
  get("/healthz", () => new Response("ok\n", { headers: { "cache-control": "no-store" } }));
  for (const resource of Object.keys(RESOURCES) as ResourceName[]) {
    get(`/${resource}`, (request) => downloads.answer(request, resource));
    for (const format of formatsOf(resource)) {
      get(`/${resource}.${format}`, (request) => downloads.answer(request, resource, format));
    }
  }
  for (const path of CITATION_PATHS) {
    get(path, (request) => answerCitations(request, path, downloads));
  }
  addPage(app, paths, downloads);

  app.notFound(({ req: { path, method } }) => {
    const allow = paths.get(path);
    if (allow !== undefined) {
      return problemResponse({
        status: 405,
        title: "No such method",
        detail: `Wanted ${allow}, got ${method}`,
        hint: "downloads are read, nothing is written",
      }, { allow });
    }
    return problemResponse({
      status: 404,
      title: "Nothing here",
      detail: `There is no ${oneLine(path)}`,
      hint: pathHint(path, [...paths.keys()]),
    });
  });
  app.onError((error, { req }) => {
    if (error instanceof HttpProblem) return problemResponse(error.problem, error.headers);
    // Nobody is there to be told.
    if (req.raw.signal.aborted) return new Response(null, { status: LEFT });
    log(`A request failed: ${oneLine(error)}`);
    return problemResponse({
      status: 500,
      title: "A fault of this server",
      detail: "The request could not be answered; the server's log says why",
      hint: "try again later; if it stays so, tell whoever runs this server",
    });
  });
  return { fetch: answer, request: (input, init) => answer(new Request(toUrl(input), init)) };

  async function answer(request: Request): Promise<Response> {
    const response = await app.fetch(request);
    return request.method === "HEAD" ? new Response(emptyBody(settings), response) : response;
  }
}

/**
 * A body that ends only after it has been asked for: of none, or one that has ended at once, a
 * server would say content-length: 0, which is not the download's.
 */
function emptyBody({ clock }: Settings): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    pull: (controller) => clock.sleep(0).then(() => controller.close()),
  }, { highWaterMark: 0 });
}

/** A log that shows none of the server's secrets, whatever it is told. */
function withoutSecrets({ log, apiKey, signingSecret, tokens }: Settings): Settings["log"] {
  const secrets = [apiKey, signingSecret, ...tokens].filter((secret) => secret);
  return (line) =>
    log(secrets.reduce<string>((text, secret) => text.replaceAll(secret!, "[secret]"), line));
}

/** A path stands for one on this host: tests need no host of their own. */
function toUrl(input: Request | URL | string): Request | URL {
  return input instanceof Request ? input : new URL(input, "http://localhost");
}
