// A page is requested before the reader has read the page before it, within a limit of memory.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { DataStream } from "../../../mod.ts";
import { readAhead } from "../../../src/client/iterable_stream.ts";
import { DEADLINE } from "../../helpers/deadline.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import { ROOT } from "../../helpers/upstream.ts";

/** Length (bytes) of a text. Seven rows with one are a part: at least 256 KiB. */
const TEXT_LENGTH = 40_000;
const TEXT = "v".repeat(TEXT_LENGTH);

/**
 * Reads the CSV of a service that sends each page without delay, and pauses after each part.
 *
 * @returns Number of pages that were requested before the end of each pause
 */
async function requestsAtPauses(
  { pages, rows, pauses, limit }: { pages: number; rows: number; pauses: number; limit?: number },
): Promise<number[]> {
  const clock = new FakeClock();
  let requests = 0;
  function* body(id: number) {
    const encoder = new TextEncoder();
    yield encoder.encode('{"value":[');
    for (let row = 0; row < rows; row++) {
      yield encoder.encode(`${row === 0 ? "" : ","}{"Id":${id + row},"DOI":"${TEXT}"}`);
    }
    const link = `?$skiptoken=Id:${id + rows - 1}`;
    const hasMore = id + rows < pages * rows;
    yield encoder.encode(hasMore ? `],"@odata.nextLink":"${link}"}` : "]}");
  }
  const respond = ({ url }: Request) => {
    const { searchParams } = new URL(url);
    if (searchParams.has("$count")) return Response.json({ value: pages * rows });
    requests++;
    const id = Number(searchParams.get("$skiptoken")?.slice(3) ?? 0) + 1;
    return new Response(ReadableStream.from(body(id)), {
      headers: { "content-type": "application/json" },
    });
  };
  const client = new DataStream({
    baseUrl: ROOT,
    clock,
    fetch: (request) => Promise.resolve(respond(request)),
    requestsPerSecond: Infinity,
  });
  const reader = client.records({ select: ["Id", "DOI"], limit }).csv().getReader();
  const found: number[] = [];
  while (found.length < pauses) {
    await reader.read();
    await clock.sleep(10_000);
    found.push(requests);
  }
  await reader.cancel();
  return found;
}

const test = (name: string, run: () => Promise<void>) => Deno.test(name, DEADLINE, run);

test("csv() requests one page ahead of its reader", async () => {
  assertEquals(await requestsAtPauses({ pages: 3, rows: 1, pauses: 3 }), [2, 3, 3]);
  // Each page has three parts.
  const requests = await requestsAtPauses({ pages: 3, rows: 20, pauses: 6 });
  assertEquals(requests, [2, 2, 2, 3, 3, 3]);
});

test("csv() requests no page ahead when the query has a limit", async () => {
  const requests = await requestsAtPauses({ pages: 3, rows: 20, pauses: 6, limit: 1_000 });
  assertEquals(requests, [1, 1, 1, 2, 2, 2]);
});

test("csv() buffers at most 32 MiB when it requests a page ahead", async () => {
  const rows = 450; // 18 MB
  const requests = await requestsAtPauses({ pages: 2, rows, pauses: 12 });
  const bytesToRead = 2 * rows * TEXT_LENGTH - 2 ** 25;
  assertEquals(requests.indexOf(2), Math.floor(bytesToRead / (7 * TEXT_LENGTH)));
});

test("a part that the reader has taken is freed while the next one arrives", async () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage: () => void = runInNewContext("gc");
  const taken: WeakRef<object>[] = [];
  const next = () => {
    if (taken.length === 2) return new Promise<never>(() => {});
    const part = { data: new Uint8Array(1), isPageEnd: false };
    taken.push(new WeakRef(part));
    return Promise.resolve(part);
  };
  const take = readAhead(next, true);
  await take();
  await take();
  // The target of a WeakRef is kept until the end of the task that created it.
  await new Promise((resolve) => setTimeout(resolve));
  collectGarbage();
  assertEquals(taken.map((part) => part.deref()), [undefined, undefined]);
});
