import { readFileSync } from "node:fs";

/** Returns the peak resident memory of a running process in bytes; Linux only. */
export function peakMemory(pid: number | "self"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  // The runtime's `maxRSS` also counts the memory of the parent when it started the process.
  const [, kibibytes] = /VmHWM:\s*(\d+)/.exec(status) ?? [];
  if (kibibytes === undefined) throw new Error(`Process ${pid} has ended`);
  return Number(kibibytes) * 1024;
}
