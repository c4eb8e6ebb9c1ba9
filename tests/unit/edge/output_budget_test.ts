// Limit for the output that downloads buffer.
// Most tests use `OutputBuffer` directly: the app does not tell how many bytes wait for a client.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { createApp } from "../../../edge/app.ts";
import { ClientReader, SlowReaders } from "../../../edge/client_reader.ts";
import { OutputBudget, OutputBuffer } from "../../../edge/output_budget.ts";
import { DEADLINE } from "../../helpers/deadline.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import { largeService } from "../../helpers/large_service.ts";

/** Reserved for the first page of a download. */
const FIRST_PAGE = 4_000_000;

function over(max: number) {
  const clock = new FakeClock();
  const budget = new OutputBudget(max, clock);
  const started: string[] = [];
  /** Opens a buffer that starts a page, and records when it may. */
  const start = (name: string) => {
    const buffer = new OutputBuffer(budget);
    const page = buffer.startPage().then(() => void started.push(name));
    page.catch(() => {});
    return { buffer, page };
  };
  return { budget, clock, started, start };
}

/** Ends the page of a buffer with a number of bytes, which the client has not read. */
function endPage(buffer: OutputBuffer, bytes: number): void {
  buffer.add(bytes);
  buffer.endPage();
}

Deno.test(
  "OutputBudget starts pages in the order of the calls when room becomes free",
  DEADLINE,
  async () => {
    const { clock, started, start } = over(2 * FIRST_PAGE);
    const [a, b, c, d] = ["a", "b", "c", "d"].map(start);
    await clock.sleep(1_000);
    assertEquals(started, ["a", "b"]);
    endPage(b!.buffer, 3_000_000);
    await clock.sleep(1_000);
    assertEquals(started, ["a", "b"]);
    b!.buffer.remove(3_000_000);
    await clock.sleep(1_000);
    assertEquals(started, ["a", "b", "c"]);
    a!.buffer.close();
    await clock.sleep(1_000);
    assertEquals(started, ["a", "b", "c", "d"]);
    for (const { buffer } of [b!, c!, d!]) buffer.close();
  },
);

Deno.test(
  "OutputBudget forgets downloads that were dropped while they waited",
  DEADLINE,
  async () => {
    const { budget, clock, start } = over(FIRST_PAGE);
    const { buffer } = start("a");
    for (let id = 0; id < 100; id++) start(`dropped ${id}`);
    clock.dropTimers();
    clock.advance(60_001);
    assertEquals(budget.waiting, 100);
    const last = start("b");
    await last.page;
    assertEquals(budget.waiting, 0);
    buffer.close();
    last.buffer.close();
  },
);

Deno.test(
  "OutputBudget reserves the length of the longest page when a download starts a further one",
  DEADLINE,
  async () => {
    const { budget, started, start } = over(2 * FIRST_PAGE);
    const { buffer, page } = start("a");
    await page;
    endPage(buffer, 500_000);
    assertEquals(budget.used, 500_000);
    buffer.remove(500_000);
    await buffer.startPage();
    assertEquals(budget.used, 500_000);
    buffer.add(200_000);
    assertEquals(budget.used, 500_000);
    buffer.add(400_000);
    assertEquals([budget.used, started], [600_000, ["a"]]);
    buffer.close();
    assertEquals(budget.used, 0);
  },
);

Deno.test(
  "OutputBuffer.hasSpareRoom() is false when a further page exceeds the limit or another download waits",
  DEADLINE,
  async () => {
    const { clock, start } = over(2 * FIRST_PAGE);
    const a = start("a");
    await a.page;
    endPage(a.buffer, 1_000_000);
    assertEquals(a.buffer.hasSpareRoom(), true);
    const b = start("b");
    const c = start("c");
    await clock.sleep(1_000);
    assertEquals(a.buffer.hasSpareRoom(), false);
    c.buffer.close();
    await clock.sleep(1_000);
    assertEquals(a.buffer.hasSpareRoom(), true);
    endPage(b.buffer, 6_500_000);
    assertEquals(a.buffer.hasSpareRoom(), false);
    a.buffer.close();
    b.buffer.close();
  },
);

Deno.test(
  "OutputBudget starts a page that is longer than the limit when no other download uses room",
  DEADLINE,
  async () => {
    const { clock, started, start } = over(1_000);
    const a = start("a");
    const b = start("b");
    await clock.sleep(1_000);
    assertEquals(started, ["a"]);
    endPage(a.buffer, 5_000_000);
    await clock.sleep(1_000);
    assertEquals(started, ["a"]);
    a.buffer.remove(5_000_000);
    await clock.sleep(1_000);
    assertEquals(started, ["a", "b"]);
    a.buffer.close();
    b.buffer.close();
  },
);

Deno.test(
  "OutputBuffer.close() ends a wait for room, and the next download starts",
  DEADLINE,
  async () => {
    const { clock, started, start } = over(FIRST_PAGE);
    const [a, b, c] = ["a", "b", "c"].map(start);
    await clock.sleep(1_000);
    b!.buffer.close();
    await assertRejects(() => b!.page);
    await assertRejects(() => b!.buffer.startPage());
    a!.buffer.close();
    await clock.sleep(1_000);
    assertEquals(started, ["a", "c"]);
    c!.buffer.close();
  },
);

Deno.test(
  "OutputBudget releases the room of a request 30 s after the runtime has dropped it",
  DEADLINE,
  async () => {
    const { budget, clock, started, start } = over(FIRST_PAGE);
    start("dropped");
    await clock.sleep(1_000);
    clock.dropTimers();
    const b = start("b");
    await clock.sleep(20_000);
    assertEquals([started, budget.used], [["dropped"], FIRST_PAGE]);
    await clock.sleep(20_000);
    assertEquals(started, ["dropped", "b"]);
    b.buffer.close();
  },
);

