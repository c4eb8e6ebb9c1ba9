import { createApp, type EdgeApp } from "../app.ts";
import { type Environment, readConfig } from "../config.ts";
import { interruptedMessage, type RunningServer, waitingMessage } from "./graceful_stop.ts";
import { ListenError, type ListenOptions } from "./listening.ts";
import { METRICS_TYPE } from "../metrics.ts";
import { startServer } from "./http_server.ts";
import {
  createReport,
  readListenOptions,
  readMetricsPort,
  settingsLine,
  unknownVariables,
} from "./server_config.ts";

export { VARIABLE_NAMES } from "../config.ts";
export { ListenError };
export { KNOWN_VARIABLES } from "./server_config.ts";

/** A running server of {@linkcode startConfiguredServer}. */
export interface ConfiguredServer {
  /** Stops the server. Resolves to whether all responses were complete. */
  stop(): Promise<boolean>;
}

/**
 * Starts a server from environment variables. Reports its URL, its settings and unknown variables.
 *
 * @param environment Values of the known variables
 * @param names Names of all variables that can be listed
 * @param write Writes a line of the log
 * @throws {ValidationError} If a variable is missing or invalid; its `option` names the variable, or the option
 *   of `createApp()`
 * @throws {ListenError} If the server cannot listen
 */
export async function startConfiguredServer(
  environment: Environment,
  names: Iterable<string>,
  write: (line: string) => void,
): Promise<ConfiguredServer> {
  const report = createReport(write, environment.WEIR_LOG);
  for (const message of unknownVariables(names)) report(message, "warn");
  const listenOptions = readListenOptions(environment);
  const metricsPort = readMetricsPort(environment.WEIR_METRICS_PORT, listenOptions.port);
  const options = { log: write, ...readConfig(environment) };
  const app = createApp(options);
  const server = await startServer(app, listenOptions);
  let metricsServer: RunningServer | undefined;
  try {
    metricsServer = metricsPort === undefined
      ? undefined
      : await startMetricsServer(app, { ...listenOptions, port: metricsPort });
  } catch (error) {
    await server.stop();
    if (!(error instanceof ListenError)) throw error;
    throw new ListenError(`${error.message} (WEIR_METRICS_PORT sets this port)`, { cause: error });
  }
  report(`Weir listens on ${server.url}`);
  if (metricsServer) report(`Metrics: ${metricsServer.url}metrics`);
  const { shutdownTimeout } = listenOptions;
  report(settingsLine(options, shutdownTimeout));
  return {
    async stop() {
      const open = server.openResponses();
      if (open > 0) report(waitingMessage(open, shutdownTimeout));
      const interrupted = await server.stop();
      // Stops last, so that Prometheus can read the metrics of the last downloads.
      await metricsServer?.stop();
      if (interrupted > 0) {
        report(interruptedMessage(interrupted, shutdownTimeout, "WEIR_SHUTDOWN_TIMEOUT"), "error");
      }
      return interrupted === 0;
    },
  };
}

/** Serves the metrics of an app on a second port, without a token. */
function startMetricsServer(app: EdgeApp, options: ListenOptions): Promise<RunningServer> {
  const fetch = ({ url }: Request) =>
    URL.canParse(url) && new URL(url).pathname === "/metrics"
      ? new Response(app.metrics(), {
        headers: { "cache-control": "no-store", "content-type": METRICS_TYPE },
      })
      : new Response("Not found: use /metrics\n", { status: 404 });
  return startServer({ fetch }, { ...options, shutdownTimeout: 0 });
}
