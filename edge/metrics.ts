// Metrics in the Prometheus text format.
import { VERSION } from "../src/version.ts";
import type { Feeds } from "./downloads/feeds.ts";
import type { Starts } from "./downloads/starts.ts";
import type { Settings } from "./options.ts";
import type { RequestFacts } from "./request_log.ts";

/** Content type of the metrics: version 0.0.4 of the Prometheus text exposition format. */
export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Upper bounds (s) of the buckets for durations. A download takes at least half a second per page. */
const DURATION_BOUNDS = [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800];

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
  readonly #durations = new Map<string, Durations>();
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
    const durations = this.#durations.get(route) ?? new Durations();
    this.#durations.set(route, durations);
    durations.add(milliseconds / 1000);
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
    const durationsByRoute = [...this.#durations];
    const startTime = this.#startedAt / 1000;
    return [
      ...family("weir_build_info", "gauge", "Version of Weir.", [[{ version: VERSION }, 1]]),
      ...family("process_start_time_seconds", "gauge", "Start of the app, in seconds since 1970.", [
        [{}, startTime],
      ]),
      ...family(
        "weir_requests_total",
        "counter",
        "Requests that have ended.",
        this.#requests.samples,
      ),
      ...header(
        "weir_request_duration_seconds",
        "histogram",
        "Time until the end of the response.",
      ),
      ...durationsByRoute.flatMap(([route, durations]) =>
        durations.lines("weir_request_duration_seconds", { route })
      ),
      ...family("weir_rows_total", "counter", "Rows in responses.", this.#rows.samples),
      ...family(
        "weir_response_bytes_total",
        "counter",
        "Bytes of response bodies.",
        this.#bytes.samples,
      ),
      ...family(
        "weir_interrupted_responses_total",
        "counter",
        "Responses that ended early: aborted, disconnected, failed or interrupted.",
        this.#interrupted.samples,
      ),
      ...family(
        "weir_upstream_requests_total",
        "counter",
        "Requests to DataStream, by status.",
        this.#upstreamRequests.samples,
      ),
      ...family("weir_downloads_in_progress", "gauge", "Downloads in progress.", [
        [{}, slots.running],
      ]),
      ...family("weir_downloads_max", "gauge", "Maximum number of concurrent downloads.", [
        [{}, slots.max],
      ]),
      ...family(
        "weir_downloads_refused_total",
        "counter",
        "Downloads refused because of the maximum.",
        [[{}, slots.refused - slots.refusedPerClient]],
      ),
      ...family(
        "weir_rate_limit_waiting",
        "gauge",
        "Requests that wait until DataStream's limits allow them.",
        [[{}, starts.waiting]],
      ),
      ...family(
        "weir_page_cache_hits_total",
        "counter",
        "Pages from memory, or from a download that fetched them.",
        [[{}, feeds.hits]],
      ),
      ...family("weir_page_cache_misses_total", "counter", "Pages that a download fetched.", [
        [{}, feeds.misses],
      ]),
      ...family("weir_page_cache_bytes", "gauge", "Bytes of downloads in memory.", [
        [{}, feeds.bytes],
      ]),
      ...family(
        "weir_client_downloads_refused_total",
        "counter",
        "Downloads refused because of the maximum of one client.",
        [[{}, slots.refusedPerClient]],
      ),
      ...family(
        "weir_slow_clients_disconnected_total",
        "counter",
        "Slow clients disconnected because other clients needed their memory.",
        [[{}, feeds.disconnected]],
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

type Sample = readonly [labels: Labels, value: number];

/** A sum for each combination of labels. */
class Counter {
  readonly #sums = new Map<string, { labels: Labels; sum: number }>();

  get samples(): Sample[] {
    return [...this.#sums.values()].map(({ labels, sum }) => [labels, sum]);
  }

  add(labels: Labels, amount = 1): void {
    const key = formatLabels(labels);
    const entry = this.#sums.get(key) ?? { labels, sum: 0 };
    entry.sum += amount;
    this.#sums.set(key, entry);
  }
}

/** Histogram of durations. */
class Durations {
  readonly #counts: number[] = DURATION_BOUNDS.map(() => 0);
  #count = 0;
  #sum = 0;

  add(seconds: number): void {
    this.#count++;
    this.#sum += seconds;
    for (const [index, bound] of DURATION_BOUNDS.entries()) {
      if (seconds <= bound) this.#counts[index]!++;
    }
  }

  lines(name: string, labels: Labels): string[] {
    const buckets = DURATION_BOUNDS.map((bound, index): Sample => [
      { ...labels, le: String(bound) },
      this.#counts[index]!,
    ]);
    buckets.push([{ ...labels, le: "+Inf" }, this.#count]);
    return [
      ...buckets.map((sample) => formatSample(`${name}_bucket`, sample)),
      formatSample(`${name}_sum`, [labels, this.#sum]),
      formatSample(`${name}_count`, [labels, this.#count]),
    ];
  }
}

function family(name: string, type: string, help: string, samples: readonly Sample[]): string[] {
  return [...header(name, type, help), ...samples.map((sample) => formatSample(name, sample))];
}

function header(name: string, type: string, help: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

function formatSample(name: string, [labels, value]: Sample): string {
  return `${name}${formatLabels(labels)} ${value === Infinity ? "+Inf" : value}`;
}

function formatLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

/** Escapes a label value. */
function escapeLabel(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
