import { readFileSync } from "node:fs";

/** Returns the peak resident memory of a running process in bytes; Linux only. */
export function peakMemory(pid: number | "self"): number {
  // The runtime's `maxRSS` also counts the memory of the parent when it started the process.
  return memoryOf(pid, "VmHWM");
}

/** Returns the resident memory of a running process in bytes: the peak, or that of now. Linux only. */
export function memoryOf(pid: number | "self", name: "VmHWM" | "VmRSS"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const [, kibibytes] = new RegExp(`${name}:\\s*(\\d+)`).exec(status) ?? [];
  if (kibibytes === undefined) throw new Error(`Process ${pid} has ended`);
  return Number(kibibytes) * 1024;
}

export function toMegabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}
