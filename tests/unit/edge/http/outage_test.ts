// During an outage, who waits hears that DataStream does not answer, since when and why, and the log says it once;
// recovery takes 3 s at most.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { DataStreamOptions } from "../../../../mod.ts";
import { test } from "../../../helpers/deadline.ts";
import { FakeClock } from "../../../helpers/fake_clock.ts";
import { overSandbox, problemOf } from "../../../helpers/edge.ts";
import { createSandbox } from "../../../../src/sandbox/service.ts";

const NOW = Date.UTC(2026, 10, 28, 10, 42);
const refused = () =>
  Promise.reject(
    new TypeError("fetch failed", {
      cause: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }),
    }),
  );

/** An app over a service that fails until a time of the clock (ms). */
function overOutage(fail: () => Promise<Response>, end: number) {
  let requests = 0;
  const clock = new FakeClock();
  const { fetch: answer, ...sandbox } = createSandbox({
    now: () => clock.now(),
    requestsPerSecond: Infinity,
  });
  const fetch: DataStreamOptions["fetch"] = (request) => {
    requests++;
    return clock.now() < end ? fail() : answer(request);
  };
  const { app, log } = overSandbox({}, {
    clock,
    fetch,
    apiKey: sandbox.apiKey,
    baseUrl: sandbox.url,
    now: () => NOW + clock.now(),
    retry: {},
  });
  return { app, log, clock, requests: () => requests };
}

for (
  const [name, fail, cause] of [
    ["refuses connections", refused, "connection refused"],
    ["responds with 503", () => Promise.resolve(new Response("", { status: 503 })), "status 503"],
  ] as const
) {
  test(`100 clients are told the outage, not a limit, when the service ${name}`, async () => {
    const { app, requests, clock } = overOutage(fail, Infinity);
    const responses = await Promise.all(Array.from({ length: 100 }, async (_, index) => {
      const response = await app.request(`/Records.csv?$filter=LocationId eq ${index + 1}`);
      const { detail, hint } = await problemOf(response);
      return { detail, hint, retryAfter: Number(response.headers.get("retry-after")) };
    }));
    for (const { detail, hint, retryAfter } of responses) {
      assertEquals(detail, `DataStream has not answered since 10:42 UTC (${cause})`);
      assertEquals([hint, retryAfter >= 2], [`try again after ${retryAfter} s`, true]);
    }
    // One request every 2 s after the first ones.
    assert(requests() <= clock.now() / 2_000 + 4, `${requests()} requests in ${clock.now()} ms`);
    const metrics = app.metrics();
    assertMatch(metrics, /weir_datastream_answering 0/);
    assertMatch(metrics, /weir_datastream_state{state="silent"} 1\n/);
    assertMatch(metrics, /weir_ready{reason="silent"} 0\n/);
    const [unavailable] = /^weir_unavailable_total{cause="outage"} .*$/m.exec(metrics)!;
    assertEquals(unavailable.split(" ")[1], "100");
  });
}

test("a waiting download continues within 3 s after an outage", async () => {
  for (const end of [4_000, 9_000, 17_000]) {
    const { app, log, clock } = overOutage(refused, end);
    const responses = ["/Locations.csv", "/Metadata.csv"].map((path) => app.request(path));
    const response = await responses[0]!;
    assertEquals((await response.text()).split("\r\n").length, 62);
    assert(clock.now() - end <= 3_000, `${clock.now() - end} ms after ${end} ms`);
    await (await responses[1]!).text();
    assertEquals(log.map((line) => line.replace(/^\S+ (\w+) \S+/, "$1")), [
      "warn DataStream has not answered since 10:42 UTC (connection refused)",
      "info DataStream answers again",
    ]);
  }
});

test("clients are told that the service is silent while a request has no answer", async () => {
  const { app } = overOutage(() => new Promise(() => {}), Infinity);
  const details = await Promise.all([1, 2, 3].map(async (id) => {
    const response = await app.request(`/Records.csv?$filter=LocationId eq ${id}`);
    return (await problemOf(response)).detail;
  }));
  for (const detail of details) {
    assertMatch(detail, /^DataStream has not answered since 10:4\d UTC \(no answer /);
  }
});
