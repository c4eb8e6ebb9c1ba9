// /metrics and EdgeApp.metrics() count requests, downloads and refusals in the Prometheus text format.
import { assertEquals, assertRejects } from "@std/assert";
import type { AppOptions, EdgeApp } from "../../../../edge/app.ts";
import { VERSION } from "../../../../src/version.ts";
import { test } from "../../../helpers/deadline.ts";
import { isVersionRequest, overSandbox, overUpstream } from "../../../helpers/edge.ts";
import { assertGolden } from "../../../helpers/golden.ts";
import { page, ROOT, type ScriptedResponse, upstream } from "../../../helpers/upstream.ts";

const token = "metrics-token-of-a-test";
const NEXT = `${ROOT}/Records?$skiptoken=Id:1`;
const NOW = Date.UTC(2026, 10, 22);

const read = async (app: EdgeApp, path: string, init?: RequestInit) =>
  await (await app.request(path, init)).arrayBuffer();

function assertMetric(app: EdgeApp, name: string, value: number): void {
  assertEquals(
    app.metrics().match(new RegExp(`^${name.replace(/[{.]/g, "\\$&")} (.*)$`, "m"))?.[1],
    String(value),
  );
}

/** Without what depends on the process. */
const withoutProcess = (text: string) =>
  text.replace(/^(process_resident_memory_bytes|weir_event_loop_delay_seconds) .*\n/gm, "");

