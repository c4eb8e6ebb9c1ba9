// After each end of each stream: no listener, no timer and no permit of the rate limiter is left.
import "../../helpers/no_permission.ts";
import { assert, assertEquals } from "@std/assert";
import { DataStream, DataStreamError } from "../../../mod.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";
import { DEADLINE } from "../../helpers/deadline.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import { ListenerCount } from "./listener_count.ts";

/** Time (ms) between two requests at the default rate. */
const GAP = 530;

/** Lets everything settle that needs no timer; the fake clock does not move. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 200; turn++) await Promise.resolve();
}

/** Response to a request: a page, a status, no response, or a body that does not end. */
type Answer = "page" | "503" | "400" | "none" | "half a page";

interface Service {
  client: DataStream;
  clock: FakeClock;
  /** Start times of the requests. */
  starts: number[];
  /** Requests that get no response. */
  hanging: Request[];
  /** Resolves when the request of that number, from 1, is sent. */
  sent: (number: number) => Promise<void>;
  stop: AbortController;
}

/** A client of a sandbox whose first answers are given; the later ones are pages. */
function serve(answers: readonly Answer[]): Service {
  const clock = new FakeClock();
  const sandbox = createSandbox({
    hostileNames: true,
    records: 25,
    locations: 25,
    now: () => clock.now(),
  });
  const starts: number[] = [];
  const hanging: Request[] = [];
  const waiting = new Map<number, () => void>();
  const fetch = (request: Request) => {
    starts.push(clock.now());
    waiting.get(starts.length)?.();
    const answer = answers[starts.length - 1] ?? "page";
    if (answer === "none") {
      hanging.push(request);
      return new Promise<never>(() => {});
    }
    if (answer === "page") return sandbox.fetch(request);
    if (answer === "half a page") {
      const body = new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode('{"value":[')),
      });
      const headers = { "content-type": "application/json" };
      return Promise.resolve(new Response(body, { headers }));
    }
    return Promise.resolve(Response.json({ message: "no" }, { status: Number(answer) }));
  };
  const { apiKey, url: baseUrl } = sandbox;
  const client = new DataStream({ apiKey, baseUrl, fetch, clock });
  return {
    client,
    clock,
    starts,
    hanging,
    sent: (number) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.set(number, resolve);
      return promise;
    },
    stop: new AbortController(),
  };
}

/** Public streams of a query of several pages, by the call that creates them. */
const STREAMS: Record<string, (service: Service) => ReadableStream<unknown>> = {
  "rows()": (service) => queryOf(service).rows(),
  "pages()": (service) => queryOf(service).pages(),
  "csv()": (service) => queryOf(service).csv(),
};

const PROMISES: Record<string, (service: Service) => Promise<unknown>> = {
  "toArray()": (service) => queryOf(service).toArray(),
  "count()": (service) => queryOf(service).count(),
  "citations()": ({ client, stop }) => client.citations(undefined, { signal: stop.signal }),
  "iteration": async (service) => {
    for await (const _ of queryOf(service));
  },
};

const queryOf = ({ client, stop }: Service) => client.locations({ top: 10, signal: stop.signal });

/** How a stream ends: the responses of the service, and the action of the caller. */
interface End {
  answers?: readonly Answer[];
  end: (stream: ReadableStream<unknown>, service: Service) => Promise<unknown>;
}

/** Reads a stream until the request with a number is sent. That request gets no response. */
async function readUntil(
  number: number,
  stream: ReadableStream<unknown>,
  { sent }: Service,
): Promise<{ reader: ReadableStreamDefaultReader<unknown>; reading: Promise<unknown> }> {
  const reader = stream.getReader();
  const reading = (async () => {
    while (!(await reader.read()).done);
  })().catch((error) => error);
  await Promise.race([sent(number), reading]);
  await settle();
  return { reader, reading };
}

/** Reads a stream until the code under test waits by the clock. */
async function readUntilWaiting(stream: ReadableStream<unknown>, { clock }: Service) {
  const reader = stream.getReader();
  const reading = (async () => {
    while (!(await reader.read()).done);
  })().catch((error) => error);
  const { promise, resolve } = Promise.withResolvers<void>();
  const { sleep } = clock;
  clock.sleep = (milliseconds, signal) => {
    // Longer sleeps are those of the timeouts, which check at an interval of one second.
    if (milliseconds < 1_000) resolve();
    return sleep.call(clock, milliseconds, signal);
  };
  await promise;
  await settle();
  clock.sleep = sleep;
  return { reader, reading };
}

/** Situations in which a stream is cancelled or aborted. */
const SITUATIONS: Record<string, Pick<End, "answers"> & { read: typeof readUntilWaiting }> = {
  "a request is in flight": { answers: ["page", "none"], read: (...of) => readUntil(2, ...of) },
  "a body is read": { answers: ["page", "half a page"], read: (...of) => readUntil(2, ...of) },
  "it waits for its turn": { answers: [], read: readUntilWaiting },
  "it backs off": { answers: ["503"], read: readUntilWaiting },
};

