import deno from "../../../deno.json" with { type: "json" };
import { PROJECT } from "../../helpers/project.ts";
import { bun, node, workerd } from "../../helpers/runtime_programs.ts";
import { bundleAsPublished } from "./bundle.ts";
import { toCapnp } from "./capnp.ts";
import { type Server, startServer } from "./server.ts";

/** Modules that serve the app. */
export interface EntryPoint {
  /** Path of the module for all runtimes except Node. */
  module: string;
  /** Path of the module for Node. */
  node: string;
}

/** The published entry points. */
export const PUBLISHED: EntryPoint = { module: "edge/serve.ts", node: "edge/node_main.ts" };
/** Entry points that read the app's options from WEIR_TEST_OPTIONS. */
const CONFIGURABLE: EntryPoint = {
  module: "tests/e2e/servers/app.ts",
  node: "tests/e2e/servers/node.ts",
};

/** A server runtime. */
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
      const [, serve, ...flags] = deno.tasks.serve.command
        .replace(/--allow-env=/, "$&WEIR_TEST_OPTIONS,").split(" ");
      return startServer({
        program: Deno.execPath(),
        args: [
          ...[serve!, "--no-prompt", "--host", "127.0.0.1", "--port", "0"],
          ...[...flags.slice(0, -1), module],
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
        files: { "app.mjs": await bundleAsPublished(entry.node, PUBLISHED.node) },
        environment: { ...environment, PORT: "0" },
        port: /listens on http:\/\/127[.\d]+:(\d+)/,
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
        files: { "app.js": await bundleAsPublished(entry.module, PUBLISHED.module) },
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
          "app.js": await bundleAsPublished(entry.module, PUBLISHED.module),
          "app.capnp": toCapnp(wrangler, environment),
        },
        port: /"port":(\d+)/,
      });
    },
  },
];

for (const { name, isInstalled } of RUNTIMES) {
  if (!isInstalled) console.warn(`The tests on ${name} are skipped: it is not installed`);
}

/** Registers a test on a runtime; skips it if the runtime or another requirement is missing. */
export function testOn(
  runtime: Runtime,
  name: string,
  test: (runtime: Runtime) => Promise<void>,
  isPossible = true,
): void {
  Deno.test({
    name: `${name} on ${runtime.name}`,
    ignore: !(runtime.isInstalled && isPossible),
    fn: () => test(runtime),
  });
}

/** Registers a test on each runtime; skips it if the runtime or another requirement is missing. */
export function testOnEach(
  name: string,
  test: (runtime: Runtime) => Promise<void>,
  isPossible = true,
): void {
  for (const runtime of RUNTIMES) testOn(runtime, name, test, isPossible);
}

/** Starts the app with JSON-serialisable options. */
export function startApp(runtime: Runtime, options: object): Promise<Server> {
  return runtime.start(CONFIGURABLE, { WEIR_TEST_OPTIONS: JSON.stringify(options) });
}
