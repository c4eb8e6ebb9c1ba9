import { callLater, systemClock } from "../../src/clock.ts";
import { messageFor, namesOf, ValidationError } from "../../src/errors.ts";
import { requireNode } from "../../src/node_version.ts";
import type { EdgeApp } from "./app.ts";
import {
  BUN_OPTIONS,
  createConfiguredApp,
  createReport,
  type Environment,
  KNOWN_VARIABLES,
  readListenOptions,
  type Report,
} from "./config.ts";
import { type AppOptions, DEFAULT_HOST, type LogTarget, VARIABLE_NAMES } from "../http/options.ts";
import { problemResponse } from "../http/problem.ts";
import {
  type BunServer,
  exit,
  hasProcess,
  hideAbortWarning,
  interruptedMessage,
  isBun,
  onStopSignal,
  permissionHint,
  permittedVariables,
  SHUTDOWN_TIMEOUT,
  stopBun,
  stopWithin,
  until,
  variableNames,
} from "./server_process.ts";

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
   * @param context Second argument of the runtime: the environment on Workers, the server in Bun, and
   *   information about the request in Deno
   * @param worker Third argument on Workers
   */
  fetch(
    request: Request,
    context?: unknown,
    worker?: { waitUntil?(promise: Promise<unknown>): void },
  ): Response | Promise<Response>;
}

/** On Workers, an invalid variable does not throw: the server responds with status 503. */
export function createServerEntry(isMain: boolean): ServerEntry {
  // Workers have no standard error: Cloudflare shows the level of each line.
  if (!hasProcess) return createWorkersEntry(console);
  requireNode();
  const environment = permittedVariables(KNOWN_VARIABLES);
  const report = createReport(console.error, environment);
  try {
    // Bun would ignore an invalid port and listen on its default port.
    const { hostname } = readListenOptions(isBun ? environment : { HOST: environment.HOST });
    const { app, settings } = createConfiguredApp(environment, variableNames(), console.error);
    report(settings);
    // `interrupt` is for `serveNode()`.
    const { interrupt } = app;
    const entry = { ...BUN_OPTIONS, hostname, fetch: stopOnSignals(app, report), interrupt };
    return entry;
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    const name = VARIABLE_NAMES[error.option] ?? error.option;
    const message = failureMessage(error) + permissionHint(name);
    if (isMain) {
      report(message, "error");
      exit(1);
    }
    // Deno and Node print the stack, which is only the message here.
    throw Object.assign(new Error(message), { stack: `Error: ${message}` });
  }
}

export type Bindings = Readonly<Record<string, unknown>>;

/** The first request creates the app, because it has the environment. */
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
    ...BUN_OPTIONS,
    hostname: DEFAULT_HOST,
    fetch(request, bindings, worker) {
      app ??= create(bindings as Bindings | undefined ?? {});
      return app.fetch(request, undefined, worker);
    },
  };
}

function failureMessage(error: ValidationError): string {
  return `Not serving: ${messageFor(error, namesOf(VARIABLE_NAMES))}`;
}

/** 200 to `/healthz`: a failed health check could stop the server and hide its log. */
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

function stopOnSignals(app: EdgeApp, report: Report): ServerEntry["fetch"] {
  /** Known from the first request. */
  let bun: BunServer | undefined;
  const stop = async () => {
    const deadline = performance.now() + SHUTDOWN_TIMEOUT;
    const complete = () => until(() => app.openResponses() === 0);
    const interrupted = await (bun ? stopBun(bun, app) : stopWithin(complete(), app.interrupt));
    if (interrupted > 0) {
      report(interruptedMessage(interrupted), "error");
      return 1;
    }
    // `deno serve` exits when all connections are closed. This can be after the last response is complete,
    // while a slow client still reads it.
    if (!isBun) {
      const rest = deadline - performance.now();
      await new Promise<void>((resolve) => callLater(systemClock, rest, resolve));
    }
    return 0;
  };
  let handlesSignals = isBun;
  if (handlesSignals) onStopSignal(stop);
  return (request, context) => {
    const { completed, pendingRequests } = (context ?? {}) as Partial<RequestContext>;
    if (pendingRequests !== undefined) bun = context as BunServer;
    if (!handlesSignals && completed !== undefined) {
      // Before the first request, no response is open, and Deno handles signals itself.
      handlesSignals = true;
      onStopSignal(stop);
      hideAbortWarning();
    }
    return app.fetch(request, context);
  };
}

interface RequestContext {
  /** Deno. */
  completed: Promise<void>;
  /** Bun. */
  pendingRequests: number;
}
