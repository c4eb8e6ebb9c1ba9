// Slow readers of downloads.
import "../../helpers/no_permission.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { type AppOptions, createApp } from "../../../edge/app.ts";
import { ClientReader } from "../../../edge/client_reader.ts";
import { DEADLINE, LONG_DEADLINE } from "../../helpers/deadline.ts";
import { problemOf } from "../../helpers/edge.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";

const CHUNK = 65_536;
/** Number of rows of a download. Each is about as long as a chunk of a response. */
const ROWS = 120;
const ROW_TEXT = "x".repeat(CHUNK);

/** Creates an app over a service whose downloads have 8 MB. */
function createSlowApp(
  options: Partial<AppOptions> = {},
  respond: (request: Request, clock: FakeClock) => Response | Promise<Response> = pageOfRows,
) {
  const clock = new FakeClock();
  const log: string[] = [];
  const app = createApp({
    access: "public",
    apiKey: "k",
    baseUrl: "https://slow.invalid/v1/odata/v4",
    maxRows: Infinity,
    maxCachedBytes: 2e9,
    requestsPerSecond: Infinity,
    cacheTtl: 0, // a download that shares its pages needs no slot
    clock,
    log: (line) => log.push(line),
    fetch: async (request) => await respond(request, clock),
    ...options,
  });
  const open = async () =>
    (await app.request("/Records.csv?$select=Id,ResultComment")).body!.getReader();
  return { app, clock, log, open };
}

function pageOfRows({ url }: Request): Response {
  if (url.includes("count=true")) return Response.json({ value: ROWS });
  const value = Array.from({ length: ROWS }, (_, i) => ({ Id: i + 1, ResultComment: ROW_TEXT }));
  return Response.json({ value });
}

