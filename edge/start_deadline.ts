// Limit of the time until a response has its first content, so that no client waits for minutes without a byte.
import type { Clock } from "../src/clock.ts";
import { DataStreamError } from "../src/errors.ts";

/** Maximum time (ms) without a response of the service, over all requests. */
const MAX_SILENCE = 60_000;

/** Reason of the signal of a {@linkcode StartDeadline}. Its cause is the error of the service. */
export class SilenceError extends Error {
  override readonly name = "SilenceError";
  declare readonly cause: DataStreamError;
}

/**
 * Limits the time until a response has its first content.
 *
 * The client limits the time without a byte of a page. So the time in which a page arrives does not count.
 */
export class StartDeadline {
  readonly #clock: Clock;
  readonly #baseUrl: string;
  readonly #silent = new AbortController();
  readonly #ended = new AbortController();
  /** Time of the last response, or of the first request; `undefined` before it, `Infinity` while a page arrives. */
  #lastAt: number | undefined;

  /** @param baseUrl URL of the service, for the error */
  constructor(clock: Clock, baseUrl: string) {
    this.#clock = clock;
    this.#baseUrl = baseUrl;
  }

  /** Aborts when the service is silent for too long. Its reason is a {@linkcode SilenceError}. */
  get signal(): AbortSignal {
    return this.#silent.signal;
  }

  /** Records that a request is sent. */
  onRequest(): void {
    const isFirst = this.#lastAt === undefined;
    if (isFirst || this.#lastAt === Infinity) this.#lastAt = this.#clock.now();
    if (isFirst) this.#watch().catch(() => {});
  }

  /** Records that the headers of a response arrive. */
  onResponse({ ok }: Response): void {
    this.#lastAt = ok ? Infinity : this.#clock.now();
  }

  /** Ends the limit: the response has content or an error. */
  end(): void {
    this.#ended.abort();
  }

  async #watch(): Promise<void> {
    for (;;) {
      const remaining = this.#lastAt! + MAX_SILENCE - this.#clock.now();
      if (remaining <= 0) break;
      await this.#clock.sleep(Math.min(remaining, MAX_SILENCE), this.#ended.signal);
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
