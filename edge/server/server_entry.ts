import { messageFor, ValidationError } from "../../src/errors.ts";
import { hideAbortWarning } from "./abort_warning.ts";
import { createApp, type EdgeApp } from "../app.ts";
import { type Environment, readConfig, VARIABLE_NAMES } from "../config.ts";
import {
  type BunServer,
  interruptedMessage,
  OpenResponses,
  stopBunServer,
  stopWithin,
} from "./graceful_stop.ts";
import { TRACK_RESPONSES, trackResponses } from "../track_responses.ts";
import { BUN_IDLE_TIMEOUT, DEFAULT_HOST } from "./listening.ts";
import type { AppOptions, LogTarget } from "../options.ts";
import { problemResponse } from "../problem.ts";
import {
  createReport,
  KNOWN_VARIABLES,
  readHost,
  readListenOptions,
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
  /** Whether Bun prints errors with their source code: `false`. */
  development: boolean;
  /**
   * Responds to a request.
   *
   * @param request Request for a path of the app
   * @param context Second argument of the runtime: the environment on Workers, the server in Bun, and
   *   information about the request in Deno
   * @param worker Third argument on Workers
   * @returns The response
   */
  fetch(
    request: Request,
    context?: unknown,
    worker?: { waitUntil?(promise: Promise<unknown>): void },
  ): Response | Promise<Response>;
}

type Handler = Pick<EdgeApp, "fetch">;

/**
 * Creates a server from environment variables, for runtimes that serve the default export of a module.
 *
 * On Workers, a missing or invalid variable does not throw: the server responds with status 503.
 *
 * @param runtime Process of the server; `undefined` on Workers, which pass the environment with each request
 * @param isMain Whether this module is the program. If so, an invalid variable ends the process
 * @param log Receives the lines of the log
 * @throws {Error} If a variable is missing or invalid, and this module is not the program
 */
export function createServerEntry(
  runtime: ServerProcess | undefined,
  isMain: boolean,
  log: LogTarget,
): ServerEntry {
  if (runtime === undefined) return createWorkersEntry(log);
  const entries = KNOWN_VARIABLES.map((name) => [name, runtime.variable(name)] as const);
  const environment = Object.fromEntries(entries);
  const report = createReport(log, environment.WEIR_LOG);
  const app = createAppOfProcess(runtime, environment, isMain, log, report);
  const timeout = readShutdownTimeout(environment.WEIR_SHUTDOWN_TIMEOUT);
  const onRequest = createRequestListener(runtime, timeout, report, trackResponses(app));
  const entry = {
    idleTimeout: BUN_IDLE_TIMEOUT,
    hostname: readHost(environment.HOST),
    development: false,
    fetch(request: Request, context?: unknown) {
      onRequest(context);
      return app.fetch(request, context);
    },
    // For `serveNode()`.
    [TRACK_RESPONSES]: () => trackResponses(app),
  };
  return entry;
}

/** Variables and other bindings of a Worker, by name. */
export type Bindings = Readonly<Record<string, unknown>>;

/**
 * Creates the entry for Workers. The app is created at the first request, which has the environment.
 *
 * @param readOptions Returns options from bindings that are not variables
 */
export function createWorkersEntry(
  log: LogTarget,
  readOptions: (bindings: Bindings) => Partial<AppOptions> = () => ({}),
): ServerEntry {
  let app: Handler | undefined;
  return {
    idleTimeout: BUN_IDLE_TIMEOUT,
    hostname: DEFAULT_HOST,
    development: false,
    fetch(request, given, worker) {
      const bindings = given as Bindings | undefined ?? {};
      app ??= createAppOfWorker(bindings, readOptions(bindings), log);
      return app.fetch(request, undefined, worker);
    },
  };
}

/** Creates the app of a process. Ends the process or throws if a variable is missing or invalid. */
function createAppOfProcess(
  runtime: ServerProcess,
  environment: Environment,
  isMain: boolean,
  log: LogTarget,
  report: Report,
): Handler {
  try {
    // Bun would ignore an invalid port and listen on its default port.
    if (runtime.isBun) readListenOptions(environment);
    return createReportedApp(environment, runtime.variableNames(), log, report);
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    const name = VARIABLE_NAMES[error.option] ?? error.option;
    const message = failureMessage(error) + runtime.permissionHint(name);
    if (isMain) {
      report(message, "error");
      runtime.exit(1);
    }
    // Deno and Node print the stack, which is only the message here.
    throw Object.assign(new Error(message), { stack: `Error: ${message}` });
  }
}

