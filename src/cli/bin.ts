#!/usr/bin/env node
/**
 * The command line as npm installs it: in Node and Bun, a module cannot always detect that it is
 * the main one.
 *
 * @module
 */
import { setExitCode } from "./context.ts";
import { main } from "./main.ts";
import { useProxy } from "./proxy.ts";

await useProxy();
setExitCode(await main());
