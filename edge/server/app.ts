import { Hono } from "hono";
import { cors } from "hono/cors";
import { methodNotAllowed } from "hono/method-not-allowed";
import { secureHeaders } from "hono/secure-headers";
import { oneLine } from "../../src/errors.ts";
import { formatsOf } from "../../src/formats/formats.ts";
import { RESOURCE_NAMES } from "../../src/odata/resources.ts";
import { suggestBySpelling } from "../../src/validation.ts";
import { CITATION_PATHS, respondWithCitations } from "../downloads/citations.ts";
import type { AppContext } from "../downloads/document.ts";
import { respondWithDownload } from "../downloads/download.ts";
import { Feeds } from "../downloads/feeds.ts";
import {
  Mirror,
  MIRROR_JSON,
  MIRROR_PATH,
  respondWithMirrorFile,
  respondWithMirrorList,
} from "../downloads/mirror.ts";
import { respondWithSummary, SUMMARY_PATHS } from "../downloads/summary.ts";
import { bearerToken, createAccessControl, requireKnownToken } from "../http/access.ts";
import {
  CLIENT_CLOSED_REQUEST,
  createExchange,
  endSilence,
  type Exchange,
  keepBodyOpen,
  recordResponse,
  type Router,
  sendRequestId,
} from "../http/exchange.ts";
import { Metrics, METRICS_TYPE } from "../http/metrics.ts";
import { type AppOptions, isMirrorOnly, isWorkers, toSettings } from "../http/options.ts";
import {
  HttpProblem,
  problemResponse,
  requestIdHint,
  serviceProblem,
  toProblem,
} from "../http/problem.ts";
import { RequestQueue } from "../http/queue.ts";
import { Readiness } from "../http/readiness.ts";
import { createServiceLog } from "../http/service_log.ts";
import { addPage } from "./lazy_page.ts";

/** An app to serve. Make it the module's default export; in tests, call `request()`. */
export interface EdgeApp {
  /**
   * Responds to a request. Deno, Bun and Workers call this method of the default export.
   *
   * @param connection Connection of the request, for the limit per client: the second argument of a handler in
   *   Deno, Bun or `@hono/node-server`, or `{ clientAddress: "192.0.2.1" }`. Default: not known
   * @param worker Third argument of a handler in Workers. Its `waitUntil()` keeps a download running for the other
   *   clients that read it
   */
  fetch(
    request: Request,
    connection?: unknown,
    worker?: { waitUntil?(promise: Promise<unknown>): void },
  ): Response | Promise<Response>;
  /** Creates a request from the arguments and responds to it, for tests. A path needs no host. */
  request(input: Request | URL | string, init?: RequestInit): Response | Promise<Response>;
  /** Returns the metrics of this app in the text format of Prometheus. */
  metrics(): string;
  /** Returns the number of responses that are not complete. On Workers, it is always 0. */
  openResponses(): number;
  /** Logs incomplete responses as interrupted, before a server ends them. Returns their number. */
  interrupt(): number;
}

/**
 * Creates an app that serves downloads and a web page.
 *
 * Rows are sent while they arrive from the service. If the result can have more rows than `maxRows`,
 * the first page is sent when it is complete. An error after the first row aborts the transfer, so that
 * no client mistakes an incomplete file for a complete one. Each response has the header
 * `x-request-id`, which is also in the log.
 *
 * @param options Access mode, API key, base URL of the service and limits
 * @returns The app. Deno, Bun and Workers call its `fetch` method
 * @throws {ValidationError} If an option is unknown or invalid, or the access mode lacks its key,
 *   secret or tokens
 *
 * @example A download from the sandbox
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
  const { clock, dataStreamOptions: { rateLimiter } } = settings;
  const context: AppContext = {
    settings,
    accessControl: createAccessControl(settings), // checks the options of the client
    feeds: new Feeds(settings, (service) => serviceProblem(service, settings)),
    requests: new RequestQueue(rateLimiter, clock),
  };
  const metrics = new Metrics(context, settings);
  const readiness = new Readiness(settings);
  const recorders = { settings, metrics, serviceLog: createServiceLog(settings) };
  // Workerd can drop a request without notice, so its exchange would stay here.
  const open = isWorkers() ? undefined : new Set<Exchange>();
  const app = withRecords(createRoutes(context, metrics, readiness, open));
  const fetch: EdgeApp["fetch"] = async (request, connection, worker) => {
    const waitUntil: Exchange["waitUntil"] = (promise) => worker?.waitUntil?.(promise);
    const exchange = createExchange({ request, connection, waitUntil }, recorders, open);
    const response = await app.fetch(request, { exchange });
    return exchange.request.method === "HEAD" ? keepBodyOpen(response, clock) : response;
  };
  const openResponses = () => open?.size ?? 0;
  return {
    fetch,
    request: (input, init) =>
      fetch(
        new Request(input instanceof Request ? input : new URL(input, "http://localhost"), init),
      ),
    metrics: () => metrics.toText(),
    openResponses,
    interrupt() {
      const count = openResponses();
      open?.forEach((exchange) => exchange.end("interrupted"));
      return count;
    },
  };
}

/** Adds the id, the record and the end of silence to all responses, also to those to invalid requests. */
function withRecords(routes: Router): Router {
  const app: Router = new Hono();
  app.use(sendRequestId, recordResponse, endSilence);
  app.all("*", async ({ env: { exchange } }) => {
    const { request } = exchange;
    try {
      if (!URL.canParse(request.url)) throw INVALID_URL;
      return await routes.fetch(request, { exchange });
    } catch (error) {
      // Hono passes only instances of Error to its handler; in Node, the reason of an abort can be a text.
      return respondToError(error, exchange);
    }
  });
  return app;
}

