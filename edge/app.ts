/**
 * A server of download URLs for water-quality data from [DataStream](https://datastream.org), with a web
 * page on which to build them. A browser, Excel, R, Python or `curl` can open the URLs. The app runs in
 * Deno, Bun, Node and Cloudflare Workers.
 *
 * ## Start
 *
 * The sandbox replaces DataStream: it has synthetic data, and needs neither an API key nor a network.
 *
 * ```ts
 * import { createApp } from "@weir/datastream/edge";
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
 * const path = "/Locations.csv?$select=Id,Name&limit=3";
 * const response = await app.request(path);
 * console.log(await response.text());
 * ```
 *
 * For real data, pass your [API key](https://github.com/datastreamapp/api-docs/blob/main/docs/README.md)
 * without `baseUrl`, `fetch` and `synthetic`.
 *
 * ## Runtimes
 *
 * | runtime | code | command |
 * |---|---|---|
 * | Deno | `export default createApp(options);` | `deno serve --allow-net main.ts` |
 * | Bun | `export default { ...createApp(options), idleTimeout: 255 };` | `bun main.ts` |
 * | Cloudflare Workers | `export default createApp(options);` | `npx wrangler deploy` |
 * | Node | `await serveNode(createApp(options));`, from `@weir/datastream/node` | `node main.mjs` |
 *
 * `idleTimeout` is in seconds: Bun would end slow downloads after 10. A Hono app can mount the app:
 * `hono.mount("/", createApp(options).fetch)`. The entry `@weir/datastream/serve` is this app with options
 * from environment variables.
 *
 * ## URLs
 *
 * | URL | response |
 * |---|---|
 * | `/Records.csv` | rows of a resource in a format: `Metadata`, `Locations`, `Observations` or `Records`, as `.csv`, `.tsv`, `.csv.gz`, `.ndjson`, `.json` or `.parquet` |
 * | `/Locations.geojson` | locations for a map |
 * | `/Records?$count=true` | the number of rows |
 * | `/Summary.csv` | number, years, units and non-detects of the results of each location and characteristic |
 * | `/Citations.txt` | citations of the datasets; also `.bib`, `.ris`, `.csl.json` and `.json` |
 * | `/mirror/…` | files of a folder of `weir sync`, also ranges of their bytes, if {@linkcode AppOptions.mirror} is set; `/mirror.json` lists them |
 * | `/` | the web page |
 * | `/healthz` | status 200 |
 * | `/readyz` | status 200 if DataStream responds and accepts the key, else 503 |
 * | `/metrics` | metrics for Prometheus, if {@linkcode AppOptions.metricsToken} is set |
 * | `/status` | a page with the state of the server, for the same token |
 *
 * An example is `/Records.csv?$filter=CharacteristicName%20eq%20%27pH%27&$select=Id,ResultValue`. An error before the
 * first row is a problem details object (RFC 9457); a later error breaks the connection. The page `docs/edge.md` in the
 * repository describes all parameters, `docs/deploying.md` options, limits and platforms.
 *
 * ## Access
 *
 * | `access` | who may download | API key |
 * |---|---|---|
 * | `caller` | anyone who sends an API key as `x-api-key` | the caller's |
 * | `signed` | anyone who has a URL that {@linkcode signUrl} signed, until it expires | the server's |
 * | `token` | anyone who sends a token as `authorization: Bearer` | the server's |
 * | `public` | anyone | the server's |
 *
 * @module
 */
export { createApp, type EdgeApp } from "./server/app.ts";
export type { MirrorFolder, ReadableFile } from "./http/folder.ts";
export type { AccessMode, AppOptions, LogFormat } from "./http/options.ts";
export { signUrl, type SignUrlOptions } from "../src/signing/signed_url.ts";
