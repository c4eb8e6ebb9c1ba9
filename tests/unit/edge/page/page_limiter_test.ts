// Downloads while people use the page.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import type {
  Permit,
  PermitRefusal,
  PermitRequest,
  RateLimiter,
} from "../../../../src/client/rate_limiter.ts";
import { createApp, type EdgeApp } from "../../../../edge/app.ts";
import { createPageLimits } from "../../../../edge/page/page_limiter.ts";
import { createSandbox } from "../../../../src/sandbox/service.ts";
import { DEADLINE, LONG_DEADLINE } from "../../../helpers/deadline.ts";
import { FakeClock } from "../../../helpers/fake_clock.ts";

/** Time (ms) that the service takes to respond. */
const LATENCY = 170;
/** Interval (ms) between two requests to the service. */
const INTERVAL = 530;

/** Creates an app over a sandbox with two requests per second. */
function createBusyApp(): { app: EdgeApp; clock: FakeClock; times: [at: number, path: string][] } {
  const clock = new FakeClock();
  const times: [number, string][] = [];
  const sandbox = createSandbox({ now: () => clock.now(), records: 100_000 });
  const app = createApp({
    access: "public",
    apiKey: sandbox.apiKey,
    baseUrl: sandbox.url,
    maxRows: Infinity,
    clock,
    cacheTtl: 0, // each download needs its own requests
    log: () => {},
    fetch: async (request) => {
      times.push([clock.now(), new URL(request.url).pathname]);
      const response = await sandbox.fetch(request);
      await clock.sleep(LATENCY);
      return response;
    },
  });
  return { app, clock, times };
}

/** Repeats requests for previews, which are not cached, until a signal aborts. Returns their statuses. */
async function loopOnPage(
  app: EdgeApp,
  clock: FakeClock,
  name: number,
  signal: AbortSignal,
): Promise<number[]> {
  const statuses: number[] = [];
  while (!signal.aborted) {
    const year = 1950 + (statuses.length * 5 + name) % 70;
    const path =
      `/?endpoint=Records&from=${year}&west=-60.${statuses.length}&south=40&east=-50&north=50`;
    const response = await app.request(path);
    await response.text();
    statuses.push(response.status);
    await clock.sleep(100);
  }
  return statuses;
}

/** Returns the average time (ms) of downloads with a pause between them. */
async function measureDownloads(
  loopers: number,
  rows: number,
  downloads: number,
): Promise<number> {
  const { app, clock } = createBusyApp();
  const end = new AbortController();
  const loops = Array.from({ length: loopers }, (_, i) => loopOnPage(app, clock, i, end.signal));
  let sum = 0;
  for (let index = 0; index < downloads; index++) {
    await clock.sleep(3_000 + 137 * index);
    const start = clock.now();
    const response = await app.request(`/Records.csv?$select=Id&limit=${rows}`);
    assertEquals((await response.text()).split("\r\n").length, rows + 2);
    sum += clock.now() - start;
  }
  end.abort();
  await Promise.all(loops);
  return sum / downloads;
}

Deno.test(
  "GET / delays a download of one page by less than a request when five people repeat previews",
  DEADLINE,
  async () => {
    const alone = await measureDownloads(0, 1_000, 8);
    const withLoopers = await measureDownloads(5, 1_000, 8);
    assert(alone >= LATENCY && alone < 2 * LATENCY);
    assert(withLoopers < alone + INTERVAL, `${withLoopers} ms, alone ${alone} ms`);
  },
);

Deno.test(
  "GET / takes at most a quarter of the rate of a long download when five people repeat previews",
  LONG_DEADLINE,
  async () => {
    const alone = await measureDownloads(0, 50_000, 2);
    const withLoopers = await measureDownloads(5, 50_000, 2);
    assert(withLoopers < alone * 4 / 3, `${withLoopers} ms, alone ${alone} ms`);
    assert(withLoopers > alone * 9 / 8, "the page sends no requests");
  },
);

