// After each end of each stream: no listener, no timer and no permit of the rate limiter is left.
import "../../helpers/no_permission.ts";
import { assert, assertEquals } from "@std/assert";
import { DataStreamError } from "../../../mod.ts";
import { DEADLINE } from "../../helpers/deadline.ts";
import { countListeners } from "./listener_count.ts";
import { arrivingPage, pagedClient, range } from "./paged_service.ts";

/** Time (ms) between two requests at the default rate. */
const GAP = 530;

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
  const fetch = async (request: Request): Promise<Response> => {
    const answer = answers[starts.length] ?? "page";
    starts.push(clock.now());
    if (answer === "page") return await service.fetch(request);
    if (answer === "half a page") return arrivingPage(clock, ['{"value":['], "hang");
    if (answer !== "none") return new Response("", { status: answer });
    hanging.push(request);
    return await new Promise(() => {});
  };
  const client = service.client.with({ fetch });
  const stop = new AbortController();
  const query = client.locations({ top: 2, select: ["Id"], signal: stop.signal });
  return { client, query, clock, starts, hanging, stop };
}

type Service = ReturnType<typeof serve>;

/** Returns the numbers of timers and listeners when everything has settled that needs no timer. The fake clock does not move. */
async function findLeft({ clock }: Service) {
  for (let turn = 0; turn < 200; turn++) await Promise.resolve();
  return { timers: clock.pending, listeners: countListeners() };
}

/** Registers a test that a call leaves nothing, also no request in flight, and that the next request starts in time. */
function testLeaks(name: string, answers: readonly Answer[], run: (service: Service) => unknown) {
  Deno.test(name, DEADLINE, async () => {
    const service = serve(answers);
    const { client, clock, starts, hanging } = service;
    const before = await findLeft(service);
    await run(service);
    assertEquals(await findLeft(service), before);
    assert(hanging.every(({ signal }) => signal.aborted));
    const earliest = Math.max(clock.now(), (starts.at(-1) ?? -Infinity) + GAP);
    await client.metadata({ limit: 2 }).toArray();
    assertEquals(starts.at(-1), earliest);
    assertEquals(await findLeft(service), before);
  });
}

async function fails(work: Promise<unknown>): Promise<void> {
  assert(await work.catch((error) => error) instanceof DataStreamError);
}

type End = (stream: ReadableStream<unknown>, service: Service) => Promise<unknown>;

/** Situations at a time (ms) in which a stream is cancelled or aborted. */
const SITUATIONS: [name: string, answers: Answer[], time: number][] = [
  ["a request is in flight", ["page", "none"], 900],
  ["a body is read", ["page", "half a page"], 900],
  ["it waits for its turn", [], 100],
  ["it backs off", [503], 100],
];

const ENDS: [name: string, answers: Answer[], end: End][] = [
  ...SITUATIONS.flatMap(([name, answers, time]): [string, Answer[], End][] => [
    [`is cancelled while ${name}`, answers, async (stream, { clock }) => {
      const reader = stream.getReader();
      clock.sleep(time).then(() => reader.cancel("enough"));
      while (!(await reader.read()).done);
    }],
    [`is aborted while ${name}`, answers, async (stream, { clock, stop }) => {
      clock.sleep(time).then(() => stop.abort("enough"));
      assertEquals(await Array.fromAsync(stream).catch((error) => error), "enough");
    }],
  ]),
  ["is read to its end", [], (stream) => Array.fromAsync(stream)],
  ["is cancelled before it is read", [], (stream) => stream.cancel("enough")],
  ["is left by break", [], async (stream) => {
    for await (const _ of stream) break;
  }],
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

testLeaks(
  "count() leaves no listener, timer or permit when it fulfils after a retry",
  [503],
  ({ query }) => query.count(),
);

testLeaks(
  "iteration leaves no listener, timer or permit when return() ends its request",
  ["none"],
  async ({ query, clock, starts }) => {
    const rows = query[Symbol.asyncIterator]();
    clock.sleep(100).then(() => rows.return?.());
    assertEquals([(await rows.next()).done, starts.length], [true, 1]);
  },
);
