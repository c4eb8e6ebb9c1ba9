/**
 * The server of Weir, configured by environment variables: CSV downloads of water-quality data from
 * [DataStream](https://datastream.org), and a web page that makes their URLs. Deno, Deno Deploy, Bun and
 * Cloudflare Workers serve the default export of this module.
 *
 * ## Start
 *
 * With `WEIR_SANDBOX=1`, the server has synthetic data, and needs neither an API key nor a network.
 *
 * ```sh
 * WEIR_SANDBOX=1 deno serve --host 127.0.0.1 --allow-env --allow-net jsr:@weir/datastream/serve
 * ```
 *
 * For real data, say who may download, and set the
 * [API key](https://github.com/datastreamapp/api-docs):
 *
 * ```sh
 * WEIR_ACCESS=public DATASTREAM_API_KEY=your-key \
 *   deno serve --host 127.0.0.1 --allow-env --allow-net jsr:@weir/datastream/serve
 * ```
 *
 * Then open `http://127.0.0.1:8000/`, or download `http://127.0.0.1:8000/Records.csv?limit=5`.
 *
 * ## Runtimes
 *
 * | runtime | code | command |
 * |---|---|---|
 * | Deno | none | `deno serve --allow-env --allow-net jsr:@weir/datastream/serve` |
 * | Deno Deploy | `export { default } from "jsr:@weir/datastream/serve";` | `deno deploy` |
 * | Bun | `export { default } from "@weir/datastream/serve";` | `bun main.ts` |
 * | Cloudflare Workers | `export { default } from "@weir/datastream/serve";` | `npx wrangler deploy` |
 * | Node | none | `npx @weir/datastream serve` |
 *
 * `deno serve` and Bun listen on all addresses by default; `--host 127.0.0.1` of Deno restricts them to this
 * computer.
 *
 * ## Configuration
 *
 * | variable | meaning |
 * |---|---|
 * | `WEIR_ACCESS` | who may download: `caller`, `signed`, `token` or `public` |
 * | `DATASTREAM_API_KEY` | API key of the server, for all modes except `caller` |
 * | `WEIR_SIGNING_SECRET` | secret of signed URLs, for `signed` |
 * | `WEIR_TOKENS` | tokens, for `token` |
 * | `WEIR_SANDBOX` | `1` serves synthetic data to everyone |
 *
 * The page `docs/deploying.md` in the repository lists all variables, and describes each platform.
 * The entry `@weir/datastream/edge` has a function that creates the app with options instead.
 *
 * @module
 */
import { ValidationError } from "../src/errors.ts";
import { createApp, type EdgeApp } from "./app.ts";
import { type Environment, OPTION_VARIABLES, readConfig, VARIABLES } from "./config.ts";
import { problemResponse } from "./problem.ts";

/** Type of the default export. */
export interface ServerEntry {
  /** Idle timeout (s) of Bun, at its maximum. The default of 10 s would interrupt slow downloads. */
  idleTimeout: number;
  /**
   * Responds to a request.
   *
   * @param request Request for a download or for the web page
   * @param bindings Environment, which Workers pass with each request
   * @returns The response
   */
  fetch(request: Request, bindings?: unknown): Response | Promise<Response>;
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

/**
 * The server, as Deno, Bun and Cloudflare Workers start it.
 *
 * @example A module for Deno Deploy, Bun or Workers
 * ```ts ignore
 * export { default } from "@weir/datastream/serve";
 * ```
 */
const entry: ServerEntry = {
  idleTimeout: 255,
  fetch(request, bindings) {
    handler ??= createHandler(bindings);
    return handler.fetch(request);
  },
};
export default entry;

function createHandler(bindings?: unknown): Pick<EdgeApp, "fetch"> {
  const environment = bindings as Environment | undefined ?? scope.process?.env ?? {};
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
