import type { Clock } from "../../src/clock.ts";
import { DataStreamError } from "../../src/errors.ts";

/** Milliseconds without a response of the service, over all requests. */
const MAX_SILENCE = 60_000;

/** Its cause is the error of the service. */
export class SilenceError extends Error {
  override readonly name = "SilenceError";
  declare readonly cause: DataStreamError;
}

/** Limits the time to the first content; the time in which a page arrives does not count. */
export class StartDeadline {
  readonly #clock: Clock;
  readonly #baseUrl: string;
  readonly #silent = new AbortController();
  readonly #ended = new AbortController();
  /** Last response or first request; `Infinity` while a page arrives. */
  #lastAt: number | undefined;

  constructor(clock: Clock, baseUrl: string) {
    this.#clock = clock;
    this.#baseUrl = baseUrl;
  }

  get signal(): AbortSignal {
    return this.#silent.signal;
  }

  onRequest(): void {
    const isFirst = this.#lastAt === undefined;
    if (isFirst || this.#lastAt === Infinity) this.#lastAt = this.#clock.now();
    if (isFirst) this.#watch().catch(() => {});
  }

  onResponse({ ok }: Response): void {
    this.#lastAt = ok ? Infinity : this.#clock.now();
  }

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
