import type { DataStream } from "../src/client/datastream.ts";
import type { DataStreamError } from "../src/errors.ts";
import type { Settings } from "./options.ts";
import { HttpProblem } from "./problem.ts";
import { type FailureLog, toIsoTime } from "./request_log.ts";

/** Age (ms) at which an answer of DataStream, or the lack of one, is out of date. */
const ANSWER_TTL = 60_000;
/** Maximum time (ms) that a request for `/readyz` waits for an answer. */
const PROBE_TIMEOUT = 10_000;
/** Interval (ms) at which a request looks for the result of another request's probe. */
const PROBE_POLL_INTERVAL = 100;

/** An exchange that can send a probe. */
interface Prober extends FailureLog {
  /** Creates a client that counts its requests. */
  observe(dataStream: DataStream): DataStream;
}

/** A moment. */
interface Moment {
  /** Time (ms) of the app's clock, to measure an age. */
  at: number;
  /** Time (ISO 8601), to show. */
  time: string;
}

/**
 * Whether the service answers and accepts the API key.
 *
 * Every response to a download is an answer, so only a server without downloads sends probes. At most
 * one probe starts per `ANSWER_TTL`. Requests share its result, not its promise: workerd cancels a request
 * that waits for the I/O of another one.
 */
export class Readiness {
  readonly #settings: Settings;
  #answer: Moment | undefined;
  #failure: { at: number; isRejected: boolean } | undefined;
  #probeStartedAt = -Infinity;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** Records a response of the service, if it proves that the service answers and accepts the key. */
  observe({ status, headers }: Response): void {
    const isPage = status === 200 && /\bjson\b/i.test(headers.get("content-type") ?? "");
    // Without a key of the server, a rejected key is an answer, too.
    const isAnswer = isPage ||
      this.#settings.access === "caller" && (status === 401 || status === 403);
    if (!isAnswer) return;
    this.#answer = { at: this.#now(), time: toIsoTime(this.#settings.now) };
    this.#failure = undefined;
  }

  /** Records an error that remains after all retries, if it shows that the service does not answer. */
  fail({ kind, status }: DataStreamError): void {
    const isRejected = status === 401 || status === 403;
    const isOutage = kind === "network" || kind === "page" || status !== undefined && status >= 500;
    // The service responds with status 504 to a query that takes too long.
    if (isRejected || isOutage && status !== 504) this.#failure = { at: this.#now(), isRejected };
  }

  /**
   * Checks that the service has answered in the last minute. Sends a probe if this is not known.
   *
   * @param dataStream Client with the API key of the server, or without a key for `caller` access
   * @throws {HttpProblem} 503 with the reason if the server is not ready
   */
  async check(dataStream: DataStream, prober: Prober): Promise<void> {
    const { clock } = this.#settings;
    const deadline = this.#now() + PROBE_TIMEOUT;
    while (!this.#isKnown()) {
      const now = this.#now();
      if (now - this.#probeStartedAt >= ANSWER_TTL) {
        this.#probeStartedAt = now;
        await this.#probe(prober.observe(dataStream), prober);
        break;
      }
      if (now >= deadline) break;
      await clock.sleep(PROBE_POLL_INTERVAL);
    }
    this.#requireAnswer();
  }

  /** Sends the cheapest request for which the service checks the key: one row with one field. */
  async #probe(dataStream: DataStream, prober: Prober): Promise<void> {
    const { clock } = this.#settings;
    const timeout = new AbortController();
    const finished = new AbortController();
    const expire = async () => {
      await clock.sleep(PROBE_TIMEOUT, finished.signal);
      timeout.abort(new Error(`no answer within ${PROBE_TIMEOUT / 1000} s`));
    };
    expire().catch(() => {});
    try {
      // The timeout includes the wait for the rate limiter. Another request can get the answer meanwhile.
      const { signal } = timeout;
      await dataStream.with({ retry: { attempts: 1 } })
        .metadata({ select: ["DOI"], limit: 1, signal }).toArray();
    } catch (error) {
      if (this.#isRecent(this.#answer)) return;
      prober.logFailure("Readiness probe failed", error);
      // A probe must not be repeated, whatever the error was.
      this.#failure ??= { at: this.#now(), isRejected: false };
    } finally {
      finished.abort();
    }
  }

  #isKnown(): boolean {
    return this.#isRecent(this.#failure) || this.#isRecent(this.#answer);
  }

  #requireAnswer(): void {
    // After an answer, an error can be an exception. A rejected key is none.
    const isRejected = this.#failure?.isRejected ?? false;
    if (this.#isRecent(this.#answer) && !isRejected) return;
    const since = this.#answer?.time ?? "the server started";
    const nextProbeAt = Math.max(this.#failure?.at ?? -Infinity, this.#probeStartedAt) + ANSWER_TTL;
    const seconds = Math.max(1, Math.ceil((nextProbeAt - this.#now()) / 1000));
    throw new HttpProblem({
      status: 503,
      title: "Not ready",
      detail: isRejected
        ? "DataStream rejects the API key of this server"
        : `DataStream has not answered since ${since}`,
      hint: isRejected
        ? "set another API key (the log has the details)"
        : `the server asks again after ${seconds} s (the log has the details)`,
    }, { "retry-after": String(seconds) });
  }

  #isRecent(moment: { at: number } | undefined): boolean {
    return moment !== undefined && this.#now() - moment.at < ANSWER_TTL;
  }

  #now(): number {
    return this.#settings.clock.now();
  }
}
