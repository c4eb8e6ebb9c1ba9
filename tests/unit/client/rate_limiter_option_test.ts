// A limiter of the option `rateLimiter` gets no key, and a query loses no row when the limiter fails.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { DataStreamError, type RateLimiter } from "../../../mod.ts";
import type {
  Permit,
  PermitRequest,
  RateLimitTarget,
  ServiceOutcome,
  ServiceState,
} from "../../../src/client/rate_limiter.ts";
import { DEADLINE } from "../../helpers/deadline.ts";
import { overUpstream, problemOf } from "../../helpers/edge.ts";
import { page, retryingClient, ROOT } from "../../helpers/upstream.ts";
import { arrivingPage, pagedClient, range, readIds, splitBody } from "./paged_service.ts";

const KEY = "k3y-of-a-test";
const unreachable = (): Promise<never> => Promise.reject(new Error("connect ECONNREFUSED"));
const SERVICE: ServiceState = { is: "answering", age: 0, wait: 0, targetLength: 8_000 };
const hang = () => new Promise<never>(() => {});

/** Creates a limiter that gives a permit to every request, and records its calls. */
function recordingLimiter(changes: Partial<Permit> & Partial<RateLimiter> = {}) {
  const { acquire, report, ...members } = changes;
  const requests: PermitRequest[] = [];
  const reports: [RateLimitTarget, ServiceOutcome][] = [];
  const calls: string[] = [];
  const limiter: RateLimiter = {
    acquire(request, signal) {
      requests.push(request);
      if (acquire !== undefined) return acquire(request, signal);
      const number = requests.length;
      return Promise.resolve({
        responded: () => void calls.push(`responded ${number}`),
        extend: () => {},
        release: (outcome) => void calls.push(`release ${number} ${outcome}`),
        ...members,
      });
    },
    report(target, outcome) {
      if (outcome !== undefined) reports.push([target, outcome]);
      return report?.(target, outcome) ?? SERVICE;
    },
  };
  return { limiter, requests, reports, calls };
}

const test = (name: string, run: () => Promise<void>) => Deno.test(name, DEADLINE, run);
const busy = (retryAfter: number, status = 429) =>
  new Response("", { status, headers: { "retry-after": `${retryAfter}` } });

test("rateLimiter gets the origin, the rate and the SHA-256 of the key, not the key", async () => {
  const { limiter, requests, reports, calls } = recordingLimiter();
  const { client } = retryingClient([busy(3), page([])], { rateLimiter: limiter });
  await client.metadata().toArray();
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(KEY));
  const target = { origin: new URL(ROOT).origin, keyHash: new Uint8Array(digest).toHex() };
  const request = { ...target, requestsPerSecond: 2, maxWait: undefined };
  assertEquals(requests, [request, request]);
  assertEquals(reports, [[target, { is: "blocked", cause: 429, wait: 3_000 }]]);
  assertEquals(calls, [
    "responded 1",
    "release 1 undefined",
    "responded 2",
    "release 2 success",
  ]);
});

test("a query fails without a request when the limiter refuses a permit", async () => {
  const { limiter, requests } = recordingLimiter({
    acquire: () => Promise.resolve({ retryAfter: 21_500 }),
  });
  const { client, times } = retryingClient([], { rateLimiter: limiter });
  const message = "The rate limit of DataStream delays the request for too long: try again in 22 s";
  const error = await assertRejects(() => client.metadata().toArray(), DataStreamError, message);
  assertEquals([error.kind, error.status, error.retryAfter], ["rate-limit", undefined, 21_500]);
  assertEquals([requests.length, times.length], [1, 0]);
});

const failures: [name: string, acquire: RateLimiter["acquire"], reason: string][] = [
  ["rejects", unreachable, "(connect ECONNREFUSED)"],
  ["never answers", hang, "(no answer within 22 s)"],
  ["resolves to undefined", () => Promise.resolve(undefined as never), "(Cannot use"],
  ["has no number", () => Promise.resolve({ retryAfter: NaN }), "(retryAfter must be a number"],
];
for (const [name, acquire, reason] of failures) {
  test(`createApp() responds with 503 when acquire() ${name}`, async () => {
    const { limiter } = recordingLimiter({ acquire });
    const { app, log } = overUpstream([], { rateLimiter: limiter, cacheTtl: 0 });
    const response = await app.request("/Locations.csv");
    assertEquals([response.status, response.headers.get("retry-after")], [503, "5"]);
    const { detail, hint } = await problemOf(response);
    assertEquals(detail, "The rate limiter of this server failed");
    assertStringIncludes(hint, "send the operator of this server the request id");
    assert(log.some((line) => line.includes(`The rate limiter failed ${reason}`)));
  });
}

