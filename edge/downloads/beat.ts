import type { Clock } from "../../src/clock.ts";

/** Interval (ms) of the signs of life. */
const BEAT_INTERVAL = 1_000;
/** Age (ms) of the last sign of life after which its owner is treated as gone. */
export const BEAT_TTL = 2_500;

/**
 * Calls a function each second. In workerd, a request that is woken by another one must also have a timer of its own,
 * and a request that workerd has dropped is recognised because its timer has stopped.
 *
 * @returns Function that stops the timer
 */
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
