import { messageFor, ValidationError } from "../../src/errors.ts";
import type { EdgeApp } from "../app.ts";
import type { Environment } from "../config.ts";
import { type AppOptions, DEFAULT_HOST, type LogTarget, VARIABLE_NAMES } from "../options.ts";
import { problemResponse } from "../problem.ts";
import { TRACK_RESPONSES, trackResponses } from "../track_responses.ts";
import { hideAbortWarning } from "./abort_warning.ts";
import { interruptedMessage, SHUTDOWN_TIMEOUT, StoppableApp } from "./graceful_stop.ts";
import { BUN_IDLE_TIMEOUT } from "./listening.ts";
import {
  createConfiguredApp,
  createReport,
  KNOWN_VARIABLES,
  readListenOptions,
  type Report,
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

/**
 * Creates a server from environment variables, for runtimes that serve the default export of a module.
 *
 * On Workers, a missing or invalid variable does not throw: the server responds with status 503.
 *
 * @param runtime Process of the server; `undefined` on Workers, which pass the environment with each request
 * @param isMain Whether this module is the program. If so, an invalid variable ends the process
 * @param log Receives the lines of the log
 * @param timeout Shutdown timeout (ms)
 * @throws {Error} If a variable is missing or invalid, and this module is not the program
 */
export function createServerEntry(
  runtime: ServerProcess | undefined,
  isMain: boolean,
  log: LogTarget,
  timeout: number = SHUTDOWN_TIMEOUT,
): ServerEntry {
  if (runtime === undefined) return createWorkersEntry(log);
  const entries = KNOWN_VARIABLES.map((name) => [name, runtime.variable(name)] as const);
  const environment: Environment = Object.fromEntries(entries);
  const report = createReport(log, environment);
  try {
    // Bun would ignore an invalid port and listen on its default port.
    const { host: hostname } = readListenOptions(
      runtime.isBun ? environment : { HOST: environment.HOST },
    );
    const { app, settings } = createConfiguredApp(environment, runtime.variableNames(), log);
    report(settings);
    return {
      idleTimeout: BUN_IDLE_TIMEOUT,
      hostname,
      development: false,
      fetch: stopOnSignals(app, runtime, report, timeout),
      // For `serveNode()`.
      [TRACK_RESPONSES]: () => trackResponses(app),
    } as ServerEntry;
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

/** Variables and other bindings of a Worker, by name. */
export type Bindings = Readonly<Record<string, unknown>>;

/**
 * Creates the entry for Workers. The app is created at the first request, which has the environment. If a variable is
 * missing or invalid, the entry responds with status 503.
 *
 * @param readOptions Returns options from bindings that are not variables
 */
export function createWorkersEntry(
  log: LogTarget,
  readOptions: (bindings: Bindings) => Partial<AppOptions> = () => ({}),
): ServerEntry {
  let app: Pick<EdgeApp, "fetch"> | undefined;
  const create = (bindings: Bindings) => {
    const variables = bindings as Environment;
    try {
      const names = Object.keys(bindings);
      const created = createConfiguredApp(variables, names, log, readOptions(bindings));
      created.report(created.settings);
      return created.app;
    } catch (error) {
      if (!(error instanceof ValidationError)) throw error;
      createReport(log, variables)(failureMessage(error), "error");
      return { fetch: respondNotServing };
    }
  };
  return {
    idleTimeout: BUN_IDLE_TIMEOUT,
    hostname: DEFAULT_HOST,
    development: false,
    fetch(request, bindings, worker) {
      app ??= create(bindings as Bindings | undefined ?? {});
      return app.fetch(request, undefined, worker);
    },
  };
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

/** Returns the handler of an app that finishes its open responses after a signal, and then ends the process. */
function stopOnSignals(
  app: EdgeApp,
  runtime: ServerProcess,
  report: Report,
  timeout: number,
): ServerEntry["fetch"] {
  const served = new StoppableApp(app, timeout);
  const stop = async () => {
    const deadline = performance.now() + timeout;
    // Bun passes its server with the first request.
    const interrupted = await served.stop();
    if (interrupted > 0) {
      report(interruptedMessage(interrupted, timeout), "error");
      return 1;
    }
    // `deno serve` exits when all connections are closed. This can be after the last response is complete,
    // while a slow client still reads it.
    if (!runtime.isBun) await sleepUnlessIdle(deadline - performance.now());
    return 0;
  };
  let handlesSignals = runtime.isBun;
  if (handlesSignals) runtime.onStopSignal(stop);
  return (request, context) => {
    if (!handlesSignals && (context as { completed?: unknown } | undefined)?.completed) {
      // Before the first request, no response is open, and Deno handles signals itself.
      handlesSignals = true;
      runtime.onStopSignal(stop);
      hideAbortWarning();
    }
    return served.fetch(request, context);
  };
}

/** Waits without keeping the process running. */
function sleepUnlessIdle(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds) as { unref?: () => void };
    timer.unref?.();
  });
}
