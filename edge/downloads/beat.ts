import type { Clock } from "../../src/clock.ts";

/** Milliseconds. */
const BEAT_INTERVAL = 1_000;
/** Age (ms) of the last heartbeat after which its owner is treated as gone. */
export const BEAT_TTL = 2_500;

// In workerd, a request that another one wakes must also have a timer of its own. A dropped request
// is recognized because its timer has stopped.
export function startBeat(clock: Clock, beat: () => void): () => void {
  const stopped = new AbortController();
  const run = async () => {
    for (;;) {
      await clock.sleep(BEAT_INTERVAL, stopped.signal);
      beat();
    }
  };
  run().catch(() => {});
  return () => stopped.abort();
}
