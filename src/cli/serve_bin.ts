/**
 * `deno task bundle` makes `dist/server.mjs` of it.
 *
 * @module
 */
import { start } from "./start.ts";

start("serve");
