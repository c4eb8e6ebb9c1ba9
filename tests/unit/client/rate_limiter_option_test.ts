// A limiter of the option `rateLimiter` gets no key, and a query loses no row when the limiter fails.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { DataStreamError, type RateLimiter } from "../../../mod.ts";
import type { Permit, PermitRequest, RateLimitTarget } from "../../../src/client/rate_limiter.ts";
import { type Answer, createLimiter, sendUntilAnswered } from "../../../src/client/rate_limiter.ts";
import { DEADLINE } from "../../helpers/deadline.ts";
import { overUpstream, problemOf } from "../../helpers/edge.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import { arrivingPage } from "./paged_service.ts";
import { page, retryingClient, ROOT } from "../../helpers/upstream.ts";

const KEY = "k3y-of-a-test";
const unreachable = (): Promise<never> => Promise.reject(new Error("connect ECONNREFUSED"));

/** Creates a limiter that gives a permit to every request, and records its calls. */
function recordingLimiter(changes: Partial<Permit> & Partial<RateLimiter> = {}) {
  const { acquire, penalize, ...members } = changes;
  const requests: PermitRequest[] = [];
  const penalties: [RateLimitTarget, number][] = [];
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
    penalize(target, blockTime) {
      penalties.push([target, blockTime]);
      return penalize?.(target, blockTime);
    },
  };
  return { limiter, requests, penalties, calls };
}

const test = (name: string, run: () => Promise<void>) => Deno.test(name, DEADLINE, run);

test("rateLimiter gets the origin, the rate and the SHA-256 of the key, not the key", async () => {
  const { limiter, requests, penalties, calls } = recordingLimiter();
  const tooMany = new Response("", { status: 429, headers: { "retry-after": "3" } });
  const { client } = retryingClient([tooMany, page([]), page([])], { rateLimiter: limiter });
  await client.metadata().toArray();
  await client.metadata().toArray();
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(KEY));
  const keyHash = [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
  const target = { origin: new URL(ROOT).origin, keyHash };
  const request = { ...target, requestsPerSecond: 2, maxWait: undefined };
  assertEquals(requests, [request, request, request]);
  assertEquals(penalties, [[target, 3_000]]);
  assertEquals(calls, [
    "responded 1",
    "release 1 undefined",
    "responded 2",
    "release 2 success",
    "responded 3",
    "release 3 success",
  ]);
});

test("a query fails without a request when the limiter refuses a permit", async () => {
  const acquire = () => Promise.resolve({ retryAfter: 21_500 });
  const { limiter, requests } = recordingLimiter({ acquire });
  const { client, times } = retryingClient([], { rateLimiter: limiter });
  const error = await assertRejects(() => client.metadata().toArray(), DataStreamError);
  assertEquals([error.kind, error.status, error.retryAfter], ["rate-limit", undefined, 21_500]);
  assertEquals(
    error.message,
    "The rate limit of DataStream delays the request for too long: try again in 22 s",
  );
  assertEquals([requests.length, times.length], [1, 0]);
});

for (
  const [name, acquire, reason] of [
    ["rejects", unreachable, "(connect ECONNREFUSED)"],
    ["never answers", () => new Promise<never>(() => {}), "(no answer within 22 s)"],
    ...[undefined, "granted", { retryAfter: NaN }].map((result) =>
      [
        `resolves to ${JSON.stringify(result)}`,
        () => Promise.resolve(result as never),
        "(",
      ] as const
    ),
  ] as const
) {
  test(`createApp() responds with 503 when acquire() ${name}`, async () => {
    const { app, log } = overUpstream([], {
      rateLimiter: recordingLimiter({ acquire }).limiter,
      cacheTtl: 0,
    });
    const response = await app.request("/Locations.csv");
    assertEquals([response.status, response.headers.get("retry-after")], [503, "5"]);
    const { detail, hint } = await problemOf(response);
    assertEquals(detail, "The rate limiter of this server failed");
    assertStringIncludes(hint, "send the operator of this server the request id");
    assert(log.some((line) => line.includes(`The rate limiter failed ${reason}`)));
  });
}

test("a query that is aborted while the limiter never answers rejects, and returns a late permit", async () => {
  const { promise, resolve } = Promise.withResolvers<Permit>();
  const { limiter } = recordingLimiter({ acquire: () => promise });
  const { client, times } = retryingClient([], { rateLimiter: limiter });
  const signal = AbortSignal.abort("left");
  const started = new AbortController();
  const rows = client.metadata({ signal: started.signal }).toArray();
  await Promise.resolve();
  started.abort(signal.reason);
  assertEquals(await rows.catch((reason) => reason), "left");
  const outcomes: unknown[] = [];
  resolve({
    responded: () => {},
    extend: () => {},
    release: (outcome) => void outcomes.push(outcome),
  });
  await promise;
  assertEquals([outcomes, times], [[undefined], []]);
});

test("a query of a server fails after its maximum wait when the limiter fails slowly", async () => {
  const acquire = async () => {
    await clock.sleep(8_000);
    return unreachable();
  };
  const { limiter, requests } = recordingLimiter({ acquire });
  const { client, clock } = retryingClient([], { rateLimiter: limiter, maxWait: 20_000 });
  const error = await assertRejects(() => client.metadata().toArray(), DataStreamError);
  assertEquals(error.kind, "rate-limit");
  // The waits and delays so far reduce the wait of the next attempt.
  const waits = requests.map(({ maxWait }) => maxWait!);
  assert(waits[1]! <= 12_000 && waits[2]! <= 4_000, `waits of ${waits}`);
  assertEquals(waits.length, 3);
});

