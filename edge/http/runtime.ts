// What the runtime knows about its process, where it has one.
import { isWorkers } from "./options.ts";

/** Times are in nanoseconds. */
interface DelayHistogram {
  max: number;
  enable(): void;
  reset(): void;
}

interface NodeProcess {
  memoryUsage?(): { rss: number };
  getBuiltinModule?(name: string):
    | { monitorEventLoopDelay?(options: { resolution: number }): DelayHistogram }
    | undefined;
}

const { process } = globalThis as { process?: NodeProcess };

/** Returns the resident memory of the process in bytes; `undefined` if the runtime does not know it. */
export function residentBytes(): number | undefined {
  return isWorkers() ? undefined : process?.memoryUsage?.().rss;
}

let delays: DelayHistogram | undefined;

/** Returns the longest delay (s) of the event loop since the last call; `undefined` at the first one. */
export function eventLoopDelay(): number | undefined {
  if (isWorkers()) return undefined;
  const nanoseconds = delays?.max;
  delays?.reset();
  // Its timer does not keep the process running.
  delays ??= process?.getBuiltinModule?.("node:perf_hooks")
    ?.monitorEventLoopDelay?.({ resolution: 20 });
  delays?.enable();
  return nanoseconds === undefined ? undefined : nanoseconds / 1e9;
}
