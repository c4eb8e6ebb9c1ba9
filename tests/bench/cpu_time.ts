import { readFileSync } from "node:fs";

/** Milliseconds per clock tick of `/proc`. */
const TICK = 10;

/** Returns the CPU time (ms) that all threads of a running process have used; Linux only. */
export function cpuTime(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name of the program, in parentheses, may contain spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [user, system] = fields.slice(11, 13).map(Number);
  return TICK * (user! + system!);
}