const ENDS: Record<string, End> = {
  ...Object.fromEntries(
    Object.entries(SITUATIONS).flatMap(([name, { answers, read }]): [string, End][] => [
      [`is cancelled while ${name}`, {
        answers,
        async end(stream, service) {
          const { reader, reading } = await read(stream, service);
          await reader.cancel("enough");
          await reading;
        },
      }],
      [`is aborted while ${name}`, {
        answers,
        async end(stream, service) {
          const { reading } = await read(stream, service);
          service.stop.abort("enough");
          assertEquals(await reading, "enough");
        },
      }],
    ]),
  ),
  "is read to its end": { end: (stream) => Array.fromAsync(stream) },
  "is cancelled before it is read": { end: (stream) => stream.cancel("enough") },
  "is cancelled after its first chunk": {
    async end(stream) {
      const reader = stream.getReader();
      await reader.read();
      await reader.cancel("enough");
    },
  },
  "is left by break": {
    async end(stream) {
      for await (const _ of stream) break;
    },
  },
  "errors at its first request": {
    answers: ["400"],
    end: (stream) => rejects(Array.fromAsync(stream)),
  },
  "errors at its second request": {
    answers: ["page", "400"],
    end: (stream) => rejects(Array.fromAsync(stream)),
  },
  "is aborted before it is read": {
    end(stream, { stop }) {
      stop.abort("enough");
      return Array.fromAsync(stream).catch(() => {});
    },
  },
  "is aborted after its first chunk": {
    async end(stream, { stop }) {
      const reader = stream.getReader();
      await reader.read();
      stop.abort("enough");
      await reader.read().catch(() => {});
    },
  },
};

async function rejects(work: Promise<unknown>): Promise<void> {
  assertEquals(await work.catch((error) => error) instanceof DataStreamError, true);
}

/** Checks that nothing is left of a query that has ended, also no request in flight, and that the next one starts in time. */
async function assertNothingLeft(
  { client, clock, starts, hanging }: Service,
  listeners: ListenerCount,
): Promise<void> {
  await settle();
  assert(hanging.every(({ signal }) => signal.aborted));
  assertEquals({ timers: clock.pending, listeners: listeners.left }, { timers: 0, listeners: 0 });
  const earliest = Math.max(clock.now(), (starts.at(-1) ?? -Infinity) + GAP);
  await client.metadata({ limit: 1 }).toArray();
  assertEquals(starts.at(-1), earliest);
  await settle();
  assertEquals({ timers: clock.pending, listeners: listeners.left }, { timers: 0, listeners: 0 });
}

for (const [call, create] of Object.entries(STREAMS)) {
  for (const [name, { answers = [], end }] of Object.entries(ENDS)) {
    Deno.test(`${call} leaves no listener, timer or permit when it ${name}`, DEADLINE, async () => {
      using listeners = new ListenerCount();
      const service = serve(answers);
      await end(create(service), service);
      await assertNothingLeft(service, listeners);
    });
  }
}

/** How a call that gives a promise ends. */
const PROMISE_ENDS: Record<string, { answers?: readonly Answer[]; end: PromiseEnd }> = {
  "fulfils": { end: (call, service) => call(service) },
  "rejects": { answers: ["400"], end: (call, service) => rejects(call(service)) },
  "retries": { answers: ["503"], end: (call, service) => call(service) },
  "is aborted before it starts": {
    async end(call, service) {
      service.stop.abort("enough");
      assertEquals(await call(service).catch((error) => error), "enough");
    },
  },
  "is aborted while a request is in flight": {
    answers: ["none"],
    async end(call, service) {
      const sent = service.sent(1);
      const ending = call(service).catch((error) => error);
      await Promise.race([sent, ending]);
      await settle();
      service.stop.abort("enough");
      assertEquals(await ending, "enough");
    },
  },
};

type PromiseEnd = (
  call: (service: Service) => Promise<unknown>,
  service: Service,
) => Promise<unknown>;

for (const [name, call] of Object.entries(PROMISES)) {
  for (const [how, { answers = [], end }] of Object.entries(PROMISE_ENDS)) {
    Deno.test(`${name} leaves no listener, timer or permit when it ${how}`, DEADLINE, async () => {
      using listeners = new ListenerCount();
      const service = serve(answers);
      await end(call, service);
      await assertNothingLeft(service, listeners);
    });
  }
}

Deno.test(
  "iteration leaves no listener, timer or permit when it is left by break",
  DEADLINE,
  async () => {
    using listeners = new ListenerCount();
    const service = serve([]);
    for await (const _ of queryOf(service)) break;
    await assertNothingLeft(service, listeners);
  },
);

Deno.test(
  "iteration leaves no listener, timer or permit when return() ends its request",
  DEADLINE,
  async () => {
    using listeners = new ListenerCount();
    const service = serve(["none"]);
    const sent = service.sent(1);
    const rows = queryOf(service)[Symbol.asyncIterator]();
    const next = rows.next();
    await Promise.race([sent, next]);
    await settle();
    await rows.return?.();
    assertEquals([(await next).done, service.starts.length], [true, 1]);
    await assertNothingLeft(service, listeners);
  },
);

Deno.test(
  "toArray() leaves no listener when it backs off by the clock of the process",
  DEADLINE,
  async () => {
    using listeners = new ListenerCount();
    const sandbox = createSandbox({ hostileNames: true, requestsPerSecond: Infinity });
    const { apiKey, url: baseUrl } = sandbox;
    let requests = 0;
    const fetch = (request: Request) =>
      ++requests === 1
        ? Promise.resolve(new Response("busy", { status: 503 }))
        : sandbox.fetch(request);
    const retry = { backoff: 20 };
    const client = new DataStream({ apiKey, baseUrl, fetch, requestsPerSecond: 10, retry });
    const { signal } = new AbortController();
    const waits: number[] = [];
    const query = client.locations({
      top: 30,
      signal,
      onProgress: ({ retrying }) => retrying && waits.push(retrying.wait),
    });
    assertEquals((await query.toArray()).length, 60);
    assertEquals([waits.some((wait) => wait > 0), listeners.left], [true, 0]);
  },
);
