import { readFileSync } from "node:fs";

/** The most memory that a process has held so far, in bytes. */
export function peakMemory(pid: number | "self"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  // Not maxRSS of the runtime: what the parent held when it started the process counts there.
  const [, kibibytes] = /VmHWM:\s*(\d+)/.exec(status) ?? [];
  if (kibibytes === undefined) throw new Error(`process ${pid} holds no memory: it has ended`);
  return Number(kibibytes) * 1024;
}
