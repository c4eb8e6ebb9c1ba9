import type { Environment } from "../config.ts";
import { interruptedMessage, openResponses, SHUTDOWN_TIMEOUT } from "./graceful_stop.ts";
import { startServer } from "./http_server.ts";
import { ListenError } from "./listening.ts";
import { createConfiguredApp, readListenOptions } from "./server_config.ts";

export { VARIABLE_NAMES, VARIABLES } from "../options.ts";
export { KNOWN_VARIABLES } from "./server_config.ts";
export { ListenError };

/** A running server of {@linkcode startConfiguredServer}. */
export interface ConfiguredServer {
  /** Stops the server. Resolves to whether all responses were complete. */
  stop(): Promise<boolean>;
}

/**
 * Starts a server from environment variables. Reports its URL, its settings and variables without effect.
 *
 * @param write Writes a line of the log
 * @throws {ValidationError} As {@linkcode createConfiguredApp}, which has the other parameters
 * @throws {ListenError} If the server cannot listen
 */
export async function startConfiguredServer(
  environment: Environment,
  names: Iterable<string>,
  write: (line: string) => void,
): Promise<ConfiguredServer> {
  const listenOptions = readListenOptions(environment);
  const { app, report, settings } = createConfiguredApp(environment, names, write);
  const server = await startServer(app, listenOptions);
  report(`Weir listens on ${server.url}`);
  report(settings);
  return {
    async stop() {
      const open = server.openResponses();
      const seconds = SHUTDOWN_TIMEOUT / 1000;
      if (open > 0) report(`Stopping: waiting up to ${seconds} s for ${openResponses(open)}`);
      const interrupted = await server.stop();
      if (interrupted > 0) report(interruptedMessage(interrupted, SHUTDOWN_TIMEOUT), "error");
      return interrupted === 0;
    },
  };
}