for (
  const [name, lose] of Object.entries<Permit["extend"]>({
    "resolves to false": () => Promise.resolve(false),
    "rejects": unreachable,
  })
) {
  test(`a query sends a request again without losing rows when extend() ${name}`, async () => {
    let isLost = true;
    const extend = (): ReturnType<Permit["extend"]> => {
      if (clock.now() >= 3_000 && isLost) {
        isLost = false;
        return lose();
      }
    };
    const { limiter, requests } = recordingLimiter({ extend });
    const rows = Array.from({ length: 50 }, (_, index) => ({ Id: index + 1 }));
    const text = JSON.stringify({ value: rows });
    const { client, clock, times } = retryingClient([
      () => arrivingPage(clock, [text.slice(0, -12), 10_000, text.slice(-12)]),
      (request) => {
        const after = Number(new URL(request.url).searchParams.get("$skiptoken")?.slice(3) ?? 0);
        return page(rows.filter(({ Id }) => Id > after));
      },
      Response.json({ value: rows.length }),
    ], { rateLimiter: limiter });
    const csv = await new Response(client.locations({ select: ["Id"] }).csv()).text();
    assertEquals(csv.trim().split(/\r?\n/), ["Id", ...rows.map(({ Id }) => `${Id}`)]);
    assertEquals(requests.length, 3);
    assert(times[1]! < 10_000, `sent again at ${times[1]}`);
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

test("a query cancels the body when its signal aborts in responded()", async () => {
  const stop = new AbortController();
  const { limiter } = recordingLimiter({ responded: () => stop.abort("enough") });
  let isCancelled = false;
  const body = new ReadableStream({ cancel: () => void (isCancelled = true) });
  const { client } = retryingClient([new Response(body)], { rateLimiter: limiter });
  const reason = await client.metadata({ signal: stop.signal }).toArray().catch((error) => error);
  assertEquals([reason, isCancelled], ["enough", true]);
});

test("a query applies the delay of a 429 itself when penalize() fails", async () => {
  const { limiter, penalties } = recordingLimiter({ penalize: unreachable });
  const tooMany = new Response("", { status: 429, headers: { "retry-after": "7" } });
  const { client, times } = retryingClient([tooMany, page([])], { rateLimiter: limiter });
  await client.metadata().toArray();
  assertEquals([times, penalties.length], [[0, 7_000], 1]);
});

test("a query rejects with the reason of its signal when penalize() hangs", async () => {
  const stop = new AbortController();
  const penalize = () => {
    stop.abort("enough");
    return new Promise<void>(() => {});
  };
  const { limiter } = recordingLimiter({ penalize });
  const { client } = retryingClient([new Response("", { status: 429 })], { rateLimiter: limiter });
  const reason = await client.metadata({ signal: stop.signal }).toArray().catch((error) => error);
  assertEquals(reason, "enough");
});

const REQUEST: PermitRequest = { origin: ROOT, keyHash: undefined, requestsPerSecond: 2 };
const hang = () => new Promise<never>(() => {});

/** Creates a limiter whose store answers in a given way, and the names of the calls. */
function sharedLimiter(
  acquire: () => Promise<Answer>,
  other = () => Promise.resolve(),
  isHeld = true,
) {
  const clock = new FakeClock();
  const calls: string[] = [];
  const call = <T>(name: string, answer: () => Promise<T>) => {
    calls.push(name);
    return answer();
  };
  const queue = {
    acquire: () => call("acquire", acquire),
    extend: () => call("extend", () => other().then(() => isHeld)),
    release: () => call("release", other),
    penalize: () => call("penalize", other),
  };
  const limiter = createLimiter(() => queue, clock, sendUntilAnswered(clock));
  return { limiter, clock, calls };
}

test("createLimiter() gives no permit when its store gives an unknown answer", async () => {
  for (const answer of [{}, { status: "held" }, null]) {
    const { limiter } = sharedLimiter(() => Promise.resolve(answer as never));
    await assertRejects(() => limiter.acquire(REQUEST));
  }
});

test("createLimiter() rejects within 10 s when its store does not answer or fails", async () => {
  for (
    const [fail, message] of [[hang, "did not answer"], [unreachable, "ECONNREFUSED"]] as const
  ) {
    const { limiter, clock, calls } = sharedLimiter(fail, fail);
    await assertRejects(() => limiter.acquire(REQUEST), Error, message);
    assert(clock.now() > 9_000 && clock.now() <= 10_000, `rejected at ${clock.now()}`);
    await assertRejects(async () => await limiter.penalize(REQUEST, 1), Error, message);
    assert(clock.now() <= 20_000, `rejected at ${clock.now()}`);
    assert(calls.includes("penalize"));
  }
});

for (const isHeld of [true, false]) {
  test(`createLimiter() ${isHeld ? "extends" : "does not use"} a permit that arrives late when it ${isHeld ? "is valid" : "has expired"}`, async () => {
    let delay = 3_000;
    const acquire = async (): Promise<Answer> => {
      await clock.sleep(delay);
      delay = 0;
      return { granted: true };
    };
    const { limiter, clock, calls } = sharedLimiter(acquire, undefined, isHeld);
    await limiter.acquire(REQUEST);
    assertEquals(calls, ["acquire", "extend", ...isHeld ? [] : ["acquire"]]);
  });
}
