import type { DataStream } from "../../src/client/datastream.ts";
import { startTimeLimit } from "../../src/clock.ts";
import type { DataStreamError } from "../../src/errors.ts";
import type { Settings } from "./options.ts";
import { type FailureLog, HttpProblem } from "./problem.ts";

/** Age (ms) at which a result is out of date, and minimum interval between probes. */
const RESULT_TTL = 60_000;
/** Milliseconds. */
const PROBE_TIMEOUT = 10_000;
/** Milliseconds. */
const PROBE_POLL_INTERVAL = 100;

// Downloads show the state of the service too, so a server with downloads sends no probes. Other
// requests poll for a probe's result: workerd cancels those that wait for another request's I/O.
export class Readiness {
  /** `at` is in ms of the clock; `time` is ISO 8601. */
  #success: { at: number; time: string } | undefined;
  #failure: { at: number; isRejected: boolean } | undefined;
  #probedAt = -Infinity;

  constructor(readonly settings: Settings) {}

  recordResponse({ status, headers }: Response): void {
    const isPage = status === 200 && /\bjson\b/i.test(headers.get("content-type") ?? "");
    // With `caller` access, the server has no key, and these statuses show that the service works.
    const isSuccess = isPage ||
      this.settings.access === "caller" && (status === 401 || status === 403);
    if (!isSuccess) return;
    this.#success = { at: this.#now(), time: new Date(this.settings.now()).toISOString() };
    this.#failure = undefined;
  }

  /** Ignores errors that do not concern the service or the key. */
  recordError({ kind, status }: DataStreamError): void {
    const isRejected = status === 401 || status === 403;
    const isOutage = kind === "network" || kind === "page" || status !== undefined && status >= 500;
    // The service responds with status 504 to a query that takes too long.
    if (isRejected || isOutage && status !== 504) {
      this.#failure = { at: this.#now(), isRejected };
    }
  }

  async check(dataStream: DataStream, log: FailureLog): Promise<void> {
    if (!this.#hasResult() && this.#now() - this.#probedAt >= RESULT_TTL) {
      this.#probedAt = this.#now();
      await this.#probe(dataStream, log);
    }
    while (!this.#hasResult() && this.#now() - this.#probedAt < PROBE_TIMEOUT) {
      await this.settings.clock.sleep(PROBE_POLL_INTERVAL);
    }
    this.#requireReady();
  }

  /** The cheapest request for which the service checks the key. */
  async #probe(dataStream: DataStream, log: FailureLog): Promise<void> {
    // The time limit includes the wait for the rate limiter. Meanwhile, a download can succeed.
    const timeLimit = startTimeLimit(this.settings.clock, PROBE_TIMEOUT, "no response");
    const { signal } = timeLimit;
    try {
      await dataStream.with({ retry: { attempts: 1 } })
        .metadata({ select: ["DOI"], limit: 1, signal }).toArray();
    } catch (error) {
      if (this.#isRecent(this.#success)) return;
      log.logFailure("Readiness probe failed", error);
      // Also for errors that `recordError()` ignores, so that the waiting requests get a result.
      this.#failure ??= { at: this.#now(), isRejected: false };
    } finally {
      timeLimit.stop();
    }
  }

  #hasResult(): boolean {
    return this.#isRecent(this.#failure) || this.#isRecent(this.#success);
  }

  #requireReady(): void {
    // Failures after a recent success are ignored, unless the key was rejected.
    const isRejected = this.#failure?.isRejected ?? false;
    if (this.#isRecent(this.#success) && !isRejected) return;
    const since = this.#success?.time ?? "the server started";
    const triedAt = Math.max(this.#failure?.at ?? -Infinity, this.#probedAt);
    const seconds = Math.max(1, Math.ceil((triedAt + RESULT_TTL - this.#now()) / 1000));
    throw new HttpProblem({
      status: 503,
      title: "Not ready",
      detail: isRejected
        ? "DataStream rejects the API key of this server"
        : `DataStream has sent no valid response since ${since}`,
      hint: isRejected
        ? "set another API key (the log has the details)"
        : `the server tries again after ${seconds} s (the log has the details)`,
    }, { "retry-after": String(seconds) });
  }

  #isRecent(result: { at: number } | undefined): boolean {
    return result !== undefined && this.#now() - result.at < RESULT_TTL;
  }

  #now(): number {
    return this.settings.clock.now();
  }
}
