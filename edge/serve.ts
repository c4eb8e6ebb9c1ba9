/**
 * The entry of the edge function: for `deno serve`, Deno Deploy, Bun and Cloudflare Workers, which
 * all serve a module's default export.
 *
 * @module
 */
import { createApp, type EdgeApp } from "./app.ts";
import { type Environment, readConfig, VARIABLES } from "./config.ts";
import { problemResponse } from "./problem.ts";

/** What a server calls; Workers hand the environment over with each request. */
interface Entry {
  /** For Bun, in seconds, its longest: by default it cuts a download that waits for ten. */
  idleTimeout: number;
  fetch(request: Request, bindings?: Environment): Response | Promise<Response>;
}

/** The variables that the app knows by other names. */
const OPTION_VARIABLES: Record<string, string> = {
  apiKey: "DATASTREAM_API_KEY",
  baseUrl: "DATASTREAM_BASE_URL",
  requestsPerSecond: "WEIR_REQUESTS_PER_SECOND",
};

type Handler = Pick<EdgeApp, "fetch">;

const scope = globalThis as {
  process?: { env: Environment };
  navigator?: { userAgent?: string };
};

/** Workers have no environment before the first request; elsewhere a wrong one is told at once. */
let handler = scope.process && scope.navigator?.userAgent !== "Cloudflare-Workers"
  ? start()
  : undefined;

const entry: Entry = {
  idleTimeout: 255,
  fetch(request, bindings) {
    handler ??= start(bindings);
    return handler.fetch(request);
  },
};
export default entry;

function start(bindings?: Environment): Handler {
  const environment = bindings ?? scope.process?.env ?? {};
  try {
    return createApp(
      readConfig(Object.fromEntries(VARIABLES.map((name) => [name, environment[name]]))),
    );
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
    const [option = ""] = /^\w+/.exec(error.message) ?? [];
    const message = Object.hasOwn(OPTION_VARIABLES, option)
      ? error.message.replace(option, OPTION_VARIABLES[option]!)
      : error.message;
    console.error(`Not serving: ${message}`);
    return { fetch: notServing };
  }
}

/** Up, so that its log is read and not its restarts counted, and closed. */
function notServing(request: Request): Response {
  if (new URL(request.url).pathname === "/healthz") return new Response("ok\n");
  return problemResponse({
    status: 503,
    title: "Not serving",
    detail: "The server's environment is not as it must be; its log says what to set",
    hint: "tell whoever runs this server",
  }, { "retry-after": "60" });
}
