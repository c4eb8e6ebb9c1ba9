import type { EdgeApp } from "./app.ts";
import {
  BUN_OPTIONS,
  createConfiguredApp,
  type Environment,
  type ListenOptions,
  readListenOptions,
} from "./config.ts";
import {
  type BunServer,
  formatUrl,
  hideAbortWarning,
  interruptedMessage,
  openResponses,
  type RunningServer,
  SHUTDOWN_TIMEOUT,
  stopBun,
  type Stoppable,
  stopWithin,
  toListenError,
} from "./server_process.ts";

export { KNOWN_VARIABLES } from "./config.ts";
export { ListenError } from "./server_process.ts";
export { VARIABLE_NAMES, VARIABLES } from "../http/options.ts";

export async function startConfiguredServer(
  environment: Environment,
  names: Iterable<string>,
  write: (line: string) => void,
): Promise<() => Promise<boolean>> {
  const listenOptions = readListenOptions(environment);
  const { app, report, settings } = createConfiguredApp(environment, names, write);
  const server = await startServer(app, listenOptions);
  report(`Weir listens on ${server.url}`);
  report(settings);
  return async () => {
    const open = app.openResponses();
    const seconds = SHUTDOWN_TIMEOUT / 1000;
    if (open > 0) report(`Stopping: waiting up to ${seconds} s for ${openResponses(open)}`);
    const interrupted = await server.stop();
    if (interrupted > 0) report(interruptedMessage(interrupted), "error");
    return interrupted === 0;
  };
}

interface BunRuntime {
  serve(options: ListenOptions & { fetch: Stoppable["fetch"] }): BunServer & { port: number };
}

export async function startServer(
  app: EdgeApp,
  { hostname, port }: ListenOptions,
): Promise<RunningServer> {
  const { Bun, Deno: deno } = globalThis as { Bun?: BunRuntime; Deno?: typeof Deno };
  const { fetch } = app;
  try {
    if (Bun) {
      const bun = Bun.serve({ ...BUN_OPTIONS, hostname, port, fetch });
      return {
        url: formatUrl(hostname, bun.port),
        stop: () => stopBun(bun, app),
      };
    }
    if (deno) {
      hideAbortWarning();
      const server = deno.serve({ hostname, port, onListen() {} }, fetch);
      // A client can still be reading although the app has given the whole response to Deno.
      const interrupt = () => Math.max(1, app.interrupt());
      return {
        url: formatUrl(hostname, server.addr.port),
        stop: () => stopWithin(server.shutdown(), interrupt),
      };
    }
  } catch (error) {
    throw toListenError(hostname, port, error);
  }
  const { serveNode } = await import("./node.ts");
  return await serveNode(app, { host: hostname, port, stopsOnSignals: false });
}
