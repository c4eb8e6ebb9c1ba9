// Limits of the time until a response has its first content, so that no client waits for minutes without a byte.
import type { StartLimits } from "../src/client/start_limits.ts";
import type { Clock } from "../src/clock.ts";
import { DataStreamError } from "../src/errors.ts";

/** Maximum time (ms) for which one page or count waits for the rate limiter, and because of `Retry-After`. */
const MAX_TURN_WAIT = 20_000;
/** Maximum time (ms) without a byte of the service, over all requests. */
const MAX_SILENCE = 60_000;

/** Reason of the signal of a {@linkcode StartDeadline}. Its cause is the error of the service. */
export class SilenceError extends Error {
  override readonly name = "SilenceError";
  declare readonly cause: DataStreamError;
}

/**
 * Limits the time until a response has its first content.
 *
 * Each byte from the service restarts the limit of silence, so a slow response is not aborted.
 */
export class StartDeadline implements StartLimits {
  readonly #clock: Clock;
  readonly #baseUrl: string;
  readonly #silent = new AbortController();
  readonly #ended = new AbortController();
  #isWatching = false;
  /** Time of the last byte, or of the first request. */
  #lastByteAt = 0;

  /** @param baseUrl URL of the service, for the error */
  constructor(clock: Clock, baseUrl: string) {
    this.#clock = clock;
    this.#baseUrl = baseUrl;
  }

  /** Aborts when the service is silent for too long. Its reason is a {@linkcode SilenceError}. */
  get signal(): AbortSignal {
    return this.#silent.signal;
  }

  maxWait(): number | undefined {
    return this.#ended.signal.aborted ? undefined : MAX_TURN_WAIT;
  }

  /** Time at which the last byte of the service arrived, or the first request was sent. */
  get lastByteAt(): number {
    return this.#lastByteAt;
  }

  /** Applies the limit of silence to a response that waits for the requests of another one. */
  followRequests({ lastByteAt }: Pick<StartDeadline, "lastByteAt">): void {
    this.onRequest();
    this.#lastByteAt = Math.max(this.#lastByteAt, lastByteAt);
  }

  onRequest(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    this.onBytes();
    this.#watch().catch(() => {});
  }

  onBytes(): void {
    this.#lastByteAt = this.#clock.now();
  }

  /** Ends the limits: the response has content or an error. */
  end(): void {
    this.#ended.abort();
  }

  async #watch(): Promise<void> {
    for (;;) {
      const remaining = this.#lastByteAt + MAX_SILENCE - this.#clock.now();
      if (remaining <= 0) break;
      await this.#clock.sleep(remaining, this.#ended.signal);
    }
    const cause = new DataStreamError(`DataStream sent nothing for ${MAX_SILENCE / 1000} s`, {
      kind: "network",
      url: this.#baseUrl,
      hint: "try again later",
      cause: new DOMException("silence", "TimeoutError"),
    });
    this.#silent.abort(new SilenceError(cause.message, { cause }));
  }
}
