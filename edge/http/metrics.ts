import type { RowNotes } from "../../src/formats/tidy.ts";
import type { ServiceState } from "../../src/client/rate_limiter.ts";
import { VERSION } from "../../src/version.ts";
import type { Settings } from "./options.ts";
import { UNAVAILABLE_CAUSES, type UnavailableCause } from "./problem.ts";
import type { Queue } from "./queue.ts";
import { reasonNotReady } from "./readiness.ts";
import { eventLoopDelay, residentBytes } from "./runtime.ts";

/**
 * How a response ended: `aborted` by the client, `disconnected` by the server because the client
 * reads too slowly, `failed` after its first byte, or `interrupted` because the server stopped.
 */
export type RequestOutcome = "complete" | "aborted" | "disconnected" | "failed" | "interrupted";

export interface RequestFacts {
  requestId: string;
  /** `OTHER` for an unknown one. */
  method: string;
  /** `(unknown)` without a route. */
  path: string;
  query: Readonly<Record<string, string>>;
  status: number;
  outcome: RequestOutcome;
  rows: number;
  /** Bytes passed to the runtime. */
  bytes: number;
  /** From the request to the end of the response. */
  milliseconds: number;
  upstreamRequests: number;
  /** Time until the service answered them, without the bodies. */
  upstreamMilliseconds: number;
  /** Time for which they waited at the rate limiter. */
  waitMilliseconds: number;
  /** Why the status is 503. */
  cause?: UnavailableCause | undefined;
  /** Name of the token of the request. Absent if it has no name. */
  token?: string | undefined;
  /** Numbers of rows of which something should be known. Absent if there are none. */
  notes?: RowNotes | undefined;
}

/** Prometheus text exposition format, version 0.0.4. */
export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Seconds. A download takes at least half a second per page. */
const DURATION_BOUNDS = [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, Infinity];

interface MeasuredLimits {
  feeds: Readonly<Record<"hits" | "misses" | "disconnected" | "reserved", number>> & {
    slots: Queue;
    bytesByFormat(): ReadonlyMap<string, number>;
  };
  requests: { size: number };
  accessControl: { server: { dataStream: { service: ServiceState } } };
}

type Labels = Readonly<Record<string, string>>;
type Samples = readonly (readonly [labels: Labels, value: number])[];

/** Type, meaning, and the value if requests do not count it; `undefined` if the runtime does not know it. */
type Metric = [
  type: "counter" | "gauge" | "histogram",
  help: string,
  read?: (limits: MeasuredLimits) => number | Samples | undefined,
];

const serviceOf = ({ accessControl: { server } }: MeasuredLimits) => server.dataStream.service;
const STATES: readonly ServiceState["is"][] = ["answering", "blocked", "silent", "key rejected"];

