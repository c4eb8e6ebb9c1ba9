// The path /metrics and EdgeApp.metrics(): the Prometheus text format.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import type { EdgeApp } from "../../../../edge/app.ts";
import { VERSION } from "../../../../src/version.ts";
import { test } from "../../../helpers/deadline.ts";
import { overSandbox, overUpstream } from "../../../helpers/edge.ts";
import { page, ROOT } from "../../../helpers/upstream.ts";

const token = "metrics-token-of-a-test";
const NOW = Date.UTC(2026, 10, 22);

/** Returns the values of a text by name and labels. Fails if a line is neither a sample nor a comment. */
function samplesOf(text: string): Record<string, number> {
  assert(text.endsWith("\n"));
  const samples: Record<string, number> = {};
  const described = new Set<string>();
  const label = String.raw`\w+="(?:[^"\\\n]|\\[\\n"])*"`;
  const sample = new RegExp(
    String.raw`^((\w+?)(?:_bucket|_sum|_count)?(?:\{${label}(?:,${label})*\})?) (\S+)$`,
  );
  for (const line of text.slice(0, -1).split("\n")) {
    const [, comment] = /^# (?:HELP|TYPE) (\w+) \S.*$/.exec(line) ?? [];
    if (comment !== undefined) {
      described.add(comment);
      continue;
    }
    const [, key, name, value] = sample.exec(line) ?? [];
    assert(key !== undefined && !(key in samples) && described.has(name!), line);
    samples[key] = Number(value!.replace("+Inf", "Infinity"));
    assert(!Number.isNaN(samples[key]), line);
  }
  return samples;
}

const read = async (app: EdgeApp, path: string, init?: RequestInit) =>
  await (await app.request(path, init)).arrayBuffer();

