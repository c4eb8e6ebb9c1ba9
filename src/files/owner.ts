// Which run writes a part, and whether its process still runs.
import { randomUUID } from "node:crypto";
import { hostname, uptime } from "node:os";
import process from "node:process";

/** The run that writes a part. */
export interface Owner {
  /** Random identifier. */
  readonly run: string;
  readonly process: number;
  /** Name of the computer or container, and the time (ms since 1970) at which it started; absent without permission. */
  readonly computer?: string;
  readonly bootedAt?: number;
  /** Whether the process holds a lock of the part. */
  readonly hasLock: boolean;
  /** Time (ms since 1970) at which the process was last known to run. */
  readonly renewedAt: number;
}

/** Interval (ms) at which a run renews its time. */
export const RENEWAL = 10_000;
/** Age (ms) after which a run that did not renew its time is treated as interrupted. */
const STALE = 120_000;
/** Maximum difference (ms) between two readings of the time at which a computer started. */
const BOOT_TOLERANCE = 60_000;

/** Runs of this process. In a container, each process can have the same id. */
const ownRuns = new Set<string>();

/** Starts a run that writes a part. */
export function startRun(part: string): { owner: Omit<Owner, "renewedAt">; end(): void } {
  const run = randomUUID();
  const lock = lockFile(part);
  ownRuns.add(run);
  return {
    owner: { run, process: process.pid, ...thisComputer(), hasLock: lock?.isFree === true },
    end() {
      lock?.release();
      ownRuns.delete(run);
    },
  };
}

/** Whether a process that wrote a part still runs, as far as this process can know. */
export function isRunning(owner: Owner, part: string, now: number): boolean {
  const { run, process: id, computer, bootedAt = 0, hasLock, renewedAt } = owner;
  // The clock of another computer can be early or late.
  if (!(Math.abs(now - renewedAt) <= STALE)) return false;
  const lock = hasLock ? lockFile(part) : undefined;
  lock?.release();
  if (lock !== undefined) return !lock.isFree;
  const here = thisComputer();
  // Elsewhere, another process can have the id.
  const isHere = computer !== undefined && computer === here.computer &&
    Math.abs(bootedAt - here.bootedAt!) < BOOT_TOLERANCE;
  if (!isHere || deno !== undefined) return true;
  return id === process.pid ? ownRuns.has(run) : isAlive(id);
}

export function describeOwner({ process: id, computer, renewedAt }: Owner, now: number): string {
  const seconds = Math.max(0, Math.round((now - renewedAt) / 1000));
  return `process ${id}${computer ? ` on ${computer}` : ""}, last seen ${seconds} s ago`;
}

function isAlive(id: number): boolean {
  try {
    return process.kill(id, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"; // it belongs to another user
  }
}

const { Deno: deno } = globalThis as {
  Deno?: {
    openSync(path: string, options: { read: true; write: true }): {
      tryLockSync(exclusive: boolean): boolean;
      close(): void;
    };
    permissions: { querySync(of: { name: "sys"; kind: string }): { state: string } };
  };
};

/** Whether a fact about the computer can be read without asking the user for a permission, as Deno would. */
export function mayRead(kind: "hostname" | "osUptime" | "statfs"): boolean {
  return deno === undefined ||
    deno.permissions.querySync({ name: "sys", kind }).state === "granted";
}

function thisComputer(): Pick<Owner, "computer" | "bootedAt"> {
  return mayRead("hostname") && mayRead("osUptime")
    ? { computer: hostname(), bootedAt: Math.round(Date.now() - uptime() * 1000) }
    : {};
}

/**
 * Locks a file in Deno, which would need a permission to look for the process of another run. Node has no locks.
 * Returns `undefined` without locks. On Windows, a lock would also prevent this process from writing.
 */
function lockFile(path: string): { isFree: boolean; release(): void } | undefined {
  if (deno === undefined || process.platform === "win32") return undefined;
  let file;
  try {
    file = deno.openSync(path, { read: true, write: true });
    return { isFree: file.tryLockSync(true), release: () => file!.close() };
  } catch {
    file?.close(); // such as in some network file systems
    return undefined;
  }
}