const DURATION = "weir_request_duration_seconds";
const UPSTREAM_DURATION = "weir_upstream_duration_seconds";
const WAIT = "weir_rate_limit_wait_seconds";
const EARLY_ENDS = "Responses that ended early: aborted, disconnected, failed or interrupted.";
const SLOW = "Slow clients disconnected because other clients needed their memory.";
const REFUSED = "Downloads refused because of the maximum";
const METRICS = {
  weir_build_info: ["gauge", "Version of Weir."],
  process_start_time_seconds: ["gauge", "Start of the app, in seconds since 1970."],
  weir_requests_total: ["counter", "Requests that have ended."],
  [DURATION]: ["histogram", "Time until the end of the response."],
  weir_rows_total: ["counter", "Rows in responses."],
  weir_response_bytes_total: ["counter", "Bytes of response bodies."],
  weir_token_requests_total: ["counter", "Requests with a token that has a name, by name."],
  weir_token_rows_total: ["counter", "Rows in their responses, by name of the token."],
  weir_interrupted_responses_total: ["counter", EARLY_ENDS],
  weir_upstream_requests_total: ["counter", "Requests to DataStream, by status."],
  [UPSTREAM_DURATION]: ["histogram", "Time until DataStream answered a request."],
  [WAIT]: ["histogram", "Time for which requests to DataStream waited at the rate limiter."],
  weir_unavailable_total: ["counter", "Responses with status 503, by cause."],
  weir_downloads_in_progress: ["gauge", "Downloads in progress.", (of) => of.feeds.slots.running],
  weir_downloads_waiting: [
    "gauge",
    "Downloads that wait for a slot.",
    ({ feeds: { slots } }) => slots.size - slots.running,
  ],
  weir_downloads_max: [
    "gauge",
    "Maximum number of concurrent downloads.",
    (of) => of.feeds.slots.options.max,
  ],
  weir_downloads_refused_total: [
    "counter",
    `${REFUSED}.`,
    ({ feeds: { slots } }) => slots.refused - slots.refusedPerClient,
  ],
  weir_downloads_unanswered_total: [
    "counter",
    "Downloads refused because DataStream did not answer others.",
    ({ feeds: { slots } }) => slots.refusedForCause,
  ],
  weir_datastream_answering: [
    "gauge",
    "0 if DataStream is silent, blocks requests or rejects the key of the server; else 1.",
    (of) => Number(serviceOf(of).is === "answering"),
  ],
  weir_datastream_state: [
    "gauge",
    "1 for the state of DataStream, else 0.",
    (of) => STATES.map((state) => [{ state }, Number(serviceOf(of).is === state)]),
  ],
  weir_datastream_state_age_seconds: [
    "gauge",
    "Time since this state began.",
    (of) => serviceOf(of).age / 1000,
  ],
  weir_datastream_wait_seconds: [
    "gauge",
    "Time until the next request to DataStream may start.",
    (of) => serviceOf(of).wait / 1000,
  ],
  weir_ready: [
    "gauge",
    "1 if DataStream has answered in the last minute and accepts the key, else 0, with the reason.",
    (of) => {
      const reason = reasonNotReady(serviceOf(of));
      return [[{ reason: reason ?? "none" }, Number(reason === undefined)]];
    },
  ],
  weir_rate_limit_waiting: [
    "gauge",
    "Requests that wait until DataStream's limits allow them.",
    (of) => of.requests.size,
  ],
  weir_page_cache_hits_total: [
    "counter",
    "Pages from memory, or from a download that fetched them.",
    (of) => of.feeds.hits,
  ],
  weir_page_cache_misses_total: [
    "counter",
    "Pages that a download fetched.",
    (of) => of.feeds.misses,
  ],
  weir_page_cache_bytes: [
    "gauge",
    "Bytes of downloads in memory, by format.",
    (of) => [...of.feeds.bytesByFormat()].map(([format, bytes]) => [{ format }, bytes]),
  ],
  weir_page_reserved_bytes: [
    "gauge",
    "Bytes reserved for pages that are being fetched, and for responses that are being sent.",
    (of) => of.feeds.reserved,
  ],
  process_resident_memory_bytes: ["gauge", "Resident memory of this server.", residentBytes],
  weir_event_loop_delay_seconds: [
    "gauge",
    "Longest delay of the event loop since the last read of the metrics.",
    eventLoopDelay,
  ],
  weir_client_downloads_refused_total: [
    "counter",
    `${REFUSED} of one client.`,
    (of) => of.feeds.slots.refusedPerClient,
  ],
  weir_slow_clients_disconnected_total: ["counter", SLOW, (of) => of.feeds.disconnected],
} satisfies Readonly<Record<string, Metric>>;

/** A histogram has several. */
type HistogramName = typeof DURATION | typeof UPSTREAM_DURATION | typeof WAIT;
type MetricName = keyof typeof METRICS | `${HistogramName}_${string}`;

/** Labels have few values (routes, methods, statuses): each combination uses memory. */
export class Metrics {
  /** By name and by formatted labels. */
  readonly #sums: Record<string, Map<string, number>> = {};
  #startedAt: number;