test("a query that is aborted while the limiter waits rejects, and returns a late permit", async () => {
  const outcomes: unknown[] = [];
  const permit: Permit = {
    responded() {},
    extend() {},
    release: (outcome) => void outcomes.push(outcome),
  };
  const { limiter } = recordingLimiter({ acquire: () => clock.sleep(2_000).then(() => permit) });
  const { client, clock, times } = retryingClient([], { rateLimiter: limiter });
  const stop = new AbortController();
  clock.sleep(1_000).then(() => stop.abort("left"));
  const rows = client.metadata({ signal: stop.signal }).toArray();
  assertEquals([await rows.catch((reason) => reason), clock.now()], ["left", 1_000]);
  await clock.sleep(2_000);
  assertEquals([outcomes, times], [[undefined], []]);
});

test("a query gives the limiter less time after each failure when maxWait is set", async () => {
  const { limiter, requests } = recordingLimiter({
    acquire: () => clock.sleep(8_000).then(unreachable),
  });
  const { client, clock } = retryingClient([], { rateLimiter: limiter, maxWait: 20_000 });
  await assertRejects(() => client.metadata().toArray(), DataStreamError, "limiter failed");
  const waits = requests.map(({ maxWait }) => maxWait!);
  assert(waits.length === 3 && waits[1]! <= 12_000 && waits[2]! <= 4_000, `waits of ${waits}`);
});

test("maxWait limits the sum of the waits of each query, also those of Retry-After", async () => {
  const responses = [busy(15), page([]), busy(8, 503), busy(8), busy(8)];
  const { client, times } = retryingClient(responses, { maxWait: 20_000 });
  await client.metadata().toArray();
  const error = await assertRejects(() => client.metadata().toArray(), DataStreamError, "429");
  assertEquals([error.retryAfter, times.length], [8_000, 5]);
});

const losses = { "resolves to false": () => Promise.resolve(false), "rejects": unreachable };
for (const [name, lose] of Object.entries(losses)) {
  test(`a query sends a request again without losing rows when extend() ${name}`, async () => {
    let isLost = true;
    const { limiter, requests } = recordingLimiter({
      extend() {
        if (clock.now() < 3_000 || !isLost) return;
        isLost = false;
        return lose();
      },
    });
    const ids = range(1, 50);
    const { client, clock } = pagedClient({
      ids,
      change(page, { number }) {
        const [start, rest] = splitBody(page.ids, 49);
        return number > 1 ? page : arrivingPage(clock, [start, 10_000, rest]);
      },
    }, { rateLimiter: limiter });
    const found = await readIds(client.locations({ select: ["Id"] }));
    assertEquals([found, requests.length], [{ ids, error: undefined }, 3]);
    assert(clock.now() < 10_000, `ended at ${clock.now()}`);
  });
}

test("a query succeeds when responded() and release() fail", async () => {
  const failing = () => {
    throw new Error("gone");
  };
  for (const fail of [failing, unreachable]) {
    const { limiter } = recordingLimiter({ responded: fail, release: fail });
    const { client } = retryingClient([page([{ Id: "1" }])], { rateLimiter: limiter });
    assertEquals((await client.metadata().toArray()).length, 1);
  }
});

test("a query applies the delay of a 429 itself when report() fails or is absent", async () => {
  const { limiter } = recordingLimiter({ report: unreachable });
  for (const rateLimiter of [limiter, { acquire: limiter.acquire }]) {
    const { client, times } = retryingClient([busy(7), page([])], { rateLimiter });
    await client.metadata().toArray();
    assertEquals(times, [0, 7_000]);
  }
});

for (const [call, status] of [["responded", 200], ["report", 429]] as const) {
  test(`a query cancels the body, and rejects with the reason of its signal, when that aborts in ${call}()`, async () => {
    const stop = new AbortController();
    const abort = () => {
      stop.abort("enough");
      return hang();
    };
    const { limiter } = recordingLimiter({ [call]: abort });
    let isCancelled = false;
    const body = new ReadableStream({ cancel: () => void (isCancelled = true) });
    const response = new Response(body, { status });
    const { client } = retryingClient([response], { rateLimiter: limiter });
    const rows = client.metadata({ signal: stop.signal }).toArray();
    assertEquals([await rows.catch((error) => error), isCancelled], ["enough", true]);
  });
}
