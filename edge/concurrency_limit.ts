import type { Clock } from "../src/client/clock.ts";
import { HttpProblem } from "./problem.ts";

/** How often an open download says that it is still there, in milliseconds. */
const LOOK = 5_000;
/** One that has said nothing for so long was dropped by its runtime, which tells nobody. */
const STALE = 30_000;

/** Seconds after which a caller who found no place may find one. */
const COME_BACK = "30";

/** A place among what is open. */
interface Pass {
  /** Gives the place back; doing so twice does nothing. */
  end(): void;
}

/**
 * Lets so many downloads, or so much other work, be open at once.
 *
 * Plain data, and every mark expires by itself: an edge runtime may drop a request at any time
 * without running its `finally`, and its timers with it.
 */
export class Gate {
  readonly #open = new Set<{ seen: number }>();

  /**
   * @param most How many may be open at once
   * @param things What they are, for who finds no place
   * @param clock The clock to wait by
   */
  constructor(readonly most: number, readonly things: string, readonly clock: Clock) {}

  /**
   * Takes a place.
   *
   * @throws {HttpProblem} 503 if there is none
   */
  enter(): Pass {
    const now = this.clock.now();
    for (const mark of this.#open) if (now - mark.seen > STALE) this.#open.delete(mark);
    if (this.#open.size >= this.most) {
      throw new HttpProblem({
        status: 503,
        title: `Too many ${this.things}`,
        detail: `${this.most} ${this.things} are open, as many as this server takes at once`,
        hint: `come back in ${COME_BACK} s`,
      }, { "retry-after": COME_BACK });
    }
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

  /** Does work in a place, and gives the place back. */
  async hold<T>(work: () => Promise<T>): Promise<T> {
    const pass = this.enter();
    try {
      return await work();
    } finally {
      pass.end();
    }
  }
}
