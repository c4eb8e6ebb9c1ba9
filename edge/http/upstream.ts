// The requests to the service of one request: how many, when the last was answered, and how long the service is silent.
import type { DataStream } from "../../src/client/datastream.ts";
import { dateOf } from "../../src/client/http_error.ts";
import { defaultFetch } from "../../src/client/options.ts";
import {
  MAX_PROBE_DELAY,
  type RateLimiter,
  type ServiceState,
  UNKNOWN_SERVICE,
} from "../../src/client/rate_limiter.ts";
import { isResponse } from "../../src/client/transport.ts";
import { type Clock, startTimeLimit, type TimeLimit } from "../../src/clock.ts";
import { DataStreamError } from "../../src/errors.ts";
import { PRODUCTION_URL } from "../../src/service_constants.ts";
import type { Metrics } from "./metrics.ts";
import type { Settings } from "./options.ts";
import type { RequestLog } from "./request_log.ts";
import type { ServiceLog } from "./service_log.ts";

/** Maximum wait (ms) of one page or count for the rate limiter, before the response has content. */
const MAX_TURN_WAIT = 20_000;
/** Milliseconds without a response of the service, over all requests before the response has content. */
const MAX_SILENCE = 60_000;

export interface Recorders {
  settings: Settings;
  metrics: Metrics;
  serviceLog: ServiceLog;
}

export interface Upstream {
  requests: number;
  /** Time (ms) in which it sent them and the service had not answered yet. */
  milliseconds: number;
  /** Time (ms) for which they waited at the rate limiter, or wait now. */
  readonly waited: number;
  /** Time (ms since 1970) of the service's last response. */
  responseDate: number;
  readonly silence: ReturnType<typeof limitSilence>;
  /** Counts the requests of a client, and limits their silence. */
  count(dataStream: DataStream, rateLimiter?: RateLimiter): DataStream;
  /** What is known about the service for this client. */
  service(): ServiceState;
  /** Writes a line to the log if the state of the service has changed. */
  logService(): void;
}

export function createUpstream(
  { settings, metrics, serviceLog }: Recorders,
  log: RequestLog,
): Upstream {
  const { clock, dataStreamOptions, now } = settings;
  const { fetch = defaultFetch, baseUrl = PRODUCTION_URL } = dataStreamOptions;
  const silence = limitSilence(clock, baseUrl);
  const waits = createWaits(clock, metrics);
  const upstream: Upstream = {
    requests: 0,
    milliseconds: 0,
    get waited() {
      return waits.time;
    },
    responseDate: 0,
    silence,
    count: (dataStream, rateLimiter) =>
      counted = dataStream.with({
        ...(rateLimiter && { rateLimiter: waits.measure(rateLimiter) }),
        maxWait: MAX_TURN_WAIT,
        probeInterval: MAX_PROBE_DELAY,
        fetch: send,
      }),
    service: () => counted?.service ?? UNKNOWN_SERVICE,
    logService: () => serviceLog(upstream.service(), log),
  };
  let counted: DataStream | undefined;
  async function send(request: Request): Promise<Response> {
    upstream.requests++;
    upstream.logService();
    silence.onRequest();
    const since = clock.now();
    try {
      const response = await fetch(request);
      if (!isResponse(response)) return response; // the client names the option
      silence.onResponse(response);
      upstream.responseDate = dateOf(response.headers) ?? now();
      metrics.addUpstreamRequest(String(response.status), clock.now() - since);
      return response;
    } catch (error) {
      metrics.addUpstreamRequest(request.signal.aborted ? "aborted" : "failed");
      throw error;
    } finally {
      upstream.milliseconds += clock.now() - since;
    }
  }
  return upstream;
}

/** Measures the waits of one request at the rate limiter. */
function createWaits(clock: Clock, metrics: Recorders["metrics"]) {
  let ended = 0;
  /** Waits that have not ended. */
  const waits = new Set<{ since: number }>();
  return {
    /** Time (ms) of all waits until now. */
    get time() {
      return [...waits].reduce((sum, { since }) => sum + clock.now() - since, ended);
    },
    measure(limiter: RateLimiter): RateLimiter {
      async function acquire(...request: Parameters<RateLimiter["acquire"]>) {
        const wait = { since: clock.now() };
        waits.add(wait);
        try {
          return await limiter.acquire(...request);
        } finally {
          waits.delete(wait);
          const time = clock.now() - wait.since;
          ended += time;
          metrics.addWait(time);
        }
      }
      return { ...limiter, acquire };
    },
  };
}

/** Its signal aborts if the service is silent before the response has content. */
function limitSilence(clock: Clock, url: string) {
  const silent = new AbortController();
  /** Does not run while a page arrives. */
  let limit: TimeLimit | undefined;
  let hasEnded = false;
  const start = () => {
    if (hasEnded) return;
    limit = startTimeLimit(clock, MAX_SILENCE, "no response");
    limit.signal.addEventListener("abort", () => {
      const error = new DataStreamError(`DataStream sent nothing for ${MAX_SILENCE / 1000} s`, {
        kind: "network",
        isTemporary: true,
        url,
        hint: "try again later",
        cause: new DOMException("silence", "TimeoutError"),
      });
      silent.abort(error);
    });
  };
  return {
    signal: silent.signal,
    onRequest() {
      if (limit === undefined) start();
    },
    onResponse({ ok }: Response) {
      limit?.stop();
      limit = undefined;
      if (!ok) start();
    },
    /** The response has content. */
    end() {
      hasEnded = true;
      limit?.stop();
    },
  };
}
