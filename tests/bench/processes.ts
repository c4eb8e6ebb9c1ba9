// Starts the sandbox and the edge server in separate processes.
import type { ArrivalStats } from "./arrivals.ts";
import { PROJECT } from "../helpers/project.ts";

export interface ServerProcess extends AsyncDisposable {
  pid: number;
  /** URL of the server without a trailing slash. */
  root: string;
}

/** Starts the sandbox in another process. */
export function startSandbox(records: number, requestsPerSecond: number): Promise<ServerProcess> {
  // Without the last flag, Deno warns about requests whose signal the sandbox reads.
  const flags = ["--quiet", "--allow-net=127.0.0.1", "--unstable-no-legacy-abort"];
  const args = [records, requestsPerSecond].map(String);
  const file = `${PROJECT}tests/bench/sandbox_server.ts`;
  return startProcess(Deno.execPath(), ["run", ...flags, file, ...args]);
}

export function baseUrlOf({ root }: ServerProcess): string {
  return `${root}/v1/odata/v4`;
}

export async function statsOf(service: ServerProcess): Promise<ArrivalStats> {
  return await (await fetch(`${service.root}/stats`)).json();
}

/** Environment of a server that is connected to a service. */
export function environmentFor(service: ServerProcess): Record<string, string> {
  return {
    DATASTREAM_BASE_URL: baseUrlOf(service),
    DATASTREAM_API_KEY: "sandbox",
    WEIR_ACCESS: "public",
    WEIR_LOG: "errors", // lines of requests would be between the lines of the table
  };
}

/**
 * Starts the edge server with the command of the task `serve`, connected to a service.
 *
 * @param project Folder of the project with a trailing slash. Default: this one
 */
export async function startServer(
  service: ServerProcess,
  environment: Record<string, string>,
  project: string = PROJECT,
): Promise<ServerProcess> {
  const { tasks } = JSON.parse(await Deno.readTextFile(`${project}deno.json`));
  const [, command, ...args] = tasks.serve.command.split(" ");
  const env = { ...environmentFor(service), ...environment };
  const address = ["--host", "127.0.0.1", "--port", "0"];
  return await startProcess(Deno.execPath(), [command!, ...args, ...address], env, project);
}

/** Runs a program in a folder and returns its output. */
export async function outputOf(
  folder: string,
  program: string,
  ...args: string[]
): Promise<string> {
  const command = new Deno.Command(program, { args, cwd: folder, stderr: "inherit" });
  const { success, stdout } = await command.output();
  const output = new TextDecoder().decode(stdout);
  if (!success) throw new Error(`${program} ${args.join(" ")} failed:\n${output}`);
  return output;
}

/** Bundles a module of a project into a file, and returns its path. */
export async function bundle(project: string, module: string, path: string): Promise<string> {
  const flags = ["--quiet", "--platform", "browser", "--output", path];
  await outputOf(project, Deno.execPath(), "bundle", ...flags, module);
  return path;
}

/** Starts a program and waits until it prints its URL on standard error. */
export async function startProcess(
  program: string,
  args: string[],
  env: Record<string, string> = {},
  cwd: string = PROJECT,
): Promise<ServerProcess> {
  const child = new Deno.Command(program, {
    args,
    cwd,
    env: { ...env, NO_COLOR: "1" },
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const reader = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  let printed = "";
  let root: string | undefined;
  while (root === undefined) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`${program} ${args[0]} ended before it listened: ${printed}`);
    printed += value;
    root = /http:\/\/127\.0\.0\.1:\d+/.exec(printed)?.[0];
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
