// A request is answered in time although the service, the rate limit or the memory makes it wait.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { test } from "../../../helpers/deadline.ts";
import { overUpstream } from "../../../helpers/edge.ts";
import type { FakeClock } from "../../../helpers/fake_clock.ts";
import { page, ROOT } from "../../../helpers/upstream.ts";

const RETRY = { retry: {} };
/** Paths whose first request to the service is for a page of rows, a count, citations and the web page. */
const PATHS = ["/Records.csv", "/Records?$count=true", "/Citations.txt", "/"];

/** Creates a response that asks to wait. */
const busy = (status: number, seconds: number) => () =>
  Response.json({}, { status, headers: { "retry-after": String(seconds) } });
const never = () => new Promise<Response>(() => {});

/** Creates a response whose body arrives in parts, with a pause before each. */
const inParts = (clock: () => FakeClock, parts: string[], pause: number) => () => {
  const left = [...parts];
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await clock().sleep(pause);
      const part = left.shift();
      if (part === undefined) controller.close();
      else controller.enqueue(new TextEncoder().encode(part));
    },
  }, { highWaterMark: 0 });
  return new Response(body, { headers: { "content-type": "application/json" } });
};

test("EdgeApp.request() returns 503 immediately when the service asks to wait for more than 20 s, and sends no request until then", async () => {
  const unknownVersions = "/Records.csv?$filter=DOI eq '10.25976/x'";
  // A status of 503 delays only its own request.
  const cases = [[429, 71, [...PATHS, unknownVersions]], [503, 21, []]] as const;
  for (const [status, wait, delayed] of cases) {
    for (const first of PATHS) {
      const { app, requests, clock, log } = overUpstream([busy(status, wait)], RETRY);
      let seconds: number = wait;
      for (const path of [first, ...delayed]) {
        const response = await app.request(path);
        assertEquals(
          [response.status, response.headers.get("retry-after")],
          [503, `${seconds}`],
          path,
        );
        assertStringIncludes(await response.text(), `try again after ${seconds} s`);
        assert(clock.now() < 1_000 * (wait - seconds + 1), path);
        clock.advance(10_000);
        seconds -= 10;
      }
      const cause = status === 429 ? "block" : "outage";
      const count = 1 + delayed.length;
      assertStringIncludes(app.metrics(), `weir_unavailable_total{cause="${cause}"} ${count}\n`);
      assertEquals(requests.length, 1);
      assertEquals(log.length, 2); // the first response, and the state of the service
    }
  }
});

test("EdgeApp.request() returns 503 after 20 s when the requests in the queue take longer", async () => {
  const slow = () => clock.sleep(3_000).then(() => page([{ Id: 1 }]));
  const { app, clock, log } = overUpstream(new Array(10).fill(slow), RETRY);
  const results = await Promise.all(Array.from({ length: 10 }, async () => {
    const { status, headers, body } = await app.request("/Records.csv?$select=Id");
    await body?.cancel();
    return { status, retryAfter: Number(headers.get("retry-after")), time: clock.now() };
  }));
  const refused = results.filter(({ status }) => status === 503);
  assertEquals(refused.length, 3);
  assert(refused.every(({ time, retryAfter }) => time <= 20_000 && retryAfter >= 1));
  assertEquals(log, []);
  assertStringIncludes(app.metrics(), 'weir_unavailable_total{cause="wait"} 3\n');
  assertStringIncludes(app.metrics(), "weir_upstream_duration_seconds_sum 21\n");
  const waits = /weir_rate_limit_wait_seconds_sum (.*)\n/.exec(app.metrics())?.[1];
  // The others began after 0, 3, … 18 s.
  assert(Number(waits) >= 63 + 3 * 19, waits);
});