Deno.test(
  "OutputBudget skips a waiting download when the runtime has dropped its request",
  DEADLINE,
  async () => {
    const { clock, started, start } = over(FIRST_PAGE);
    const a = start("a");
    start("dropped");
    await clock.sleep(1_000);
    clock.dropTimers();
    const c = start("c");
    a.buffer.close();
    await clock.sleep(1_000);
    assertEquals(started, ["a"]);
    await clock.sleep(10_000);
    assertEquals(started, ["a", "c"]);
    c.buffer.close();
  },
);

/** Returns a reader that has read nothing for a minute, or one that has just begun. */
function readerOf(clock: FakeClock, isSlow: boolean): ClientReader {
  const reader = new ClientReader(clock);
  reader.startWaiting(0);
  if (isSlow) clock.advance(61_000);
  return reader;
}

Deno.test(
  "OutputBudget lets a download overtake those of slow readers, and disconnects those that hold room",
  DEADLINE,
  async () => {
    const clock = new FakeClock();
    const slowReaders = new SlowReaders(64_000);
    const budget = new OutputBudget(2 * FIRST_PAGE, clock, slowReaders);
    const started: string[] = [];
    const start = (name: string, reader?: ClientReader) => {
      const buffer = new OutputBuffer(budget, undefined, reader);
      void buffer.startPage().then(() => void started.push(name));
      return buffer;
    };
    const slow = Array.from({ length: 3 }, () => readerOf(clock, true));
    const buffers = slow.map((reader, index) => start(`slow ${index}`, reader));
    await clock.sleep(1_000);
    assertEquals([started, slowReaders.disconnected], [["slow 0", "slow 1"], 0]);
    const fast = start("fast", readerOf(clock, false));
    await clock.sleep(1_000);
    assertEquals(started, ["slow 0", "slow 1", "fast"]);
    assertEquals([slowReaders.disconnected, budget.used], [1, 2 * FIRST_PAGE]);
    const { message } = slow[0]!.disconnectReason!;
    assertEquals(
      message,
      "the client read 0 bytes per second for 60 s, less than 64000, and another client needed its memory",
    );
    assertEquals(slow.map(({ disconnectReason }) => disconnectReason !== undefined), [
      true,
      false,
      false,
    ]);
    fast.close();
    await clock.sleep(1_000);
    assertEquals(started.at(-1), "slow 2");
    for (const buffer of buffers) buffer.close();
  },
);

Deno.test(
  "OutputBudget disconnects no reader when none is slow, or the one that waits is slow itself",
  DEADLINE,
  async () => {
    for (const isSlow of [false, true]) {
      const clock = new FakeClock();
      const slowReaders = new SlowReaders(64_000);
      const budget = new OutputBudget(FIRST_PAGE, clock, slowReaders);
      const [first, second] = [0, 1].map(() =>
        new OutputBuffer(budget, undefined, readerOf(clock, isSlow))
      );
      await first!.startPage();
      const waiting = second!.startPage();
      await clock.sleep(10_000);
      assertEquals(slowReaders.disconnected, 0);
      first!.close();
      await waiting;
      second!.close();
    }
  },
);

type Reader = ReadableStreamDefaultReader<Uint8Array>;

/** Reads a body to its end, and returns the number of its bytes. */
async function readAll(reader: Reader): Promise<number> {
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return bytes;
    bytes += value.length;
  }
}

const firstReaders: [reason: string, read: (reader: Reader) => Promise<unknown>][] = [
  [
    "is disconnected because it reads nothing",
    (reader) => assertRejects(() => reader.closed, Error, "was interrupted"),
  ],
  ["leaves", (reader) => reader.cancel()],
  ["reads on", readAll],
  ["reads on and its download fails", (reader) => assertRejects(() => readAll(reader))],
];
/** Serves downloads of 30,000 rows from an app that buffers output of one client only. */
function serveOneByOne(failures = 0, cacheTtl = 0) {
  const service = largeService(30_000, 30);
  const clock = new FakeClock();
  const log: string[] = [];
  let missing = failures;
  const app = createApp({
    access: "public",
    apiKey: "k",
    baseUrl: "https://budget.invalid/v1/odata/v4",
    clock,
    maxCachedBytes: 1,
    cacheTtl,
    log: (line) => log.push(line),
    fetch: (request) =>
      // The first client selects the fields in another order.
      /LocationId(,|%2C)Id.*skiptoken/.test(request.url) && missing-- > 0
        ? Promise.resolve(new Response(null, { status: 400 }))
        : service.fetch(request),
  });
  const open = async (select = "Id,LocationId") =>
    (await app.request(`/Observations.ndjson?$select=${select}`)).body!.getReader();
  return { clock, log, open, service };
}

const cases = firstReaders.flatMap(([reason, read]) =>
  [0, 60_000].map((cacheTtl) => ({ reason, read, cacheTtl }))
);
for (const { reason, read, cacheTtl } of cases) {
  Deno.test(
    `EdgeApp.request() requests a page for another client when the first one ${reason}, with cacheTtl ${cacheTtl}`,
    DEADLINE,
    async () => {
      const { clock, open, service } = serveOneByOne(reason.includes("fails") ? 1 : 0, cacheTtl);
      const first = await open("LocationId,Id");
      await first.read();
      await clock.sleep(45_000);
      const second = open();
      await clock.sleep(1_000);
      const requests = service.requests.length;
      await clock.sleep(10_000);
      assertEquals(service.requests.length, requests);
      const [, bytes] = await Promise.all([read(first), second.then(readAll)]);
      assert(bytes > 30_000);
    },
  );
}
