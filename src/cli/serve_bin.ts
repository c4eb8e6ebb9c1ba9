/**
 * `deno task bundle` makes `dist/server.js` of it.
 *
 * @module
 */
import process from "node:process";
import { setExitCode } from "./context.ts";
import { main } from "./main.ts";
import { useProxy } from "./proxy.ts";

await useProxy();
setExitCode(await main(["serve", ...process.argv.slice(2)]));
