/**
 * Serves the app of Weir with Node's HTTP server: CSV downloads of water-quality data from
 * [DataStream](https://datastream.org), and a web page that creates download URLs.
 *
 * ## Start
 *
 * The sandbox replaces DataStream: it has synthetic data, and needs neither an API key nor a network.
 *
 * ```ts ignore
 * import { createApp } from "@weir/datastream/edge";
 * import { serveNode } from "@weir/datastream/node";
 * import { createSandbox } from "@weir/datastream/sandbox";
 *
 * const { apiKey, url, fetch } = createSandbox();
 * const app = createApp({
 *   access: "public",
 *   apiKey,
 *   baseUrl: url,
 *   fetch,
 *   synthetic: true,
 * });
 *
 * const server = await serveNode(app, { port: 0 });
 * console.error(`Weir listens on ${server.url}`);
 * ```
 *
 * To configure a server by environment variables, run `npx @weir/datastream serve` instead.
 *
 * ## Stopping
 *
 * After SIGTERM or SIGINT, the server accepts no connections, and the process ends when the open downloads
 * are complete. Downloads that take longer than `shutdownTimeout` are interrupted with a connection error, so
 * that no program takes an incomplete file for a complete one. The exit code is then 1. A second signal ends
 * the process immediately.
 *
 * ## Runtimes
 *
 * Node 20.19, 22.12 or later. The module also works in Deno and Bun, but their own servers
 * are simpler: `export default createApp(options)` with `deno serve` or `bun`.
 *
 * @module
 */
export { type NodeServerOptions, serveNode } from "./server/node.ts";
export type { RunningServer as NodeServer } from "./server/server_process.ts";
