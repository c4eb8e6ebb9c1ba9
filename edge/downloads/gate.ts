import type { Clock } from "../../src/client/clock.ts";

/** How often an open download says that it is still there, in milliseconds. */
const LOOK = 5_000;
/** One that has said nothing for so long was dropped by its runtime, which tells nobody. */
const STALE = 30_000;

/** A place among the open downloads. */
export interface Pass {
  /** Gives the place back; doing so twice does nothing. */
  end(): void;
}

/**
 * Lets so many downloads be open at once.
 *
 * Plain data, and every mark expires by itself: an edge runtime may drop a request at any time
 * without running its `finally`, and its timers with it.
 */
export class Gate {
  readonly #open = new Set<{ seen: number }>();

  /**
   * @param most How many may be open at once
   * @param clock The clock to wait by
   */
  constructor(readonly most: number, readonly clock: Clock) {}

  /** A place; undefined where there is none. */
  enter(): Pass | undefined {
    const now = this.clock.now();
    for (const mark of this.#open) if (now - mark.seen > STALE) this.#open.delete(mark);
    if (this.#open.size >= this.most) return undefined;
    const mark = { seen: now };
    const ended = new AbortController();
    this.#open.add(mark);
    const look = async () => {
      for (;;) {
        await this.clock.sleep(LOOK, ended.signal);
        if (ended.signal.aborted) return;
        mark.seen = this.clock.now();
        // After a stall of the whole process it may have been taken for dropped.
        this.#open.add(mark);
      }
    };
    look().catch(() => {});
    return {
      end: () => {
        ended.abort();
        this.#open.delete(mark);
      },
    };
  }
}