const NO_STORE = { "cache-control": "no-store" };
// Sets the type, because Bun replaces the default type by application/octet-stream.
const STATUS_HEADERS = { ...NO_STORE, "content-type": "text/plain; charset=utf-8" };

function createRoutes(
  context: AppContext,
  metrics: Metrics,
  readiness: Readiness,
  open: ReadonlySet<Exchange> | undefined,
): Router {
  const { settings: { corsOrigins, metricsToken, synthetic }, accessControl } = context;
  const app: Router = new Hono();
  const knownPaths = new Set<string>();
  const mirror = context.settings.mirror && new Mirror(context.settings.mirror, context.settings);

  app.use(async ({ req, env }, next) => {
    // Also for a method that is not allowed, and for a preflight request.
    if (knownPaths.has(req.path)) env.exchange.facts.path = req.path;
    await next();
  });
  app.use(secureHeaders(SECURE_HEADERS));
  app.use(cors({ ...CORS, origin: corsOrigins === "*" ? "*" : [...corsOrigins] }));
  app.use(async ({ header }, next) => {
    await next();
    if (synthetic) header("x-weir-data", "synthetic");
  });
  app.use(methodNotAllowed({
    app,
    onMethodNotAllowed: ({ req: { method, path } }, methods) => {
      const allow = methods.join(", ");
      const detail = `${path} does not allow ${method}`;
      const problem = { status: 405, title: "Method not allowed", detail, hint: `use ${allow}` };
      return problemResponse(problem, { allow });
    },
  }));

  app.get("/healthz", () => new Response("ok\n", { headers: STATUS_HEADERS }));
  app.get("/readyz", async ({ env: { exchange } }) => {
    const { upstream, log } = exchange;
    if (isMirrorOnly(context.settings)) await mirror!.manifest(exchange);
    else await readiness.check(upstream.count(accessControl.server.dataStream), log);
    return new Response("ready\n", { headers: STATUS_HEADERS });
  });
  if (metricsToken !== undefined) addOperatorPaths(app, context, metrics, metricsToken, open);
  addDownloads(app, context);
  addPage(app, context, mirror);
  if (mirror !== undefined) addMirror(app, mirror, context);
  for (const { method, path } of app.routes) if (method !== "ALL") knownPaths.add(path);

  app.notFound(({ req: { path } }) =>
    problemResponse({
      status: 404,
      title: "Not found",
      detail: `Unknown path ${oneLine(path)}`,
      hint: pathHint(path, [...knownPaths]),
    })
  );
  app.onError((error, { env }) => respondToError(error, env.exchange));
  return app;
}

/** For who has the metrics token. */
function addOperatorPaths(
  app: Router,
  context: AppContext,
  metrics: Metrics,
  secret: string,
  open: ReadonlySet<Exchange> | undefined,
): void {
  app.get("/metrics", async ({ req }) => {
    await requireKnownToken(bearerToken(req.raw), [{ secret }]);
    const headers = { ...NO_STORE, "content-type": METRICS_TYPE };
    return new Response(metrics.toText(), { headers });
  });
  app.get("/status", async ({ env }) => {
    const { respondWithStatus } = await import("./status.ts");
    return await respondWithStatus(env.exchange, context, metrics, open);
  });
}

