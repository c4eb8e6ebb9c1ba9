/**
 * The server of Weir, configured by environment variables: CSV downloads of water-quality data from
 * [DataStream](https://datastream.org), and a web page that creates download URLs. Deno, Deno Deploy, Bun and
 * Cloudflare Workers serve the default export of this module.
 *
 * ## Start
 *
 * With `WEIR_SANDBOX=1`, the server has synthetic data, and needs neither an API key nor a network.
 *
 * ```sh
 * WEIR_SANDBOX=1 deno serve --host 127.0.0.1 --allow-env --allow-net jsr:@weir/datastream/serve
 * ```
 *
 * For real data, choose who may download, and set the
 * [API key](https://github.com/datastreamapp/api-docs/blob/main/docs/README.md):
 *
 * ```sh
 * WEIR_ACCESS=public DATASTREAM_API_KEY=your-key \
 *   deno serve --host 127.0.0.1 --allow-env --allow-net jsr:@weir/datastream/serve
 * ```
 *
 * Then open `http://127.0.0.1:8000/`, or download `http://127.0.0.1:8000/Records.csv?limit=5`.
 *
 * ## Runtimes
 *
 * | runtime | code | command |
 * |---|---|---|
 * | Deno | none | `deno serve --allow-env --allow-net jsr:@weir/datastream/serve` |
 * | Deno Deploy | `export { default } from "jsr:@weir/datastream/serve";` | `deno deploy` |
 * | Bun | `export { default } from "@weir/datastream/serve";` | `bun main.ts` |
 * | Cloudflare Workers | `export { default } from "@weir/datastream/serve";` | `npx wrangler deploy` |
 * | Node | none | `npx @weir/datastream serve` |
 *
 * `deno serve` listens on all addresses by default; with `--host 127.0.0.1`, only this computer can connect. Bun
 * listens on the address in the variable `HOST`, by default `127.0.0.1`.
 *
 * The page `docs/deploying.md` in the repository lists all variables, and describes each platform. To set options
 * in code instead, use `createApp()` of the entry `@weir/datastream/edge`.
 *
 * @module
 */
import { createServerEntry, type ServerEntry } from "./server/entries.ts";

export type { ServerEntry };

/**
 * The server that Deno, Bun and Cloudflare Workers start.
 *
 * @example A module for Deno Deploy, Bun or Workers
 * ```ts ignore
 * export { default } from "@weir/datastream/serve";
 * ```
 */
const entry: ServerEntry = createServerEntry(import.meta.main === true);
export default entry;