Deno.test("EdgeApp.request() returns the text of metrics() for /metrics, only with metricsToken", async () => {
  const tokens = ["the-token-of-a-test"];
  const options = { access: "token", tokens, now: () => NOW } as const;
  const { app } = overSandbox({}, { ...options, metricsToken: token });
  const get = (authorization: string, path = "/metrics", from = app) =>
    from.request(path, { headers: { authorization } });
  const wanted = withoutProcess(app.metrics());
  const response = await get(`Bearer ${token}`);
  const text = await response.text();
  assertEquals(withoutProcess(text), wanted);
  const values = ["process_resident_memory_bytes", "weir_event_loop_delay_seconds"]
    .map((name) => Number(new RegExp(`^${name} (.*)$`, "m").exec(text)?.[1]));
  assertEquals(values.map((value) => value >= 0), [true, true], `${values}`);
  assertEquals(response.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  assertEquals(response.headers.get("cache-control"), "no-store");
  for (const refused of ["", `Bearer ${tokens[0]}`]) assertEquals((await get(refused)).status, 401);
  assertEquals((await get(`Bearer ${token}`, "/Records.csv")).status, 401);
  const { app: without } = overSandbox({}, options);
  assertEquals((await get(`Bearer ${tokens[0]}`, "/metrics", without)).status, 404);
});

Deno.test("EdgeApp.request() records requests and rows by the name of the token, in the log and the metrics", async () => {
  const secrets = ["c2VjcmV0LW9mLWFubmE=", "secret-of-the-laboratory", "YmFzZTY0LXdpdGhvdXQtYQ=="];
  const [anna, lab, bare] = secrets;
  const options = { access: "token", apiKey: "sandbox", logRequests: true } as const;
  const tokens = [`anna=${anna}`, `élan-2@lab.ca=${lab}`, bare!];
  for (const logFormat of ["json", "text"] as const) {
    const { app, log } = overSandbox({ records: 30 }, { ...options, tokens, logFormat });
    for (const [secret, limit] of [[anna, 3], [lab, 5], [anna, 2], [bare, 7]]) {
      const headers = { authorization: `Bearer ${secret}` };
      await read(app, `/Records.csv?$select=Id&limit=${limit}`, { headers });
    }
    const headers = { authorization: `Bearer anna=${anna}` };
    assertEquals((await app.request("/Records.csv", { headers })).status, 401);
    assertMetric(app, 'weir_token_requests_total{token="anna"}', 2);
    assertMetric(app, 'weir_token_rows_total{token="anna"}', 5);
    assertMetric(app, 'weir_token_rows_total{token="élan-2@lab.ca"}', 5);
    assertEquals(app.metrics().match(/^weir_token_rows_total/gm)?.length, 2);
    const names = log.map((line) => /token"?[ :]"?([^",]*)/.exec(line)?.[1]);
    assertEquals(names, ["anna", "élan-2@lab.ca", "anna", undefined, undefined]);
    for (const secret of secrets) assertEquals(log.join().includes(secret), false);
  }
});

test("EdgeApp.metrics() has the recorded text after downloads, refusals, failures and an abort", async () => {
  const { app, clock } = overUpstream([
    Response.json({}, { status: 503 }),
    new Error("reset"),
    async () => {
      await clock.sleep(4_000);
      return page([{ Id: 1 }, { Id: 2 }]);
    },
    page([{ Id: 1 }], NEXT),
    Response.json({}, { status: 400 }),
    ({ signal }) =>
      new Promise<Response>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
      }),
  ], { maxDownloads: 7, now: () => NOW });
  for (let times = 0; times < 3; times++) await read(app, "/Records.csv?$select=Id");
  await read(app, "/Records.csv", { method: "HEAD" });
  for (const limit of ["x", "y"]) await read(app, `/Records.csv?limit=${limit}`);
  await assertRejects(() => read(app, "/Records.csv?$select=Id&limit=5"));
  const client = new AbortController();
  const answer = app.request("/Records.csv", { signal: client.signal });
  await clock.sleep(1_000);
  client.abort();
  await answer;
  for (const method of ["A-KEY", "ANOTHER"]) await read(app, `/path-of-${method}`, { method });
  await assertGolden(
    withoutProcess(app.metrics()).replace(VERSION, "(version)"),
    "edge/metrics.txt",
  );
});

test("EdgeApp.metrics() counts downloads in progress, requests that wait for the rate limiter, and refused downloads", async () => {
  const { app, clock } = overUpstream([() => new Promise(() => {})], {
    maxDownloads: 2,
    timeouts: { headers: 3_600_000 },
  });
  const client = new AbortController();
  const { signal } = client;
  const silent = ["Records", "Metadata"].map((name) => read(app, `/${name}.csv`, { signal }));
  await clock.sleep(1_000);
  assertMetric(app, "weir_downloads_in_progress", 2);
  const others = Array.from({ length: 201 }, () => read(app, "/Locations.csv", { signal }));
  await clock.sleep(1_000);
  assertMetric(app, "weir_rate_limit_waiting", 1);
  assertMetric(app, "weir_downloads_refused_total", 1);
  assertMetric(app, 'weir_unavailable_total{cause="limit"}', 1);
  client.abort();
  await Promise.all([...others, ...silent]);
  assertMetric(app, "weir_downloads_in_progress", 0);
});

const twoPages = (second: ScriptedResponse) => [
  page([{ Id: 1 }], NEXT),
  Response.json({ value: 2 }),
  second,
];
const never = () => new Promise<Response>(() => {});
/** Causes of 503 that no other test counts: options, responses, and requests that begin one second after another. */
const causes: [string, Partial<AppOptions>, ScriptedResponse[], ...requests: string[]][] = [
  [
    "key",
    { apiKey: undefined, mirror: { open: () => Promise.resolve(undefined) } },
    [],
    "GET /Records.csv",
  ],
  ["memory", { maxCachedBytes: 1 }, twoPages(never), "GET /Records.parquet", "GET /Metadata.csv"],
  ["changed", { cacheTtl: 60_000 }, twoPages(page([{ Id: 2 }])), "HEAD /Records.parquet"],
];
for (const [cause, appOptions, responses, ...requests] of causes) {
  test(`EdgeApp.metrics() counts a response with status 503 because of: ${cause}`, async () => {
    const { options } = upstream(...responses);
    let version = 0;
    const { app, clock } = overUpstream([], {
      // A dataset is published between two requests for its version.
      fetch: (request) =>
        isVersionRequest(request)
          ? page([{ DOI: "10.1/a", Version: `${++version}` }])
          : options.fetch(request),
      ...appOptions,
    });
    const open: Promise<unknown>[] = [];
    for (const request of requests) {
      const [method, path] = request.split(" ");
      open.push(read(app, `${path}?$select=Id`, { method: method! }));
      await clock.sleep(1_000);
    }
    await Promise.allSettled(open);
    assertMetric(app, `weir_unavailable_total{cause="${cause}"}`, 1);
  });
}

Deno.test("EdgeApp.metrics() has the time of the first request when the clock is 0 at the start", async () => {
  // As in a Worker, whose clock starts with the first request.
  let now = 0;
  const { app } = overSandbox({}, { now: () => now });
  now = NOW;
  await read(app, "/healthz");
  assertMetric(app, "process_start_time_seconds", NOW / 1000);
});