function addDownloads(app: Router, context: AppContext): void {
  const get = (path: string, respond: (exchange: Exchange) => Promise<Response>) =>
    app.get(path, ({ env }) => respond(env.exchange));
  for (const resource of RESOURCE_NAMES) {
    get(`/${resource}`, (exchange) => respondWithDownload(exchange, resource, undefined, context));
    for (const format of formatsOf(resource)) {
      const path = `/${resource}.${format}`;
      get(path, (exchange) => respondWithDownload(exchange, resource, format, context));
    }
    const path = `/${resource}.datapackage.json`;
    get(path, async (exchange) => {
      const { respondWithDataPackage } = await import("../downloads/data_package.ts");
      return await respondWithDataPackage(exchange, resource, context);
    });
  }
  for (const path of CITATION_PATHS) {
    get(path, (exchange) => respondWithCitations(exchange, path, context));
  }
  for (const path of SUMMARY_PATHS) {
    get(path, (exchange) => respondWithSummary(exchange, path, context));
  }
}

function addMirror(app: Router, mirror: Mirror, context: AppContext): void {
  for (const path of [MIRROR_PATH, MIRROR_JSON]) {
    app.get(path, ({ env }) => respondWithMirrorList(env.exchange, mirror, context));
  }
  app.get(MIRROR_FILES, ({ env: { exchange } }) => {
    exchange.facts.path = MIRROR_FILES.split("{")[0]!;
    return respondWithMirrorFile(exchange, mirror, context);
  });
}

const MIRROR_FILES = `${MIRROR_PATH}:path{.+}`;

const SECURE_HEADERS = {
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
  // Allows web pages of other origins to use downloads.
  crossOriginResourcePolicy: "cross-origin",
  // Without includeSubDomains: the subdomains of the host may lack TLS.
  strictTransportSecurity: "max-age=15552000",
  xFrameOptions: "DENY",
};

const CORS = {
  allowMethods: ["GET", "HEAD"],
  allowHeaders: [
    "x-api-key",
    "authorization",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "range",
    "x-request-id",
  ],
  exposeHeaders: [
    "accept-ranges",
    "content-disposition",
    "content-range",
    "etag",
    "link",
    "retry-after",
    "x-request-id",
    "x-weir-data",
  ],
  maxAge: 86_400,
};

function respondToError(error: unknown, exchange: Exchange): Response {
  const problem = toProblem(error);
  if (problem !== undefined) {
    exchange.facts.cause = problem.unavailableCause;
    return problemResponse(problem.details, problem.headers);
  }
  if (exchange.request.signal.aborted) {
    return new Response(null, { status: CLIENT_CLOSED_REQUEST });
  }
  exchange.log.logFailure("Internal error", (error as Error | undefined)?.stack ?? error);
  return problemResponse({
    status: 500,
    title: "Internal error",
    detail: "The server could not process the request",
    hint: requestIdHint(exchange.log.id),
  });
}

/** Some runtimes do not reject an invalid `host` header (RFC 9112, 3.2). */
const INVALID_URL = new HttpProblem({
  status: 400,
  title: "Invalid request",
  detail: "The host header or the URL of the request is invalid",
  hint: "send the host and port of this server in the host header",
});

function pathHint(path: string, known: readonly string[]): string {
  // OData has /Records/$count (OData 4.01 Part 2, 4.8).
  const bare = path.replace(/(\/(\$|%24)count)?\/?$/i, "");
  // Also a path that was copied from DataStream, such as /v1/odata/v4/Records.
  const suffix = known.find((other) => other !== "/" && bare.endsWith(other));
  if (suffix !== undefined) {
    return /count\/?$/i.test(path) ? `use "${suffix}?$count=true"` : `did you mean "${suffix}"?`;
  }
  const lower = bare.toLowerCase();
  const [name] = lower.split(".");
  const files = known.filter((other) => other.toLowerCase().split(".")[0] === name);
  const same = files.find((other) => other.toLowerCase() === lower);
  if (same !== undefined) return `did you mean "${same}"?`;
  if (files.length > 0) return `use one of ${files.join(", ")}`;
  const paths = RESOURCE_NAMES.map((name) => `/${name}.csv`);
  return suggestBySpelling(bare, known, `use one of ${paths.join(", ")}`);
}
