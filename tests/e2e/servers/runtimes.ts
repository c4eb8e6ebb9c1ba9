import { PROJECT } from "../../helpers/project.ts";
import { needing } from "../needs.ts";
import { bun, node, OLD_NODES, workerd } from "../runtime_programs.ts";
import { bundleAsPublished } from "./bundle.ts";
import { toCapnp, type WorkerOptions } from "./capnp.ts";
import { type Server, type ServerOptions, startServer } from "./server.ts";

/** A program that serves the app. */
export interface ServerProgram {
  name: string;
  isInstalled: boolean;
  /** Whether it detects that a client has left only when it writes to it. */
  detectsAbortOnWrite?: boolean;
  /** Returns how to start it. */
  command(environment: Record<string, string>): Promise<ServerOptions>;
}

/** Line of a server that listens; the group is its port. */
const LISTENS = /http:\/\/[^:\s]+:(\d+)/;

/** A module with a default export, without the configuration of the clone, as after an installation from JSR. */
const denoServe = (name: string, module: string): ServerProgram => ({
  name,
  isInstalled: true,
  command: async (environment) => ({
    program: Deno.execPath(),
    args: [
      "serve",
      "--no-config",
      "--no-prompt",
      "--host",
      "127.0.0.1",
      "--port",
      "0",
      "--allow-net=127.0.0.1",
      "--allow-env",
      "app.js",
    ],
    files: { "app.js": await bundleAsPublished("worker.js", module) },
    environment,
    port: LISTENS,
  }),
});

/** A bundled module in a program that needs no flags, in a folder of CommonJS. */
const bundled = (
  name: string,
  program: string | undefined,
  bundle: Parameters<typeof bundleAsPublished>,
): ServerProgram => ({
  name,
  isInstalled: program !== undefined,
  command: async (environment) => ({
    program: program!,
    args: ["app.mjs"],
    files: {
      "app.mjs": await bundleAsPublished(...bundle),
      "package.json": '{ "type": "commonjs" }',
    },
    environment: { PORT: "0", ...environment },
    port: LISTENS,
  }),
});

export const inWorkerd = (
  name: string,
  module: string,
  options: Omit<WorkerOptions, "environment"> = {},
): ServerProgram => ({
  name,
  isInstalled: workerd !== undefined,
  detectsAbortOnWrite: true,
  command: async (environment) => ({
    program: workerd!,
    args: ["serve", "--control-fd=1", "app.capnp"],
    files: {
      "app.js": await bundleAsPublished("worker.js", module),
      "app.capnp": toCapnp(
        await Deno.readTextFile(`${PROJECT}examples/cloudflare/wrangler.jsonc`),
        { ...options, environment },
      ),
    },
    port: /"port":(\d+)/,
  }),
});

/** Serves the app with options from WEIR_TEST_OPTIONS. */
const APP = "tests/e2e/servers/app.ts";
export const NODE = bundled("Node", node, ["server.mjs", "tests/e2e/servers/node.ts"]);
export const WORKERD = inWorkerd("workerd", APP);
export const BUN = bundled("Bun", bun, ["worker.js", APP]);
/** Runtimes that serve the app with the options of {@linkcode startApp}. */
const RUNTIMES: readonly ServerProgram[] = [denoServe("Deno", APP), NODE, BUN, WORKERD];

export const COMMAND_LINES: readonly ServerProgram[] = [
  {
    name: "weir serve in Deno",
    isInstalled: true,
    command: (environment) =>
      Promise.resolve({
        program: Deno.execPath(),
        args: [
          "run",
          "--no-prompt",
          "--allow-env",
          "--allow-net=127.0.0.1,127.0.0.2",
          "--allow-read",
          `${PROJECT}src/cli/main.ts`,
          "serve",
        ],
        environment: { PORT: "0", ...environment },
        port: LISTENS,
      }),
  },
  bundled("weir serve in Node", node, ["server.mjs"]),
  bundled("weir serve in Bun", bun, ["server.mjs"]),
];
/** They do not start. */
export const OLD_NODE_SERVERS: readonly ServerProgram[] = Object.entries(OLD_NODES)
  .map(([version, program]) => bundled(`weir serve in Node ${version}`, program, ["server.mjs"]));

const PUBLISHED = "edge/serve.ts";
/** Programs that serve the default export of `@weir/datastream/serve`. */
export const DEFAULT_EXPORTS: readonly ServerProgram[] = [
  denoServe("the default export in Deno", PUBLISHED),
  bundled("the default export in Bun", bun, ["worker.js", PUBLISHED]),
];
export const PUBLISHED_IN_WORKERD = inWorkerd("the default export in workerd", PUBLISHED);

export async function startProgram(
  program: ServerProgram,
  environment: Record<string, string>,
): Promise<Server> {
  return await startServer(await program.command(environment));
}

/** Starts the app with JSON-serialisable options. */
export function startApp(runtime: ServerProgram, options: object): Promise<Server> {
  return startProgram(runtime, { WEIR_TEST_OPTIONS: JSON.stringify(options) });
}

/** Registers a test with each program that is installed. */
export function testPrograms(
  programs: readonly ServerProgram[],
  name: string,
  test: (program: ServerProgram) => Promise<void>,
): void {
  for (const program of programs) {
    const needs = { [program.name]: program.isInstalled };
    Deno.test(needing(needs, `${program.name}: ${name}`, () => test(program)));
  }
}

/** Registers a test on each runtime that is installed. */
export function testOnEach(name: string, test: (runtime: ServerProgram) => Promise<void>): void {
  testPrograms(RUNTIMES, name, test);
}
