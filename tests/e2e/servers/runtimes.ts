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

export interface Runtime {
  name: string;
  isInstalled: boolean;
  /** Whether it detects that a client has left only when it writes to it. */
  detectsAbortOnWrite?: boolean;
  /** Default time (ms) without data after which it closes a connection. */
  idleTimeout?: number;
  start(entry: EntryPoint, environment: Record<string, string>): Promise<Server>;
}

/** Runtimes that serve the app. */
export const RUNTIMES: readonly Runtime[] = [
  {
    name: "Deno",
    isInstalled: true,
    start({ module }, environment) {
      return startServer({
        program: Deno.execPath(),
        args: [
          ...["serve", "--no-prompt", "--host", "127.0.0.1", "--port", "0"],
          ...["--allow-net", "--allow-env", module],
        ],
        folder: PROJECT,
        environment,
        port: /http:\/\/127[.\d]+:(\d+)/,
      });
    },
  },
  {
    name: "Node",
    isInstalled: node !== undefined,
    async start(entry, environment) {
      return await startServer({
        program: node!,
        args: ["app.mjs"],
        files: { "app.mjs": await bundleAsPublished("server.js", entry.node) },
        environment: { ...environment, PORT: "0" },
        port: LISTENS,
      });
    },
  },
  {
    name: "Bun",
    isInstalled: bun !== undefined,
    idleTimeout: 10_000,
    async start(entry, environment) {
      return await startServer({
        program: bun!,
        args: ["app.js"],
        files: { "app.js": await bundleAsPublished("worker.js", entry.module) },
        environment: { ...environment, PORT: "0" },
        port: /http:\/\/[^:\s]+:(\d+)/,
      });
    },
  },
  {
    name: "workerd",
    isInstalled: workerd !== undefined,
    detectsAbortOnWrite: true,
    async start(entry, environment) {
      const wrangler = await Deno.readTextFile(`${PROJECT}examples/cloudflare/wrangler.jsonc`);
      return await startServer({
        program: workerd!,
        args: ["serve", "--control-fd=1", "app.capnp"],
        files: {
          "app.js": await bundleAsPublished("worker.js", entry.module),
          "app.capnp": toCapnp(wrangler, environment),
        },
        port: /"port":(\d+)/,
      });
    },
  },
];

/** Line of a server that listens; the groups are its host and its port. */
const LISTENS = /listens on http:\/\/127[.\d]+:(\d+)/;

/** A process that serves the app, which can be stopped with a signal. */
export interface ServerProgram {
  name: string;
  isInstalled: boolean;
  /** Returns how to start it. */
  command(environment: Record<string, string>): Promise<ServerOptions>;
}

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
  ...([["Node", node], ["Bun", bun]] as const).map(([name, program]) => ({
    name: `weir serve in ${name}`,
    isInstalled: program !== undefined,
    command: async (environment: Record<string, string>) => ({
      program: program!,
      args: ["server.mjs"],
      files: { "server.mjs": await bundleAsPublished("server.js") },
      environment: { PORT: "0", ...environment },
      port: LISTENS,
    }),
  })),
];

/** Programs that serve the default export of `@weir/datastream/serve`. */
export const DEFAULT_EXPORTS: readonly ServerProgram[] = [
  {
    name: "deno serve",
    isInstalled: true,
    command: async (environment) => ({
      program: Deno.execPath(),
      // Without the configuration of the clone, as after an installation from JSR.
      args: [
        ...["serve", "--no-config", "--no-prompt", "--host", "127.0.0.1", "--port", "0"],
        ...["--allow-net=127.0.0.1", "--allow-env", "worker.js"],
      ],
      files: { "worker.js": await bundleAsPublished("worker.js") },
      environment,
      port: /http:\/\/127[.\d]+:(\d+)/,
    }),
  },
  {
    name: "bun",
    isInstalled: bun !== undefined,
    command: async (environment) => ({
      program: bun!,
      args: ["worker.js"],
      files: { "worker.js": await bundleAsPublished("worker.js") },
      environment: { PORT: "0", ...environment },
      port: /http:\/\/127[.\d]+:(\d+)/,
    }),
  },
];

/** Registers a test with each program that is installed. */
export function testPrograms(
  programs: readonly ServerProgram[],
  name: string,
  test: (program: ServerProgram) => Promise<void>,
): void {
  for (const program of programs) {
    const needs = { [program.name]: program.isInstalled };
    Deno.test(needing(needs, `${program.name} ${name}`, () => test(program)));
  }
}

/** Registers a test on a runtime; skips it if the runtime is not installed. */
export function testOn(
  runtime: Runtime,
  name: string,
  test: (runtime: Runtime) => Promise<void>,
): void {
  const needs = { [runtime.name]: runtime.isInstalled };
  Deno.test(needing(needs, `${name} on ${runtime.name}`, () => test(runtime)));
}

/** Registers a test on each runtime; skips those that are not installed. */
export function testOnEach(
  name: string,
  test: (runtime: Runtime) => Promise<void>,
): void {
  for (const runtime of RUNTIMES) testOn(runtime, name, test);
}

/** Starts the app with JSON-serialisable options. */
export function startApp(runtime: Runtime, options: object): Promise<Server> {
  return runtime.start(CONFIGURABLE, { WEIR_TEST_OPTIONS: JSON.stringify(options) });
}
