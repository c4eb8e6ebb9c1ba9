// Starts the sandbox and the edge server in separate processes.
import type { SandboxStats } from "../../src/sandbox/service.ts";
import { node } from "../e2e/runtime_programs.ts";
import { bundleAsPublished } from "../e2e/servers/bundle.ts";
import { type Server, startServer } from "../e2e/servers/server.ts";
import { PROJECT } from "../helpers/project.ts";
import type { Comparison, RuntimeName } from "./measurement.ts";

/** Matches the URL that the servers print. */
export const PORT = /http:\/\/127\.0\.0\.1:(\d+)/;

/** Starts the sandbox in another process. */
export function startSandbox(records: number, requestsPerSecond: number): Promise<Server> {
  // Without the last flag, Deno warns about requests whose signal the sandbox reads.
  const flags = ["--quiet", "--allow-net=127.0.0.1", "--unstable-no-legacy-abort"];
  const args = [records, requestsPerSecond].map(String);
  const file = `${PROJECT}tests/bench/sandbox_server.ts`;
  const program = Deno.execPath();
  return startServer({
    program,
    args: ["run", ...flags, file, ...args],
    folder: PROJECT,
    port: PORT,
  });
}

export function baseUrlOf({ root }: Server): string {
  return `${root}/v1/odata/v4`;
}

export interface ServiceStats extends SandboxStats {
  /** Longest time (ms) between two requests. */
  largestGap: number;
}

export async function statsOf(service: Server): Promise<ServiceStats> {
  return await (await fetch(`${service.root}/stats`)).json();
}

/** Environment of a server that is connected to a service. */
export function environmentFor(service: Server): Record<string, string> {
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
export async function startEdgeServer(
  service: Server,
  environment: Record<string, string>,
  project: string = PROJECT,
): Promise<Server> {
  const { tasks } = JSON.parse(await Deno.readTextFile(`${project}deno.json`));
  const [, command, ...args] = tasks.serve.command.split(" ");
  const env = { ...environmentFor(service), ...environment };
  const address = ["--host", "127.0.0.1", "--port", "0"];
  return await startServer({
    program: Deno.execPath(),
    args: [command!, ...args, ...address],
    folder: project,
    environment: env,
    port: PORT,
  });
}

export type StartEdge = (service: Server, variables: Record<string, string>) => Promise<Server>;

/** Returns a function for Deno, and one for Node if it is installed, which start `weir serve`. */
export async function serverStarts(
  environment: Record<string, string>,
): Promise<[name: RuntimeName, start: StartEdge][]> {
  const inDeno: StartEdge = (service, variables) =>
    startEdgeServer(service, { ...environment, ...variables });
  if (node === undefined) return [["Deno", inDeno]];
  const file = `${await Deno.makeTempDir({ prefix: "weir-server-bench-" })}/server.mjs`;
  await Deno.writeTextFile(file, await bundleAsPublished("server.mjs", "src/cli/serve_bin.ts"));
  const program = node;
  const dockerfile = await Deno.readTextFile(`${PROJECT}Dockerfile`);
  const [, ...flags] = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(dockerfile)![1]!).slice(0, -1);
  const inNode: StartEdge = (service, variables) =>
    startServer({
      program,
      args: [...flags, file, "--host", "127.0.0.1", "--port", "0"],
      environment: { ...environmentFor(service), ...environment, ...variables },
      port: PORT,
    });
  return [["Deno", inDeno], ["Node", inNode]];
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

/** Runs a program in Deno and in Node, and returns the comparisons that it prints. */
export async function runInRuntimes(
  folder: string,
  program: string,
  ...args: string[]
): Promise<Comparison[]> {
  const deno = ["run", "--quiet", "--allow-all", "--no-config", program, ...args];
  const outputs = [
    await outputOf(folder, Deno.execPath(), ...deno),
    await outputOf(folder, "node", program, ...args),
  ];
  return outputs.flatMap((output) => output.trim().split("\n").map((line) => JSON.parse(line)));
}
