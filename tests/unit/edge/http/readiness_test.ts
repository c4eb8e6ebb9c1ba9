// /readyz tells whether the service answers the key, with at most one probe a minute.
import "../../../helpers/no_permission.ts";
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { EdgeApp } from "../../../../edge/app.ts";
import { test } from "../../../helpers/deadline.ts";
import { overUpstream, problemOf } from "../../../helpers/edge.ts";
import { page } from "../../../helpers/upstream.ts";

const NOW = Date.UTC(2026, 10, 22, 13, 48, 47);
const broken = () => Response.json({}, { status: 500 });
const statusOf = async (app: EdgeApp, path = "/readyz") => (await app.request(path)).status;
/** Sends a download and reads it. */
const download = async (app: EdgeApp) => await (await app.request("/Citations.txt")).text();

Deno.test("EdgeApp.request() returns 200 for /readyz after the cheapest request that needs the key", async () => {
  const { app, requests } = overUpstream([page([{ DOI: "10.25976/x" }])]);
  const response = await app.request("/readyz");
  assertEquals([response.status, await response.text()], [200, "ready\n"]);
  assertEquals(response.headers.get("cache-control"), "no-store");
  const { pathname, search } = new URL(requests[0]!.url);
  assertEquals([pathname, search], ["/v1/odata/v4/Metadata", "?%24select=DOI&%24top=1"]);
  assertEquals(requests[0]!.headers.get("x-api-key"), "k3y-of-a-test");
});

/** A download, a pause in seconds, or a request for /readyz: its status, and the number of requests to the service. */
type Step = "download" | number | [status: number, requests: number];
const histories: [name: string, answers: number[], steps: Step[]][] = [
  [
    "probes at most once a minute, also when the service fails",
    [500, 500, 200, 200],
    [[503, 1], [503, 1], 59, [503, 1], 1.001, [503, 2], 60.001, [200, 3], [200, 3], 60.001, [
      200,
      4,
    ]],
  ],
  [
    "sends no probe when a download has succeeded in the last minute",
    [200, 200],
    ["download", 59, [200, 1], "download", 59, [200, 2]],
  ],
  ["answers 503 without a probe when a download has failed", [500], ["download", [503, 1]]],
  [
    "answers 200 when a download fails soon after a success",
    [200, 500],
    ["download", 30, "download", [200, 2], 30.001, [503, 2]],
  ],
  ...[400, 413, 504].map((status): typeof histories[number] => [
    `probes when a download failed with ${status} because of its query`,
    [status, 200],
    ["download", [200, 2]],
  ]),
];
for (const [name, answers, steps] of histories) {
  test(`GET /readyz ${name}`, async () => {
    const responses = answers.map((status) =>
      status === 200 ? page([]) : Response.json({}, { status })
    );
    const { app, requests, clock } = overUpstream(responses);
    for (const step of steps) {
      if (step === "download") await download(app);
      else if (typeof step === "number") clock.advance(step * 1_000);
      else assertEquals([await statusOf(app), requests.length], step);
    }
  });
}

Deno.test("EdgeApp.request() returns 503 with the reason for /readyz when the key is rejected, also after a success", async () => {
  for (const status of [401, 403]) {
    const reply = () => Response.json({ message: "no k3y-of-a-test" }, { status });
    const known = status === 403 ? [reply] : [];
    const { app, log, clock } = overUpstream([page([]), reply, ...known, page([]), page([])]);
    await download(app);
    clock.advance(900_000); // a key that worked later than that is not taken for rejected
    await download(app);
    const response = await app.request("/readyz");
    assertEquals([response.status, response.headers.get("retry-after")], [503, "60"]);
    const { detail, hint } = await problemOf(response);
    assertMatch(
      detail,
      new RegExp(`^DataStream has rejected the API key since .* \\(status ${status}\\)$`),
    );
    assertEquals(hint, "set another API key (the log has the details)");
    assertEquals([log.length, log.join().includes("k3y")], [2, false]);
    clock.advance(59_000);
    assertEquals((await app.request("/readyz")).headers.get("retry-after"), "1");
    clock.advance(1_001);
    assertEquals(await statusOf(app), 200);
  }
});

Deno.test("EdgeApp.request() returns for /readyz since when the service does not answer, and why", async () => {
  const { app, clock } = overUpstream([broken(), page([]), new Error("reset")], { now: () => NOW });
  const detailOf = async () => (await problemOf(await app.request("/readyz"))).detail;
  assertEquals(await detailOf(), "DataStream has not answered since 13:48 UTC (status 500)");
  clock.advance(60_001);
  assertEquals(await statusOf(app), 200);
  clock.advance(60_001);
  assertEquals(await detailOf(), "DataStream has not answered since 13:48 UTC (connection broken)");
});

test("EdgeApp.request() returns 503 for /readyz when no response arrives within 10 s, and aborts the probe", async () => {
  const { app, requests, clock, log } = overUpstream([() => new Promise<Response>(() => {})]);
  assertEquals([await statusOf(app), clock.now()], [503, 10_000]);
  assertEquals(requests[0]!.signal.aborted, true);
  assertStringIncludes(log.join(), "Readiness probe failed: no response within 10 s");
});

test("EdgeApp.request() shares one probe between concurrent requests for /readyz", async () => {
  const { app, requests, clock } = overUpstream([() => clock.sleep(1_000).then(() => page([]))]);
  const statuses = await Promise.all(Array.from({ length: 20 }, () => statusOf(app)));
  assertEquals([new Set(statuses), requests.length], [new Set([200]), 1]);
});

test("EdgeApp.request() returns 503 for /readyz when the runtime has dropped the request with the probe", async () => {
  const { app, requests, clock } = overUpstream([() => new Promise(() => {}), page([])]);
  void app.request("/readyz");
  await clock.sleep(100);
  clock.dropTimers();
  const response = await app.request("/readyz");
  assertEquals([response.status, requests.length], [503, 1]);
  clock.advance(60_000);
  assertEquals([await statusOf(app), requests.length], [200, 2]);
});
