/** The processes that the benches ask: the service, and the server as its task starts it. */
import config from "../../deno.json" with { type: "json" };
import { PROJECT } from "../helpers/project.ts";

/** A process that serves. */
export interface Served extends AsyncDisposable {
  pid: number;
  /** Its address, without a slash at the end. */
  root: string;
}

/** What the service has seen. */
export interface ServiceStats {
  requests: number;
  /** Requests that came too early, or beside another one. */
  violations: number;
}

/** Starts the sandbox in a process of its own. */
export function startService(records: number, requestsPerSecond: number): Promise<Served> {
  const file = `${PROJECT}tests/bench/service.ts`;
  return start(["run", "--allow-net=127.0.0.1", file, `${records}`, `${requestsPerSecond}`]);
}

/** The root address of the service, as a client takes it. */
export function baseUrlOf({ root }: Served): string {
  return `${root}/v1/odata/v4`;
}

/** What a service that was started here has seen. */
export async function statsOf(service: Served): Promise<ServiceStats> {
  return await (await fetch(`${service.root}/stats`)).json();
}

/** Starts the server over a service, by the command of the task `serve`. */
export function startServer(service: Served, environment: Record<string, string>): Promise<Served> {
  const [, command, ...args] = config.tasks.serve.command.split(" ");
  return start([command!, "--host", "127.0.0.1", "--port", "0", ...args], {
    DATASTREAM_BASE_URL: baseUrlOf(service),
    DATASTREAM_API_KEY: "sandbox",
    WEIR_ACCESS: "public",
    ...environment,
  });
}

/** Starts this runtime, and waits until it says where it listens. */
async function start(args: string[], env: Record<string, string> = {}): Promise<Served> {
  const child = new Deno.Command(Deno.execPath(), {
    args,
    cwd: PROJECT,
    env: { ...env, NO_COLOR: "1" },
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const reader = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  let said = "";
  let root: string | undefined;
  while (root === undefined) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`deno ${args[0]} ended, it said: ${said}`);
    said += value;
    root = /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0];
  }
  const logging = (async () => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      console.error(value.trimEnd());
    }
  })();
  return {
    pid: child.pid,
    root,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await Promise.all([child.status, logging]);
    },
  };
}
