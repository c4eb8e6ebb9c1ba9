import { PROJECT } from "../../helpers/project.ts";
import { needing } from "../needs.ts";
import { bun, node, workerd } from "../runtime_programs.ts";
import { bundleAsPublished } from "./bundle.ts";
import { toCapnp } from "./capnp.ts";
import { type Server, type ServerOptions, startServer } from "./server.ts";

/** Modules that serve the app. */
export interface EntryPoint {
  /** Path of the module with a default export, for all runtimes except Node. */
  module: string;
  /** Path of the program for Node. */
  node: string;
}

export const PUBLISHED: EntryPoint = { module: "edge/serve.ts", node: "src/cli/serve_bin.ts" };
/** Entry points that read the app's options from WEIR_TEST_OPTIONS. */
const CONFIGURABLE: EntryPoint = {
  module: "tests/e2e/servers/app.ts",
  node: "tests/e2e/servers/node.ts",
};

/** A process that serves the app, which can be stopped with a signal. */
export interface ServerProgram {
  name: string;
  isInstalled: boolean;
  /** Returns how to start it. */
  command(environment: Record<string, string>): Promise<ServerOptions>;
}

export interface Runtime {
  name: string;
  isInstalled: boolean;
  /** Whether it detects that a client has left only when it writes to it. */
  detectsAbortOnWrite?: boolean;
  /** Default time (ms) without data after which it closes a connection. */
  idleTimeout?: number;
  /** Returns how to start an entry point. */
  command(entry: EntryPoint, environment: Record<string, string>): Promise<ServerOptions>;
}

/** Line of a server that listens; the group is its port. */
const LISTENS = /http:\/\/[^:\s]+:(\d+)/;

const DENO: Runtime = {
  name: "Deno",
  isInstalled: true,
  async command({ module }, environment) {
    return {
      program: Deno.execPath(),
      // Without the configuration of the clone, as after an installation from JSR.
      args: [
        ...["serve", "--no-config", "--no-prompt", "--host", "127.0.0.1", "--port", "0"],
        ...["--allow-net=127.0.0.1", "--allow-env", "app.js"],
      ],
      files: { "app.js": await bundleAsPublished("worker.js", module) },
      environment,
      port: LISTENS,
    };
  },
};
export const NODE: Runtime = {
  name: "Node",
  isInstalled: node !== undefined,
  async command(entry, environment) {
    return {
      program: node!,
      args: ["app.mjs"],
      files: { "app.mjs": await bundleAsPublished("server.js", entry.node) },
      environment: { PORT: "0", ...environment },
      port: LISTENS,
    };
  },
};
const BUN: Runtime = {
  name: "Bun",
  isInstalled: bun !== undefined,
  idleTimeout: 10_000,
  async command({ module }, environment) {
    return {
      program: bun!,
      args: ["app.js"],
      files: { "app.js": await bundleAsPublished("worker.js", module) },
      environment: { PORT: "0", ...environment },
      port: LISTENS,
    };
  },
};
export const WORKERD: Runtime = {
  name: "workerd",
  isInstalled: workerd !== undefined,
  detectsAbortOnWrite: true,
  async command({ module }, environment) {
    const wrangler = await Deno.readTextFile(`${PROJECT}examples/cloudflare/wrangler.jsonc`);
    return {
      program: workerd!,
      args: ["serve", "--control-fd=1", "app.capnp"],
      files: {
        "app.js": await bundleAsPublished("worker.js", module),
        "app.capnp": toCapnp(wrangler, { environment }),
      },
      port: /"port":(\d+)/,
    };
  },
};
/** Runtimes that serve the app. */
export const RUNTIMES: readonly Runtime[] = [DENO, NODE, BUN, WORKERD];

export const COMMAND_LINES: readonly ServerProgram[] = [
  {
    name: "weir serve in Deno",
    isInstalled: true,
    command: (environment) =>
      Promise.resolve({
        program: Deno.execPath(),
        args: [
          ...["run", "--no-prompt", "--allow-env", "--allow-net=127.0.0.1,127.0.0.2"],
          ...["--allow-read", `${PROJECT}src/cli/main.ts`, "serve"],
        ],
        environment: { PORT: "0", ...environment },
        port: LISTENS,
      }),
  },
  {
    name: "weir serve in Node",
    isInstalled: NODE.isInstalled,
    command: (environment) => NODE.command(PUBLISHED, environment),
  },
  {
    name: "weir serve in Bun",
    isInstalled: BUN.isInstalled,
    command: async (environment) => ({
      ...await NODE.command(PUBLISHED, environment),
      program: bun!,
    }),
  },
];

/** Programs that serve the default export of `@weir/datastream/serve`. */
export const DEFAULT_EXPORTS: readonly ServerProgram[] = [DENO, BUN].map((
  runtime,
): ServerProgram => ({
  name: `the default export in ${runtime.name}`,
  isInstalled: runtime.isInstalled,
  command: (environment) => runtime.command(PUBLISHED, environment),
}));

export async function startProgram(
  program: ServerProgram,
  environment: Record<string, string>,
): Promise<Server> {
  return await startServer(await program.command(environment));
}

/** Registers a test with each program that is installed. */
export function testPrograms<T extends { name: string; isInstalled: boolean }>(
  programs: readonly T[],
  name: string,
  test: (program: T) => Promise<void>,
): void {
  for (const program of programs) {
    const needs = { [program.name]: program.isInstalled };
    Deno.test(needing(needs, `${program.name}: ${name}`, () => test(program)));
  }
}

/** Registers a test on each runtime that is installed. */
export function testOnEach(name: string, test: (runtime: Runtime) => Promise<void>): void {
  testPrograms(RUNTIMES, name, test);
}

export async function startEntry(
  runtime: Runtime,
  entry: EntryPoint,
  environment: Record<string, string>,
): Promise<Server> {
  return await startServer(await runtime.command(entry, environment));
}

/** Starts the app with JSON-serialisable options. */
export function startApp(runtime: Runtime, options: object): Promise<Server> {
  return startEntry(runtime, CONFIGURABLE, { WEIR_TEST_OPTIONS: JSON.stringify(options) });
}
