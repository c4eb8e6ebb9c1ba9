import { createApp } from "./app.ts";
import { type Environment, readConfig } from "./config.ts";
import { brokenMessage, type RunningServer, waitingMessage } from "./graceful_stop.ts";
import { startServer } from "./server.ts";
import { readListenOptions, settingsLine, unknownVariables } from "./server_config.ts";

export { VARIABLE_NAMES } from "./config.ts";
export { ListenError } from "./listening.ts";
export { KNOWN_VARIABLES } from "./server_config.ts";

/** A running server that reports its events. */
export interface ConfiguredServer {
  /** Stops the server. Returns whether all responses were complete. */
  stop(): Promise<boolean>;
}

/**
 * Starts a server that environment variables configure. Reports its URL, its settings and unknown
 * variables.
 *
 * @param environment Values of the known variables
 * @param names Names of all variables that can be listed
 * @param report Receives each message
 * @throws {ValidationError} If a variable is missing or invalid; its `option` is the name of the variable or
 *   of an option of the app
 * @throws {ListenError} If the server cannot listen
 */
export async function startConfiguredServer(
  environment: Environment,
  names: Iterable<string>,
  report: (line: string) => void,
): Promise<ConfiguredServer> {
  for (const message of unknownVariables(names)) report(message);
  const listenOptions = readListenOptions(environment);
  const options = readConfig(environment);
  const server: RunningServer = await startServer(createApp(options), listenOptions);
  report(`Weir listens on ${server.url}`);
  report(settingsLine(options));
  const { shutdownTimeout } = listenOptions;
  return {
    async stop() {
      const open = server.openResponses();
      if (open > 0) report(waitingMessage(open, shutdownTimeout));
      const broken = await server.stop();
      if (broken > 0) report(brokenMessage(broken, shutdownTimeout, "WEIR_SHUTDOWN_TIMEOUT"));
      return broken === 0;
    },
  };
}
