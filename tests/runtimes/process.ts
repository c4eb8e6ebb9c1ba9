// The behaviours in a process of its own: addresses in, outcomes out, both as JSON.
import process from "node:process";
import { runBehaviours } from "./run_behaviours.ts";

console.log(JSON.stringify(await runBehaviours(JSON.parse(process.argv[2]!))));
