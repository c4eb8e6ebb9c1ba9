// For rate limiters in a Durable Object, or in Deno KV.
import { abortable, type Clock, startTimeLimit } from "../clock.ts";
import type { Send } from "./rate_limiter.ts";

/** Time (ms) until a shared limiter answers. A waiter keeps its place for half a second longer. */
export const MAX_POLL_TIME = 2_000;
/** Delay (ms) after an error. */
const MESSAGE_RETRY_DELAY = 200;

export function sendUntilAnswered(clock: Clock): Send {
  return async (call, timeout, signal) => {
    const end = clock.now() + timeout;
    const limit = startTimeLimit(clock, timeout, "its store did not answer");
    const ended = signal ? AbortSignal.any([limit.signal, signal]) : limit.signal;
    try {
      for (;;) {
        try {
          return await abortable(Promise.resolve(call()), ended);
        } catch (error) {
          if (ended.aborted || clock.now() + MESSAGE_RETRY_DELAY >= end) throw error;
          await clock.sleep(MESSAGE_RETRY_DELAY, signal);
        }
      }
    } finally {
      limit.stop();
    }
  };
}
