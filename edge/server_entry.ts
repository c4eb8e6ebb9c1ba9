import { ValidationError } from "../src/errors.ts";
import { hideAbortWarning } from "./abort_warning.ts";
import { createApp, type EdgeApp } from "./app.ts";
import { type Environment, readConfig, VARIABLE_NAMES } from "./config.ts";
import {
  brokenMessage,
  type BunServer,
  OpenResponses,
  stopBunServer,
  stopWithin,
} from "./graceful_stop.ts";
import { BUN_IDLE_TIMEOUT, DEFAULT_HOST } from "./listening.ts";
import { problemResponse } from "./problem.ts";
import {
  createReport,
  KNOWN_VARIABLES,
  readShutdownTimeout,
  type Report,
  settingsLine,
  unknownVariables,
} from "./server_config.ts";
import type { ServerProcess } from "./server_process.ts";

/** Type of the default export of `@weir/datastream/serve`. */
export interface ServerEntry {
  /** Idle timeout (s) of Bun. */
  idleTimeout: number;
  /** Address on which Bun listens. */
  hostname: string;
  /**
   * Responds to a request.
   *
   * @param request Request for a download or for the web page
   * @param context What the runtime passes: Workers the environment, Bun its server, Deno facts about
   *   the request
   * @returns The response
   */
  fetch(request: Request, context?: unknown): Response | Promise<Response>;
}

type Handler = Pick<EdgeApp, "fetch">;

/**
 * Creates the server that environment variables configure, for runtimes that serve the default export of a
 * module.
 *
 * @param runtime Process of the server; `undefined` on Workers, where each request brings the environment
 * @param isMain Whether the runtime was started with this module. If so, an invalid value ends the process
 * @param write Receives each line
 * @throws {Error} If a variable is missing or invalid, except on Workers, where the server then responds with
 *   status 503
 */
export function createServerEntry(
  runtime: ServerProcess | undefined,
  isMain: boolean,
  write: (line: string) => void,
): ServerEntry {
  if (runtime === undefined) return createWorkersEntry(write);
  const entries = KNOWN_VARIABLES.map((name) => [name, runtime.variable(name)] as const);
  const environment = Object.fromEntries(entries);
  const report = createReport(write, environment.WEIR_LOG);
  const app = createInProcess(runtime, environment, isMain, report);
  const timeout = readShutdownTimeout(environment.WEIR_SHUTDOWN_TIMEOUT);
  const observe = createObserver(runtime, timeout, report);
  return {
    idleTimeout: BUN_IDLE_TIMEOUT,
    hostname: environment.HOST?.trim() || DEFAULT_HOST,
    fetch(request, context) {
      observe(context);
      return app.fetch(request);
    },
  };
}

/** Creates the entry for Workers, where the first request brings the environment. */
function createWorkersEntry(write: (line: string) => void): ServerEntry {
  let app: Handler | undefined;
  return {
    idleTimeout: BUN_IDLE_TIMEOUT,
    hostname: DEFAULT_HOST,
    fetch(request, bindings) {
      app ??= createOnWorkers(bindings as Environment | undefined ?? {}, write);
      return app.fetch(request);
    },
  };
}

/** Creates the app at start, so that an invalid value is reported then. */
function createInProcess(
  runtime: ServerProcess,
  environment: Environment,
  isMain: boolean,
  report: Report,
): Handler {
  try {
    return createReported(environment, runtime.variableNames(), report);
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    const name = VARIABLE_NAMES[error.option] ?? error.option;
    const message = failureMessage(error) + runtime.permissionHint(name);
    if (isMain) {
      report(message, "error");
      runtime.exit(1);
    }
    // Without a stack, Deno and Node print only the message.
    throw Object.assign(new Error(message), { stack: `Error: ${message}` });
  }
}

/** Creates the app, or a handler that responds with status 503: there is no process to end. */
function createOnWorkers(bindings: Environment, write: (line: string) => void): Handler {
  const report = createReport(write, bindings.WEIR_LOG);
  try {
    return createReported(bindings, Object.keys(bindings), report);
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    report(failureMessage(error), "error");
    return { fetch: respondNotServing };
  }
}

function createReported(
  environment: Environment,
  names: Iterable<string>,
  report: Report,
): Handler {
  for (const message of unknownVariables(names)) report(message, "warn");
  if (environment.WEIR_METRICS_PORT) {
    report("WEIR_METRICS_PORT has no effect: run weir serve, or set WEIR_METRICS_TOKEN", "warn");
  }
  readShutdownTimeout(environment.WEIR_SHUTDOWN_TIMEOUT);
  const options = readConfig(environment);
  const app = createApp(options);
  report(settingsLine(options));
  return app;
}

function failureMessage(error: ValidationError): string {
  return `Not serving: ${error.messageFor(VARIABLE_NAMES)}`;
}

/** Passes health checks, so that the platform shows the log. */
function respondNotServing(request: Request): Response {
  if (URL.canParse(request.url) && new URL(request.url).pathname === "/healthz") {
    return new Response("ok\n");
  }
  return problemResponse({
    status: 503,
    title: "Not serving",
    detail: "The configuration of the server is invalid",
    hint: "tell the operator of this server (its log says which environment variable to set)",
  }, { "retry-after": "60" });
}

/**
 * Returns a function that observes what the runtime passes with each request, and stops the server after a
 * signal.
 */
function createObserver(
  runtime: ServerProcess,
  timeout: number,
  report: Report,
): (context: unknown) => void {
  const open = new OpenResponses();
  let bun: BunServer | undefined;
  const stop = async () => {
    const broken = bun
      ? await stopBunServer(bun, timeout)
      : await stopWithin(open.complete(), timeout, () => open.count);
    if (broken > 0) {
      report(brokenMessage(broken, timeout, "WEIR_SHUTDOWN_TIMEOUT"), "error");
      return 1;
    }
    // `deno serve` stops accepting connections, and exits when they are closed. This may be later than
    // the last response is complete, because a slow client still reads it.
    if (!runtime.isBun) await sleepUnlessIdle(timeout);
    return 0;
  };
  let isHandled = false;
  const handleSignals = () => {
    isHandled = true;
    runtime.onStopSignal(stop);
  };
  if (runtime.isBun) handleSignals();
  return (context) => {
    const { completed, pendingRequests } = (context ?? {}) as Partial<RequestContext>;
    if (pendingRequests !== undefined) bun = context as BunServer;
    if (completed === undefined) return;
    open.add(completed);
    if (isHandled) return;
    // Not earlier: until then, no response can be open, and Deno ends by itself.
    handleSignals();
    hideAbortWarning();
  };
}

/** What Deno and Bun pass with a request. */
interface RequestContext {
  /** In Deno: settles when the response was sent or has failed. */
  completed: Promise<void>;
  /** In Bun: number of requests whose responses are not complete. */
  pendingRequests: number;
}

/** Waits, but does not keep the process running. */
function sleepUnlessIdle(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds) as { unref?: () => void };
    timer.unref?.();
  });
}
