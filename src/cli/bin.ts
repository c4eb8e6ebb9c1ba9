/**
 * The command line as npm installs it: for Node and Bun, where a module cannot tell everywhere
 * whether it is the one that was started.
 *
 * @module
 */
import { main } from "./main.ts";
import { end } from "./process_events.ts";
import { useProxy } from "./proxy.ts";

await useProxy();
end(await main());
