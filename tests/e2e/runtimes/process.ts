// Runs the behaviours in a process: base URLs as an argument, results on standard output, as JSON.
import process from "node:process";
import { runBehaviours } from "./run_behaviours.ts";

const results = await runBehaviours(JSON.parse(process.argv[2]!));
// Pending requests would keep the process running.
process.stdout.write(JSON.stringify(results), () => process.exit());