test("EdgeApp.request() completes a download whose second page has to wait for 100 s", async () => {
  for (const status of [429, 503]) {
    const { app, clock } = overUpstream([
      page([{ Id: 1 }], `${ROOT}/Records?$skiptoken=Id:1`),
      Response.json({ value: 2 }),
      busy(status, 100),
      page([{ Id: 2 }]),
    ], { ...RETRY, readerTimeout: 60_000 });
    const response = await app.request("/Records.csv?$select=Id");
    assertEquals(await response.text(), '"Id"\r\n1\r\n2\r\n');
    assert(clock.now() > 100_000);
  }
});

for (const path of PATHS) {
  test(`EdgeApp.request() returns 504 after 60 s when the service does not respond: ${path}`, async () => {
    const { app, requests, clock, log } = overUpstream(new Array(6).fill(never), RETRY);
    const response = await app.request(path);
    assertEquals(response.status, 504);
    const text = await response.text();
    assertMatch(text, /DataStream has not answered since \d\d:\d\d UTC \(no answer within 45 s\)/);
    // The 60 s begin with the request for the versions of the datasets, if there is one.
    assertEquals([requests.length, Math.round(clock.now() / 1_000)], [2, 60]);
    assertEquals(log.length, 2);
    assertStringIncludes(log[0]!, "DataStream has not answered since ");
    assertStringIncludes(log[1]!, "DataStream sent nothing for 60 s");
    assert(requests.every(({ signal }) => signal.aborted));
  });
}

test("EdgeApp.request() completes a download whose first page arrives slowly for 200 s", async () => {
  const rows = Array.from({ length: 8 }, (_, index) => `${index === 0 ? "" : ","}{"Id":${index}}`);
  const parts = ['{"value":[', ...rows, "]}"];
  const { app, clock } = overUpstream([inParts(() => clock, parts, 20_000)], {
    ...RETRY,
    maxRows: 10,
  });
  const response = await app.request("/Records.csv?$select=Id");
  assertEquals([response.status, (await response.text()).split("\r\n").length], [200, 10]);
  assert(clock.now() > 200_000);
});

test("EdgeApp.request() returns 504 60 s after the client of a shared download has left when the service does not respond", async () => {
  const { app, clock } = overUpstream(new Array(9).fill(never), { cacheTtl: 60_000, retry: {} });
  const client = new AbortController();
  const first = app.request("/Records.csv", { signal: client.signal });
  const second = app.request("/Records.csv");
  await clock.sleep(30_000);
  client.abort();
  assertEquals([(await first).status, (await second).status], [499, 504]);
  assert(clock.now() < 92_000, `${clock.now()} ms`);
});

test("EdgeApp.request() completes later downloads when the rate limiter never answers a request", async () => {
  const permit = { responded() {}, extend() {}, release() {} };
  let calls = 0;
  const { app } = overUpstream([page([{ Id: 1 }])], {
    rateLimiter: {
      acquire: () => calls++ === 0 ? new Promise(() => {}) : Promise.resolve(permit),
    },
  });
  assertEquals((await app.request("/Records.csv")).status, 503);
  const response = await app.request("/Records.csv?$select=Id");
  assertEquals(await response.text(), '"Id"\r\n1\r\n');
});

test("EdgeApp.request() disconnects a client that reads nothing when its page blocks the requests of others", async () => {
  const row = (Id: number) =>
    `${Id > 0 ? "," : ""}{"Id":${Id},"ResultComment":"${"x".repeat(100_000)}"}`;
  const parts = ['{"value":[', ...Array.from({ length: 30 }, (_, Id) => row(Id)), "]}"];
  const long = inParts(() => clock, parts, 100);
  const { app, clock, log } = overUpstream([long, page([{ Id: 1 }])], {
    maxCachedBytes: 1_000_000,
  });
  const stalled = await app.request("/Records.csv?$select=Id,ResultComment");
  const reader = stalled.body!.getReader();
  await reader.read();
  const other = app.request("/Locations.csv?$select=Id");
  assertEquals([(await other).status, await (await other).text()], [200, '"Id"\r\n1\r\n']);
  assert(clock.now() < 20_000, `${clock.now()} ms`);
  await clock.sleep(1_000);
  assertStringIncludes(log.join(), "another client needed its memory");
  await reader.cancel().catch(() => {});
});
