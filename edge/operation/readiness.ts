import type { DataStream } from "../../src/client/datastream.ts";
import { startTimeLimit } from "../../src/clock.ts";
import type { DataStreamError } from "../../src/errors.ts";
import type { Settings } from "../options.ts";
import { type FailureLog, HttpProblem } from "../downloads/problem.ts";
import { toIsoTime } from "./request_log.ts";

/** Age (ms) at which a result is out of date, and minimum interval between probes. */
const RESULT_TTL = 60_000;
/** Milliseconds. */
const PROBE_TIMEOUT = 10_000;
/** Milliseconds. */
const PROBE_POLL_INTERVAL = 100;

interface Success {
  /** Clock time (ms), for its age. */
  at: number;
  /** ISO 8601, for messages. */
  time: string;
}

// Downloads show the state of the service too, so a server with downloads sends no probes. Other
// requests poll for a probe's result: workerd cancels those that wait for another request's I/O.
export class Readiness {
  readonly #settings: Settings;
  #lastSuccess: Success | undefined;
  #lastFailure: { at: number; isRejected: boolean } | undefined;
  #probeStartedAt = -Infinity;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  recordResponse({ status, headers }: Response): void {
    const isPage = status === 200 && /\bjson\b/i.test(headers.get("content-type") ?? "");
    // With `caller` access, the server has no key, and these statuses show that the service works.
    const isSuccess = isPage ||
      this.#settings.access === "caller" && (status === 401 || status === 403);
    if (!isSuccess) return;
    this.#lastSuccess = { at: this.#now(), time: toIsoTime(this.#settings.now) };
    this.#lastFailure = undefined;
  }

  /** Ignores errors that do not concern the service or the key. */
  recordError({ kind, status }: DataStreamError): void {
    const isRejected = status === 401 || status === 403;
    const isOutage = kind === "network" || kind === "page" || status !== undefined && status >= 500;
    // The service responds with status 504 to a query that takes too long.
    if (isRejected || isOutage && status !== 504) {
      this.#lastFailure = { at: this.#now(), isRejected };
    }
  }

  async check(dataStream: DataStream, exchange: FailureLog): Promise<void> {
    const { clock } = this.#settings;
    const deadline = this.#now() + PROBE_TIMEOUT;
    while (!this.#hasResult()) {
      const now = this.#now();
      if (now - this.#probeStartedAt >= RESULT_TTL) {
        this.#probeStartedAt = now;
        await this.#probe(dataStream, exchange);
        break;
      }
      if (now >= deadline) break;
      await clock.sleep(PROBE_POLL_INTERVAL);
    }
    this.#requireReady();
  }

  /** The cheapest request for which the service checks the key. */
  async #probe(dataStream: DataStream, exchange: FailureLog): Promise<void> {
    const { clock } = this.#settings;
    // The time limit includes the wait for the rate limiter. Meanwhile, a download can succeed.
    const timeLimit = startTimeLimit(clock, PROBE_TIMEOUT, "no response");
    const { signal } = timeLimit;
    try {
      await dataStream.with({ retry: { attempts: 1 } })
        .metadata({ select: ["DOI"], limit: 1, signal }).toArray();
    } catch (error) {
      if (this.#isRecent(this.#lastSuccess)) return;
      exchange.logFailure("Readiness probe failed", error);
      // Also for errors that `recordError()` ignores, so that the waiting requests get a result.
      this.#lastFailure ??= { at: this.#now(), isRejected: false };
    } finally {
      timeLimit.stop();
    }
  }

  #hasResult(): boolean {
    return this.#isRecent(this.#lastFailure) || this.#isRecent(this.#lastSuccess);
  }

  #requireReady(): void {
    // Failures after a recent success are ignored, unless the key was rejected.
    const isRejected = this.#lastFailure?.isRejected ?? false;
    if (this.#isRecent(this.#lastSuccess) && !isRejected) return;
    const since = this.#lastSuccess?.time ?? "the server started";
    const lastAttemptAt = Math.max(this.#lastFailure?.at ?? -Infinity, this.#probeStartedAt);
    const nextProbeAt = lastAttemptAt + RESULT_TTL;
    const seconds = Math.max(1, Math.ceil((nextProbeAt - this.#now()) / 1000));
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
    return this.#settings.clock.now();
  }
}
