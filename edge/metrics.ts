// Metrics in the Prometheus text format.
import { VERSION } from "../src/version.ts";
import type { Feeds } from "./downloads/feeds.ts";
import type { Starts } from "./downloads/starts.ts";
import type { Settings } from "./options.ts";
import type { RequestFacts } from "./request_log.ts";

/** Content type of the metrics: version 0.0.4 of the Prometheus text exposition format. */
export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Upper bounds (s) of the buckets for durations. A download takes at least half a second per page. */
const DURATION_BOUNDS = [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, Infinity];

type Labels = Readonly<Record<string, string>>;

/** Limits that the metrics report. */
interface MeasuredLimits {
  feeds: Pick<Feeds, "slots" | "hits" | "misses" | "bytes" | "disconnected">;
  starts: Pick<Starts, "waiting">;
}

/**
 * Counts the requests of an app. Labels have few values (routes, known methods, statuses), because each
 * combination uses memory.
 */
export class Metrics {
  readonly #requests = new Counter();
  /** Numbers of requests by route and upper bound of their duration. */
  readonly #durationBuckets = new Counter();
  /** Sums (s) and numbers of the durations, by route. */
  readonly #durationSums = new Counter();
  readonly #durationCounts = new Counter();
  readonly #rows = new Counter();
  readonly #bytes = new Counter();
  readonly #interrupted = new Counter();
  readonly #upstreamRequests = new Counter();
  readonly #limits: MeasuredLimits;
  readonly #now: () => number;
  #startedAt: number;

  /** @param settings `now` returns the time in milliseconds since 1970 */
  constructor(limits: MeasuredLimits, { now }: Pick<Settings, "now">) {
    this.#limits = limits;
    this.#now = now;
    this.#startedAt = this.#readTime();
  }

  /** Counts a request that has ended. */
  addRequest(
    { method, path: route, status, outcome, rows, bytes, milliseconds }: RequestFacts,
  ): void {
    // On Workers, the clock returns 0 until the first request.
    this.#startedAt ||= this.#readTime();
    this.#requests.add({ route, method, status: String(status) });
    if (rows > 0) this.#rows.add({ route }, rows);
    if (bytes > 0) this.#bytes.add({ route }, bytes);
    if (outcome !== "complete") this.#interrupted.add({ route, outcome });
    const seconds = milliseconds / 1000;
    for (const bound of DURATION_BOUNDS) {
      const le = bound === Infinity ? "+Inf" : String(bound);
      this.#durationBuckets.add({ route, le }, seconds <= bound ? 1 : 0);
    }
    this.#durationSums.add({ route }, seconds);
    this.#durationCounts.add({ route });
  }

  /**
   * Counts a request to DataStream.
   *
   * @param status Status of the response, `aborted` or `failed`
   */
  addUpstreamRequest(status: string): void {
    this.#upstreamRequests.add({ status });
  }

  /** Formats all metrics in the Prometheus text format. */
  toText(): string {
    const { feeds, starts } = this.#limits;
    const { slots } = feeds;
    return [
      ...gauge("weir_build_info", "Version of Weir.", 1, { version: VERSION }),
      ...gauge(
        "process_start_time_seconds",
        "Start of the app, in seconds since 1970.",
        this.#startedAt / 1000,
      ),
      ...counter("weir_requests_total", "Requests that have ended.", this.#requests),
      ...header(
        "weir_request_duration_seconds",
        "histogram",
        "Time until the end of the response.",
      ),
      ...this.#durationBuckets.lines("weir_request_duration_seconds_bucket"),
      ...this.#durationSums.lines("weir_request_duration_seconds_sum"),
      ...this.#durationCounts.lines("weir_request_duration_seconds_count"),
      ...counter("weir_rows_total", "Rows in responses.", this.#rows),
      ...counter("weir_response_bytes_total", "Bytes of response bodies.", this.#bytes),
      ...counter(
        "weir_interrupted_responses_total",
        "Responses that ended early: aborted, disconnected, failed or interrupted.",
        this.#interrupted,
      ),
      ...counter(
        "weir_upstream_requests_total",
        "Requests to DataStream, by status.",
        this.#upstreamRequests,
      ),
      ...gauge("weir_downloads_in_progress", "Downloads in progress.", slots.running),
      ...gauge("weir_downloads_max", "Maximum number of concurrent downloads.", slots.max),
      ...counter(
        "weir_downloads_refused_total",
        "Downloads refused because of the maximum.",
        slots.refused - slots.refusedPerClient,
      ),
      ...gauge(
        "weir_rate_limit_waiting",
        "Requests that wait until DataStream's limits allow them.",
        starts.waiting,
      ),
      ...counter(
        "weir_page_cache_hits_total",
        "Pages from memory, or from a download that fetched them.",
        feeds.hits,
      ),
      ...counter("weir_page_cache_misses_total", "Pages that a download fetched.", feeds.misses),
      ...gauge("weir_page_cache_bytes", "Bytes of downloads in memory.", feeds.bytes),
      ...counter(
        "weir_client_downloads_refused_total",
        "Downloads refused because of the maximum of one client.",
        slots.refusedPerClient,
      ),
      ...counter(
        "weir_slow_clients_disconnected_total",
        "Slow clients disconnected because other clients needed their memory.",
        feeds.disconnected,
      ),
      "",
    ].join("\n");
  }

  /** Returns the time (ms), or 0 if the clock fails, so that counting never throws. */
  #readTime(): number {
    try {
      return this.#now();
    } catch {
      return 0;
    }
  }
}

/** A sum for each combination of labels. */
class Counter {
  /** Sums by labels, in the format of Prometheus. */
  readonly #sums = new Map<string, number>();

  add(labels: Labels, amount = 1): void {
    const key = formatLabels(labels);
    this.#sums.set(key, (this.#sums.get(key) ?? 0) + amount);
  }

  lines(name: string): string[] {
    return [...this.#sums].map(([labels, sum]) => `${name}${labels} ${sum}`);
  }
}

function counter(name: string, help: string, value: Counter | number): string[] {
  const lines = typeof value === "number" ? [`${name} ${value}`] : value.lines(name);
  return [...header(name, "counter", help), ...lines];
}

function gauge(name: string, help: string, value: number, labels: Labels = {}): string[] {
  const text = value === Infinity ? "+Inf" : value;
  return [...header(name, "gauge", help), `${name}${formatLabels(labels)} ${text}`];
}

function header(name: string, type: string, help: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

/** Formats labels. Escapes their values. */
function formatLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => {
    const escaped = value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
    return `${name}="${escaped}"`;
  });
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}
