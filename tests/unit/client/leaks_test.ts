// After each end of each stream: no listener, no timer and no permit of the rate limiter is left.
import "../../helpers/no_permission.ts";
import { assert, assertEquals } from "@std/assert";
import { DataStreamError } from "../../../mod.ts";
import { DEADLINE } from "../../helpers/deadline.ts";
import { ListenerCount } from "./listener_count.ts";
import { arrivingPage, pagedClient, range } from "./paged_service.ts";

/** Time (ms) between two requests at the default rate. */
const GAP = 530;

/** Lets everything settle that needs no timer; the fake clock does not move. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 200; turn++) await Promise.resolve();
}

/** Response to a request: a page, a status, no response, or a body that does not end. */
type Answer = "page" | 503 | 400 | "none" | "half a page";

/** Creates a client of a service with three pages, whose first answers are given. */
function serve(answers: readonly Answer[]) {
  const service = pagedClient({ ids: range(1, 6) });
  const { clock } = service;
  /** Start times of the requests. */
  const starts: number[] = [];
  /** Requests that get no response. */
  const hanging: Request[] = [];
  const waiting = new Map<number, () => void>();
  const fetch = async (request: Request): Promise<Response> => {
    starts.push(clock.now());
    waiting.get(starts.length)?.();
    const answer = answers[starts.length - 1] ?? "page";
    if (answer === "page") return await service.fetch(request);
    if (answer === "half a page") return arrivingPage(clock, ['{"value":['], "hang");
    if (answer !== "none") return new Response("", { status: answer });
    hanging.push(request);
    return await new Promise(() => {});
  };
  const client = service.client.with({ fetch });
  const stop = new AbortController();
  return {
    client,
    query: client.locations({ top: 2, select: ["Id"], signal: stop.signal }),
    clock,
    starts,
    hanging,
    stop,
    /** Resolves when the request of that number, from 1, is sent. */
    sent(number: number): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.set(number, resolve);
      return promise;
    },
    /** Resolves when the code under test waits by the clock. */
    sleeps(): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      const { sleep } = clock;
      clock.sleep = (milliseconds, signal) => {
        // Longer sleeps are those of the timeouts, which check at an interval of one second.
        if (milliseconds < 1_000) resolve();
        return sleep.call(clock, milliseconds, signal);
      };
      return promise.finally(() => clock.sleep = sleep);
    },
  };
}

type Service = ReturnType<typeof serve>;

/** Checks that nothing is left of a query that has ended, also no request in flight, and that the next one starts in time. */
async function assertNothingLeft(
  { client, clock, starts, hanging }: Service,
  listeners: ListenerCount,
): Promise<void> {
  const left = async () => {
    await settle();
    return { timers: clock.pending, listeners: listeners.left };
  };
  assertEquals(await left(), { timers: 0, listeners: 0 });
  assert(hanging.every(({ signal }) => signal.aborted));
  const earliest = Math.max(clock.now(), (starts.at(-1) ?? -Infinity) + GAP);
  await client.metadata({ limit: 2 }).toArray();
  assertEquals(starts.at(-1), earliest);
  assertEquals(await left(), { timers: 0, listeners: 0 });
}

/** Registers a test that nothing is left of a call. */
function testLeaks(name: string, answers: readonly Answer[], run: (service: Service) => unknown) {
  Deno.test(name, DEADLINE, async () => {
    using listeners = new ListenerCount();
    const service = serve(answers);
    await run(service);
    await assertNothingLeft(service, listeners);
  });
}

async function fails(work: Promise<unknown>): Promise<void> {
  assert(await work.catch((error) => error) instanceof DataStreamError);
}

/** Starts to read a stream, and returns as soon as a promise resolves. */
async function readUntil(stream: ReadableStream<unknown>, reached: Promise<void>) {
  const reader = stream.getReader();
  const reading = (async () => {
    while (!(await reader.read()).done);
  })().catch((error) => error);
  await Promise.race([reached, reading]);
  await settle();
  return { reader, reading };
}

type End = (stream: ReadableStream<unknown>, service: Service) => Promise<unknown>;

/** Situations in which a stream is cancelled or aborted. */
const SITUATIONS: [name: string, answers: Answer[], reach: (service: Service) => Promise<void>][] =
  [
    ["a request is in flight", ["page", "none"], ({ sent }) => sent(2)],
    ["a body is read", ["page", "half a page"], ({ sent }) => sent(2)],
    ["it waits for its turn", [], ({ sleeps }) => sleeps()],
    ["it backs off", [503], ({ sleeps }) => sleeps()],
  ];

const ENDS: [name: string, answers: Answer[], end: End][] = [
  ...SITUATIONS.flatMap(([name, answers, reach]): [string, Answer[], End][] => [
    [`is cancelled while ${name}`, answers, async (stream, service) => {
      const { reader, reading } = await readUntil(stream, reach(service));
      await reader.cancel("enough");
      await reading;
    }],
    [`is aborted while ${name}`, answers, async (stream, service) => {
      const { reading } = await readUntil(stream, reach(service));
      service.stop.abort("enough");
      assertEquals(await reading, "enough");
    }],
  ]),
  ["is read to its end", [], (stream) => Array.fromAsync(stream)],
  ["is cancelled before it is read", [], (stream) => stream.cancel("enough")],
  ["is left by break", [], async (stream) => {
    for await (const _ of stream) break;
  }],
  ["errors at its first request", [400], (stream) => fails(Array.fromAsync(stream))],
  ["errors at its second request", ["page", 400], (stream) => fails(Array.fromAsync(stream))],
  ["is aborted after its first chunk", [], async (stream, { stop }) => {
    const reader = stream.getReader();
    await reader.read();
    stop.abort("enough");
    await reader.read().catch(() => {});
  }],
];

for (const call of ["rows", "csv"] as const) {
  for (const [name, answers, end] of ENDS) {
    testLeaks(
      `${call}() leaves no listener, timer or permit when it ${name}`,
      answers,
      (service) => end(service.query[call](), service),
    );
  }
}

const COUNTS: [name: string, answers: Answer[], run: (service: Service) => Promise<unknown>][] = [
  ["fulfils after a retry", [503], ({ query }) => query.count()],
  ["rejects", [400], ({ query }) => fails(query.count())],
  ["is aborted while a request is in flight", ["none"], async ({ query, sent, stop }) => {
    const reached = sent(1);
    const ending = query.count().catch((error) => error);
    await reached;
    stop.abort("enough");
    assertEquals(await ending, "enough");
  }],
];
for (const [name, answers, run] of COUNTS) {
  testLeaks(`count() leaves no listener, timer or permit when it ${name}`, answers, run);
}

testLeaks(
  "iteration leaves no listener, timer or permit when return() ends its request",
  ["none"],
  async ({ query, sent, starts }) => {
    const reached = sent(1);
    const rows = query[Symbol.asyncIterator]();
    const next = rows.next();
    await Promise.race([reached, next]);
    await settle();
    await rows.return?.();
    assertEquals([(await next).done, starts.length], [true, 1]);
  },
);