/** Creates the app of a Worker. Returns a handler with status 503 if a variable is missing or invalid. */
function createAppOfWorker(
  bindings: Bindings,
  options: Partial<AppOptions>,
  log: LogTarget,
): Handler {
  const variables = bindings as Environment;
  const report = createReport(log, variables.WEIR_LOG);
  try {
    return createReportedApp(variables, Object.keys(bindings), log, report, options);
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    report(failureMessage(error), "error");
    return { fetch: respondNotServing };
  }
}

/**
 * Creates the app. Reports its settings, and variables without effect.
 *
 * @param workerOptions Options from the bindings of a Worker; `undefined` in a process
 */
function createReportedApp(
  environment: Environment,
  names: Iterable<string>,
  log: LogTarget,
  report: Report,
  workerOptions?: Partial<AppOptions>,
): Handler {
  for (const message of unknownVariables(names)) report(message, "warn");
  if (environment.WEIR_METRICS_PORT) {
    report("WEIR_METRICS_PORT has no effect: run weir serve, or set WEIR_METRICS_TOKEN", "warn");
  }
  const shutdownTimeout = readShutdownTimeout(environment.WEIR_SHUTDOWN_TIMEOUT);
  const options = { log, ...readConfig(environment), ...workerOptions };
  const app = createApp(options);
  report(settingsLine(options, workerOptions ? undefined : shutdownTimeout));
  return app;
}

function failureMessage(error: ValidationError): string {
  return `Not serving: ${messageFor(error, VARIABLE_NAMES)}`;
}

/**
 * Responds with status 503, and with 200 to `/healthz`: a platform that sees a failed health check can stop
 * the server and hide its log.
 */
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
 * Returns a function to call with the context of each request. It records the open responses of Deno and the
 * server of Bun, which are needed to stop the server after a signal.
 *
 * @param logInterrupted Logs the open responses as interrupted
 */
function createRequestListener(
  runtime: ServerProcess,
  timeout: number,
  report: Report,
  logInterrupted: () => void,
): (context: unknown) => void {
  const open = new OpenResponses();
  let bun: BunServer | undefined;
  const interrupt = () => {
    logInterrupted();
    return open.count;
  };
  const stop = async () => {
    const deadline = performance.now() + timeout;
    const interrupted = bun
      ? await stopBunServer(bun, timeout, logInterrupted)
      : await stopWithin(open.complete(), timeout, interrupt);
    if (interrupted > 0) {
      report(interruptedMessage(interrupted, timeout, "WEIR_SHUTDOWN_TIMEOUT"), "error");
      return 1;
    }
    // `deno serve` exits when all connections are closed. This can be after the last response is complete,
    // while a slow client still reads it.
    if (!runtime.isBun) await sleepUnlessIdle(deadline - performance.now());
    return 0;
  };
  let handlesSignals = false;
  const handleSignals = () => {
    handlesSignals = true;
    runtime.onStopSignal(stop);
  };
  if (runtime.isBun) handleSignals();
  return (context) => {
    const { completed, pendingRequests } = (context ?? {}) as Partial<RequestContext>;
    if (pendingRequests !== undefined) bun = context as BunServer;
    if (completed === undefined) return;
    open.add(completed);
    if (handlesSignals) return;
    // Before the first request, no response is open, and Deno handles signals itself.
    handleSignals();
    hideAbortWarning();
  };
}

/** Properties of the second argument of `fetch()` in Deno or Bun. */
interface RequestContext {
  /** Deno: settles when the response was sent or has failed. */
  completed: Promise<void>;
  /** Bun: number of requests whose responses are not complete. */
  pendingRequests: number;
}

/** Waits without keeping the process running. */
function sleepUnlessIdle(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds) as { unref?: () => void };
    timer.unref?.();
  });
}