  constructor(readonly limits: MeasuredLimits, readonly settings: Pick<Settings, "now">) {
    this.#startedAt = settings.now();
    this.#add("weir_build_info", { version: VERSION });
    // So that the first one is an increase.
    for (const cause of UNAVAILABLE_CAUSES) this.#add("weir_unavailable_total", { cause }, 0);
  }

  addRequest(facts: RequestFacts): void {
    const { method, path: route, status, outcome, rows, bytes, token, cause } = facts;
    // On Workers, the clock returns 0 until the first request.
    this.#startedAt ||= this.settings.now();
    this.#add("weir_requests_total", { route, method, status: String(status) });
    if (rows > 0) this.#add("weir_rows_total", { route }, rows);
    if (token !== undefined) {
      this.#add("weir_token_requests_total", { token });
      this.#add("weir_token_rows_total", { token }, rows);
    }
    if (bytes > 0) this.#add("weir_response_bytes_total", { route }, bytes);
    if (outcome !== "complete") this.#add("weir_interrupted_responses_total", { route, outcome });
    if (cause !== undefined) this.#add("weir_unavailable_total", { cause });
    this.#observe(DURATION, { route }, facts.milliseconds);
  }

  /** `status` is a number, `aborted` or `failed`. A response has the time (ms) until its headers. */
  addUpstreamRequest(status: string, milliseconds?: number): void {
    this.#add("weir_upstream_requests_total", { status });
    if (milliseconds !== undefined) this.#observe(UPSTREAM_DURATION, {}, milliseconds);
  }

  /** Adds the time (ms) of a request at the rate limiter. */
  addWait(milliseconds: number): void {
    this.#observe(WAIT, {}, milliseconds);
  }

  /** Numbers of responses with status 503. */
  unavailable(): [cause: UnavailableCause, number: number][] {
    const sums = this.#sums.weir_unavailable_total;
    return UNAVAILABLE_CAUSES.map((cause) => [cause, sums?.get(formatLabels({ cause })) ?? 0]);
  }

  toText(): string {
    this.#sums.process_start_time_seconds = new Map([["", this.#startedAt / 1000]]);
    const lines = Object.entries<Metric>(METRICS).flatMap(([name, [type, help, read]]) => {
      if (read !== undefined) {
        const value = read(this.limits) ?? [];
        const samples: Samples = typeof value === "number" ? [[{}, value]] : value;
        this.#sums[name] = new Map(samples.map(([labels, sum]) => [formatLabels(labels), sum]));
      }
      const suffixes = type === "histogram" ? ["_bucket", "_sum", "_count"] : [""];
      return [
        `# HELP ${name} ${help}`,
        `# TYPE ${name} ${type}`,
        ...suffixes.flatMap((suffix) =>
          [...this.#sums[name + suffix] ?? []].map(([labels, sum]) =>
            `${name}${suffix}${labels} ${formatValue(sum)}`
          )
        ),
      ];
    });
    return [...lines, ""].join("\n");
  }

  #observe(name: HistogramName, labels: Labels, milliseconds: number): void {
    const seconds = milliseconds / 1000;
    for (const bound of DURATION_BOUNDS) {
      const bucket = { ...labels, le: formatValue(bound) };
      this.#add(`${name}_bucket`, bucket, Number(seconds <= bound));
    }
    this.#add(`${name}_sum`, labels, seconds);
    this.#add(`${name}_count`, labels);
  }

  #add(name: MetricName, labels: Labels, amount = 1): void {
    const sums = this.#sums[name] ??= new Map();
    const key = formatLabels(labels);
    sums.set(key, (sums.get(key) ?? 0) + amount);
  }
}

function formatValue(value: number): string {
  return value === Infinity ? "+Inf" : String(value);
}

/** No value has a character that the format escapes: all are routes, known methods, numbers, names of tokens, words of this server, or its version. */
function formatLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  if (pairs.length === 0) return "";
  return `{${pairs.join(",")}}`;
}
