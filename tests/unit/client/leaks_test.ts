// After each end of each stream: no listener, no timer and no permit of the rate limiter is left.
import "../../helpers/no_permission.ts";
import { assert, assertEquals } from "@std/assert";
import { DataStream, DataStreamError } from "../../../mod.ts";
import { systemClock } from "../../../src/clock.ts";
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

/** Reads a stream, and returns as soon as a promise resolves. */
async function readUntil(stream: ReadableStream<unknown>, reached: Promise<void>) {
  const reader = stream.getReader();
  const reading = (async () => {
    while (!(await reader.read()).done);
  })().catch((error) => error);
  await Promise.race([reached, reading]);
  await settle();
  return { reader, reading };
}

/** Resolves when the code under test waits by the clock. */
function sleeps({ clock }: Service): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { sleep } = clock;
  clock.sleep = (milliseconds, signal) => {
    // Longer sleeps are those of the timeouts, which check at an interval of one second.
    if (milliseconds < 1_000) resolve();
    return sleep.call(clock, milliseconds, signal);
  };
  return promise.finally(() => clock.sleep = sleep);
}

/** Situations in which a stream is cancelled or aborted. */
const SITUATIONS: [name: string, answers: Answer[], reach: (service: Service) => Promise<void>][] =
  [
    ["a request is in flight", ["page", "none"], ({ sent }) => sent(2)],
    ["a body is read", ["page", "half a page"], ({ sent }) => sent(2)],
    ["it waits for its turn", [], sleeps],
    ["it backs off", ["503"], sleeps],
  ];

const ENDS: Record<string, End> = {
  ...Object.fromEntries(SITUATIONS.flatMap(([name, answers, reach]): [string, End][] => [
    [`is cancelled while ${name}`, {
      answers,
      async end(stream, service) {
        const { reader, reading } = await readUntil(stream, reach(service));
        await reader.cancel("enough");
        await reading;
      },
    }],
    [`is aborted while ${name}`, {
      answers,
      async end(stream, service) {
        const { reading } = await readUntil(stream, reach(service));
        service.stop.abort("enough");
        assertEquals(await reading, "enough");
      },
    }],
  ])),
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

Deno.test("systemClock.sleep() leaves no listener", async () => {
  using listeners = new ListenerCount();
  await systemClock.sleep(1, new AbortController().signal);
  assertEquals(listeners.left, 0);
});
