import type { DataStream } from "../../src/client/datastream.ts";
import { describeService } from "../../src/client/http_error.ts";
import type { ServiceState } from "../../src/client/rate_limiter.ts";
import { startTimeLimit } from "../../src/clock.ts";
import type { Settings } from "./options.ts";
import { type FailureLog, HttpProblem } from "./problem.ts";

/** Age (ms) at which a result is out of date, and minimum interval between probes. */
const RESULT_TTL = 60_000;
/** Milliseconds. */
const PROBE_TIMEOUT = 10_000;
/** Milliseconds. */
const PROBE_POLL_INTERVAL = 100;

// The rate limiter knows the state of the service, also from downloads, so a server with downloads sends no probes. Other
// requests poll for a probe's result: workerd cancels those that wait for another request's I/O.
export class Readiness {
  #probedAt = -Infinity;

  constructor(readonly settings: Settings) {}

  async check(dataStream: DataStream, log: FailureLog): Promise<void> {
    const hasResult = () => isRecent(dataStream.service.checkedAge);
    if (!hasResult() && this.#probeAge() >= RESULT_TTL) {
      this.#probedAt = this.settings.clock.now();
      await this.#probe(dataStream, log);
    }
    while (!hasResult() && this.#probeAge() < PROBE_TIMEOUT) {
      await this.settings.clock.sleep(PROBE_POLL_INTERVAL);
    }
    this.#requireReady(dataStream.service);
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
      if (!isReady(dataStream.service)) log.logFailure("Readiness probe failed", error);
    } finally {
      timeLimit.stop();
    }
  }

  #requireReady(service: ServiceState): void {
    if (isReady(service)) return;
    const { is, checkedAge = Infinity, answeredAge } = service;
    const now = this.settings.now();
    const since = answeredAge === undefined
      ? "the server started"
      : new Date(now - answeredAge).toISOString();
    const rest = RESULT_TTL - Math.min(checkedAge, this.#probeAge());
    const seconds = Math.max(1, Math.ceil(rest / 1000));
    throw new HttpProblem({
      status: 503,
      title: "Not ready",
      detail: is === "answering"
        ? `DataStream has sent no valid response since ${since}`
        : describeService(service, now),
      hint: is === "key rejected"
        ? "set another API key (the log has the details)"
        : `the server tries again after ${seconds} s (the log has the details)`,
    }, { "retry-after": String(seconds) });
  }

  #probeAge(): number {
    return this.settings.clock.now() - this.#probedAt;
  }
}

function isRecent(age = Infinity): boolean {
  return age < RESULT_TTL;
}

/** Why the server is not ready; `undefined` if it is. */
export function reasonNotReady(service: ServiceState): string | undefined {
  if (isReady(service)) return undefined;
  return service.is === "answering" ? "not checked" : service.is;
}

/** Failures after a recent success are ignored, unless the key was rejected. */
function isReady({ is, answeredAge, checkedAge }: ServiceState): boolean {
  return is !== "key rejected" && isRecent(answeredAge) ||
    is === "answering" && isRecent(checkedAge);
}
