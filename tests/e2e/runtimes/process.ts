// The behaviours in a process of its own: addresses in, outcomes out, both as JSON.
import process from "node:process";
import { runBehaviours } from "./run_behaviours.ts";

const outcomes = await runBehaviours(JSON.parse(process.argv[2]!));
// What still hangs must not hold the process up.
process.stdout.write(JSON.stringify(outcomes), () => process.exit());