Deno.test("EdgeApp.request() returns the text of metrics() for /metrics, only with metricsToken", async () => {
  const tokens = ["the-token-of-a-test"];
  const options = { access: "token", tokens, now: () => NOW } as const;
  const { app } = overSandbox({}, { ...options, metricsToken: token });
  const get = async (authorization: string, path = "/metrics", from = app) => {
    const response = await from.request(path, { headers: { authorization } });
    return { text: await response.text(), status: response.status, headers: response.headers };
  };
  const wanted = app.metrics();
  const { text, headers } = await get(`Bearer ${token}`);
  assertEquals(text, wanted);
  assertEquals(headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  assertEquals(headers.get("cache-control"), "no-store");
  for (const refused of ["", `Bearer ${tokens[0]}`]) assertEquals((await get(refused)).status, 401);
  assertEquals((await get(`Bearer ${token}`, "/Records.csv")).status, 401);
  const { app: without } = overSandbox({}, options);
  assertEquals((await get(`Bearer ${tokens[0]}`, "/metrics", without)).status, 404);
});

Deno.test("EdgeApp.metrics() returns the version, the start time and the limits when there was no request", () => {
  const { app } = overSandbox({}, { maxDownloads: 7, now: () => NOW });
  assertEquals(samplesOf(app.metrics()), {
    [`weir_build_info{version="${VERSION}"}`]: 1,
    process_start_time_seconds: NOW / 1000,
    weir_downloads_in_progress: 0,
    weir_downloads_max: 7,
    weir_downloads_refused_total: 0,
    weir_rate_limit_waiting: 0,
    weir_page_cache_bytes: 0,
    weir_page_cache_hits_total: 0,
    weir_page_cache_misses_total: 0,
    weir_client_downloads_refused_total: 0,
    weir_slow_clients_disconnected_total: 0,
  });
});

Deno.test("EdgeApp.metrics() counts requests, rows, bytes and requests to the service by route", async () => {
  const { app } = overSandbox({ records: 25_000 });
  const { byteLength } = await read(app, "/Records.csv?$select=Id");
  await read(app, "/Records.csv?$select=Id&limit=3", { method: "HEAD" });
  await read(app, "/Records.csv?limit=x");
  await read(app, "/Records.csv?limit=y");
  const samples = samplesOf(app.metrics());
  const at = (name: string, labels: string) => samples[`${name}{route="/Records.csv"${labels}}`];
  assertEquals(at("weir_requests_total", ',method="GET",status="200"'), 1);
  assertEquals(at("weir_requests_total", ',method="HEAD",status="200"'), 1);
  assertEquals(at("weir_requests_total", ',method="GET",status="400"'), 2);
  assertEquals(at("weir_rows_total", ""), 25_000);
  assert(at("weir_response_bytes_total", "")! > byteLength); // with those of the problems
  assertEquals(samples['weir_upstream_requests_total{status="200"}'], 7);
});

Deno.test("EdgeApp.metrics() has a histogram of durations for each route", async () => {
  const { app, clock } = overUpstream([async () => {
    await clock.sleep(4_000);
    return page([{ Id: 1 }]);
  }]);
  await read(app, "/Records.csv?$select=Id");
  await read(app, "/healthz");
  const samples = samplesOf(app.metrics());
  const name = "weir_request_duration_seconds";
  const bucket = (le: string) => samples[`${name}_bucket{route="/Records.csv",le="${le}"}`];
  assertEquals([bucket("2.5"), bucket("5"), bucket("1800"), bucket("+Inf")], [0, 1, 1, 1]);
  assertEquals(samples[`${name}_sum{route="/Records.csv"}`], 4);
  assertEquals(samples[`${name}_count{route="/Records.csv"}`], 1);
  assertEquals(samples[`${name}_count{route="/healthz"}`], 1);
});

Deno.test("EdgeApp.metrics() counts retries, failures and aborts of requests to the service", async () => {
  const sent = Promise.withResolvers<void>();
  const { app } = overUpstream([
    Response.json({}, { status: 503 }),
    new Error("reset"),
    page([{ Id: 1 }]),
    ({ signal }) =>
      new Promise<Response>((_, reject) => {
        sent.resolve();
        signal.addEventListener("abort", () => reject(signal.reason));
      }),
  ], { retry: { attempts: 3 } });
  await read(app, "/Records.csv?$select=Id");
  const client = new AbortController();
  const answer = app.request("/Records.csv", { signal: client.signal });
  await sent.promise;
  client.abort();
  await answer;
  const samples = samplesOf(app.metrics());
  const byStatus = Object.entries(samples).filter(([name]) => name.includes("upstream"));
  assertEquals(Object.fromEntries(byStatus), {
    'weir_upstream_requests_total{status="503"}': 1,
    'weir_upstream_requests_total{status="failed"}': 1,
    'weir_upstream_requests_total{status="200"}': 1,
    'weir_upstream_requests_total{status="aborted"}': 1,
  });
  assertEquals(
    samples['weir_interrupted_responses_total{route="/Records.csv",outcome="aborted"}'],
    1,
  );
});

test("EdgeApp.metrics() counts downloads in progress, refused and broken ones", async () => {
  const { app, clock } = overUpstream([
    page([{ Id: 1 }], `${ROOT}/Records?$skiptoken=Id:1`),
    Response.json({}, { status: 500 }),
    () => new Promise(() => {}),
  ], { maxDownloads: 1, timeouts: { headers: 3_600_000 } });
  const value = (name: string) => samplesOf(app.metrics())[name];
  const broken = await app.request("/Records.csv?$select=Id&limit=5");
  await assertRejects(() => broken.text());
  const name = "weir_interrupted_responses_total";
  assertEquals(value(`${name}{route="/Records.csv",outcome="failed"}`), 1);
  const silent = app.request("/Records.csv");
  await clock.sleep(1_000);
  assertEquals(value("weir_downloads_in_progress"), 1);
  const refused = Promise.all(Array.from({ length: 201 }, () => read(app, "/Locations.csv")));
  await clock.sleep(1_000);
  assertEquals(value("weir_downloads_refused_total"), 1);
  await refused;
  await (await silent).text();
  assertEquals(value("weir_downloads_in_progress"), 0);
});

test("EdgeApp.metrics() counts requests that wait for the rate limiter", async () => {
  const { app, clock } = overSandbox({}, { cacheTtl: 0 });
  const responses = ["Records", "Locations", "Observations"].map((resource) =>
    app.request(`/${resource}.csv?limit=1`)
  );
  await clock.sleep(100);
  assertMatch(app.metrics(), /^weir_rate_limit_waiting [1-9]$/m);
  for (const response of await Promise.all(responses)) await response.text();
  assertMatch(app.metrics(), /^weir_rate_limit_waiting 0$/m);
});

Deno.test("EdgeApp.metrics() has a limited number of lines when paths, methods and statuses vary", async () => {
  const { app } = overSandbox({ records: 1 });
  const linesAfter = async (requests: number) => {
    for (let index = 0; index < requests; index++) {
      await read(app, `/path-${index}`, { method: index % 2 ? "GET" : `METHOD-${index}` });
    }
    return app.metrics().split("\n").length;
  };
  assertEquals(await linesAfter(4), await linesAfter(50));
  assertEquals(/path-|METHOD-/.test(app.metrics()), false);
});

Deno.test("EdgeApp.metrics() has the time of the first request when the clock is 0 at the start", async () => {
  // As in a Worker, whose clock starts with the first request.
  let now = 0;
  const { app } = overSandbox({}, { now: () => now });
  now = NOW;
  await read(app, "/healthz");
  assertEquals(samplesOf(app.metrics()).process_start_time_seconds, NOW / 1000);
});
