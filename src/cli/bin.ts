/**
 * The command line as npm installs it: for Node and Bun, where a module cannot tell everywhere
 * whether it is the one that was started.
 *
 * @module
 */
import process from "node:process";
import { main } from "./main.ts";

process.exitCode = await main();