Deno.test(
  "GET / uses nearly the whole rate when no download is running, and returns 200 or 503",
  DEADLINE,
  async () => {
    const { app, clock, times } = createBusyApp();
    const end = new AbortController();
    const loops = [0, 1, 2, 3, 4].map((name) => loopOnPage(app, clock, name, end.signal));
    await clock.sleep(60_000);
    const requests = times.length;
    end.abort();
    const statuses = new Set((await Promise.all(loops)).flat());
    assert(requests > 0.8 * 60_000 / INTERVAL, `${requests} requests in a minute`);
    assertEquals([...statuses].sort(), [200, 503]);
  },
);

/** A limiter that records its calls, and answers when the test says so. */
function createRecorder() {
  const calls: PermitRequest[] = [];
  let answer: Permit | PermitRefusal = permit;
  let gate = Promise.resolve();
  const limiter: RateLimiter = {
    async acquire(request, signal) {
      calls.push(request);
      await gate;
      signal?.throwIfAborted();
      return answer;
    },
    penalize: () => {},
  };
  return {
    calls,
    limiter,
    refuse: () => answer = { retryAfter: 5_000 },
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return resolve;
    },
  };
}

const permit: Permit = { responded() {}, extend() {}, release() {} };
const request: PermitRequest = { origin: "https://a.example", keyHash: "k", requestsPerSecond: 2 };

Deno.test(
  "createPageLimits() lets one request wait in the queue, and the next one after four intervals",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    const { calls, limiter, hold } = createRecorder();
    const page = createPageLimits(() => true, clock)(limiter);
    const release = hold();
    const first = page.acquire({ ...request, maxWait: 20_000 });
    const second = page.acquire(request);
    await clock.sleep(5_000);
    assertEquals(calls, [{ ...request, maxWait: 20_000 }]);
    release();
    assertEquals(await first, permit);
    const start = clock.now();
    assertEquals(await second, permit);
    assert(clock.now() - start >= 2_000 && clock.now() - start <= 2_200);
    assertEquals(calls[1], { ...request, maxWait: undefined });
  },
);

Deno.test(
  "createPageLimits() requests a free permit until there is one when no download is running",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    let isFree = true;
    const { calls, limiter } = createRecorder();
    const page = createPageLimits(() => false, clock)({
      ...limiter,
      async acquire(request, signal) {
        const result = await limiter.acquire(request, signal);
        return isFree ? result : { retryAfter: 500 };
      },
    });
    await page.acquire(request);
    isFree = false;
    const waiting = page.acquire(request);
    await clock.sleep(1_000);
    isFree = true;
    assertEquals(await waiting, permit);
    assert(clock.now() < 1_200);
    assert(calls.length > 8);
    assertEquals(new Set(calls.slice(1).map(({ maxWait }) => maxWait)), new Set([0]));
  },
);

Deno.test(
  "createPageLimits() refuses a request after its maximum wait, and lets the next one enter the queue",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    const { calls, limiter, hold, refuse } = createRecorder();
    const page = createPageLimits(() => true, clock)(limiter);
    const release = hold();
    const first = page.acquire(request);
    assertEquals(await page.acquire({ ...request, maxWait: 1_000 }), { retryAfter: 2_000 });
    assertEquals([clock.now(), calls.length], [1_000, 1]);
    refuse();
    release();
    assertEquals(await first, { retryAfter: 5_000 });
    assertEquals(await page.acquire(request), { retryAfter: 5_000 });
  },
);

Deno.test(
  "createPageLimits() lets another request enter the queue when the one before it is aborted or dropped",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    const { calls, limiter, hold } = createRecorder();
    const page = createPageLimits(() => true, clock)(limiter);
    const release = hold();
    const left = new AbortController();
    const first = page.acquire(request, left.signal);
    const second = page.acquire(request, left.signal);
    await clock.sleep(1_000);
    left.abort(new Error("left"));
    await assertRejects(() => second, Error, "left");
    release();
    await assertRejects(() => first, Error, "left");
    hold();
    void page.acquire(request); // its runtime drops it
    await clock.sleep(1_000);
    assertEquals(calls.length, 2);
    clock.dropTimers();
    void page.acquire(request);
    await clock.sleep(20_000);
    assertEquals(calls.length, 2);
    await clock.sleep(20_000);
    assertEquals(calls.length, 3);
  },
);
