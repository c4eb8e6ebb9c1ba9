/**
 * Entry point for `deno serve`, Deno Deploy, Bun and Cloudflare Workers, which all serve the default
 * export of a module.
 *
 * @module
 */
import { ValidationError } from "../src/errors.ts";
import { createApp, type EdgeApp } from "./app.ts";
import { type Environment, OPTION_VARIABLES, readConfig, VARIABLES } from "./config.ts";
import { problemResponse } from "./problem.ts";

/** Default export of this module. */
interface Entry {
  /** Idle timeout (s) of Bun, at its maximum. The default of 10 s would interrupt slow downloads. */
  idleTimeout: number;
  /**
   * Responds to a request.
   *
   * @param bindings Environment, which Workers pass with each request
   */
  fetch(request: Request, bindings?: Environment): Response | Promise<Response>;
}

const scope = globalThis as {
  process?: { env: Environment };
  navigator?: { userAgent?: string };
};

/**
 * The app, created at start, so that errors in the configuration are logged then. On Workers it is
 * created by the first request, which brings the environment.
 */
let handler = scope.process && scope.navigator?.userAgent !== "Cloudflare-Workers"
  ? createHandler()
  : undefined;

const entry: Entry = {
  idleTimeout: 255,
  fetch(request, bindings) {
    handler ??= createHandler(bindings);
    return handler.fetch(request);
  },
};
export default entry;

function createHandler(bindings?: Environment): Pick<EdgeApp, "fetch"> {
  const environment = bindings ?? scope.process?.env ?? {};
  try {
    // Deno asks for permission for each variable, so only known ones are read.
    return createApp(
      readConfig(Object.fromEntries(VARIABLES.map((name) => [name, environment[name]]))),
    );
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    console.error(`Not serving: ${error.messageFor(OPTION_VARIABLES)}`);
    return { fetch: respondNotServing };
  }
}

/** Passes health checks, so that the platform shows the log and does not restart the server. */
function respondNotServing(request: Request): Response {
  if (new URL(request.url).pathname === "/healthz") return new Response("ok\n");
  return problemResponse({
    status: 503,
    title: "Not serving",
    detail: "The configuration of the server is invalid",
    hint: "tell the operator of this server (its log says which environment variable to set)",
  }, { "retry-after": "60" });
}