async function slowPageOfOneRow({ url }: Request, clock: FakeClock): Promise<Response> {
  if (url.includes("/Metadata")) return Response.json({ value: [] });
  if (url.includes("count=true")) return Response.json({ value: 10 });
  await clock.sleep(20_000);
  const Id = 1 + Number(/Id(?:%3A|:)(\d+)/.exec(url)?.[1] ?? 0);
  const next = `https://slow.invalid/v1/odata/v4/Records?$skiptoken=Id:${Id}`;
  return Response.json({ value: [{ Id }], ...(Id < 10 && { "@odata.nextLink": next }) });
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

/** Reads at a rate (bytes per second) until a time (ms), or until the end. Returns the number of bytes. */
async function readAt(
  rate: number,
  reader: Reader,
  clock: FakeClock,
  until = Infinity,
): Promise<number> {
  let bytes = 0;
  while (clock.now() < until) {
    const { done, value } = await reader.read();
    if (done) break;
    bytes += value.length;
    await clock.sleep(1000 * value.length / rate);
  }
  return bytes;
}

const DOWNLOAD_BYTES = await (async () => {
  const { open, clock } = createSlowApp();
  return await readAt(1e12, await open(), clock);
})();

Deno.test(
  "EdgeApp.request() gives the slots of twenty readers at 30 kB/s to other clients after 60 s",
  LONG_DEADLINE,
  async () => {
    const { app, clock, log, open } = createSlowApp();
    const readers = await Promise.all(Array.from({ length: 20 }, open));
    const slow = Promise.allSettled(readers.map((reader) => readAt(30_000, reader, clock)));
    await clock.sleep(59_000);
    const early = await app.request("/Records.csv");
    assertEquals([early.status, early.headers.get("retry-after")], [503, "30"]);
    await early.body!.cancel();
    await clock.sleep(5_000);
    for (let newcomer = 0; newcomer < 4; newcomer++) {
      assertEquals(await readAt(10_000_000, await open(), clock), DOWNLOAD_BYTES);
    }
    const results = await slow;
    // The first newcomer took one slot, and its successors took the same slot again.
    assertEquals(results.filter(({ status }) => status === "rejected").length, 1);
    assertEquals(log.length, 1);
    assertMatch(log[0]!, / warn .* Download of Records was interrupted: the client read 3/);
    assertStringIncludes(log[0]!, "bytes per second for 60 s, less than 64000, and another client");
    assertStringIncludes(app.metrics(), "weir_slow_clients_disconnected_total 1\n");
  },
);

Deno.test(
  "EdgeApp.request() gives the memory of twenty readers at 30 kB/s to other clients after 60 s",
  LONG_DEADLINE,
  async () => {
    // Four slow readers fill the memory, so the other ones are refused.
    const { app, clock, log, open } = createSlowApp({ maxCachedBytes: 64_000_000 });
    const slow = Promise.allSettled(
      Array.from({ length: 20 }, () => open().then((reader) => readAt(30_000, reader, clock))),
    );
    await clock.sleep(30_000);
    const early = await app.request("/Records.csv");
    assertEquals(early.status, 503);
    assertStringIncludes((await problemOf(early)).detail, "use all the memory");
    await clock.sleep(20_000);
    for (let newcomer = 0; newcomer < 4; newcomer++) {
      const start = clock.now();
      assertEquals(await readAt(10_000_000, await open(), clock), DOWNLOAD_BYTES);
      assert(clock.now() - start < 2_000);
    }
    await slow;
    const cut = log.filter((line) => line.includes("and another client needed its memory"));
    assert(cut.length >= 1 && cut.length <= 2, log.join("\n"));
    assertStringIncludes(app.metrics(), `weir_slow_clients_disconnected_total ${cut.length}\n`);
  },
);

const newcomers: [task: string, path: string][] = [
  ["download", "/Records.csv"],
  ["count", "/Records?$count=true"],
  ["request for citations", "/Citations.txt"],
];
for (const [task, path] of newcomers) {
  Deno.test(
    `EdgeApp.request() breaks the transfer of the slowest reader when a ${task} needs its slot`,
    DEADLINE,
    async () => {
      const { app, clock, log, open } = createSlowApp({ maxDownloads: 3 });
      const readers = [await open(), await open(), await open()];
      const [fast, slower, slowest] = [70_000, 30_000, 20_000].map((rate, index) =>
        readAt(rate, readers[index]!, clock)
      );
      const cut = assertRejects(() => slowest!, Error, "was interrupted");
      await clock.sleep(80_000);
      const response = await app.request(path);
      assertEquals(response.status, 200);
      await response.arrayBuffer();
      await cut;
      assertStringIncludes(log.join(), "another client needed its slot");
      assertEquals([await fast, await slower], [DOWNLOAD_BYTES, DOWNLOAD_BYTES]);
    },
  );
}

Deno.test(
  "EdgeApp.request() disconnects no slow reader when a slot is free",
  DEADLINE,
  async () => {
    const { app, clock, log, open } = createSlowApp({ maxDownloads: 3 });
    const slow = [await open(), await open()].map((reader) => readAt(10_000, reader, clock));
    await clock.sleep(300_000);
    const response = await app.request("/Records.csv");
    assertEquals(response.status, 200);
    await response.arrayBuffer();
    assertEquals(await Promise.all(slow), [DOWNLOAD_BYTES, DOWNLOAD_BYTES]);
    assertEquals(log, []);
    assertStringIncludes(app.metrics(), "weir_slow_clients_disconnected_total 0\n");
  },
);

Deno.test(
  "EdgeApp.request() does not disconnect a reader when the service is slow",
  DEADLINE,
  async () => {
    const { app, clock, log } = createSlowApp({ maxDownloads: 1 }, slowPageOfOneRow);
    const respond = async () => (await app.request("/Records.csv?$select=Id")).text();
    const download = respond();
    for (let minute = 0; minute < 3; minute++) {
      await clock.sleep(60_000);
      const response = await app.request("/Records.csv");
      assertEquals(response.status, 503);
      assertStringIncludes((await problemOf(response)).detail, "limit of 1 concurrent");
    }
    assertEquals((await download).split("\r\n").length, 1 + 10 + 1);
    assertEquals(log, []);
  },
);

Deno.test("ClientReader.bytesPerSecond counts only the last 60 s in which bytes waited", () => {
  let now = 0;
  const reader = new ClientReader({ now: () => now, sleep: () => Promise.resolve() });
  const readChunk = (waited: number, bytes: number) => {
    reader.startWaiting(bytes);
    now += waited;
    reader.stopWaiting();
  };
  // The buffers of a socket take the first 4 MB immediately.
  for (let chunk = 0; chunk < 64; chunk++) readChunk(0, CHUNK);
  for (let second = 0; second < 59; second++) readChunk(1_000, 10_000);
  assertEquals(reader.bytesPerSecond, Infinity);
  now += 1_000_000; // the server waits for the service
  assertEquals(reader.bytesPerSecond, Infinity);
  readChunk(1_000, 10_000);
  assert(reader.bytesPerSecond > 64_000); // with the first 4 MB
  for (let second = 0; second < 2; second++) readChunk(1_000, 10_000);
  assert(reader.bytesPerSecond > 9_000 && reader.bytesPerSecond < 11_000);
  // A client that pauses is slow while bytes wait for it.
  reader.startWaiting(10_000);
  now += 30_000;
  assertEquals(Math.round(reader.bytesPerSecond / 1_000), 5);
  now += 40_000;
  assertEquals(reader.bytesPerSecond, 0);
  reader.stopWaiting();
  // A client that reads on is fast again.
  for (let chunk = 0; chunk < 64; chunk++) readChunk(1, CHUNK);
  assert(reader.bytesPerSecond > 64_000);
});
