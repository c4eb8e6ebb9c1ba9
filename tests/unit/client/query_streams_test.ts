// Streams and iterators of a query request pages only when they are read, and stop when they are cancelled.
import "../../helpers/no_permission.ts";
import { assertEquals, assertRejects } from "@std/assert";
import { DataStream, DataStreamError } from "../../../mod.ts";
import { DEADLINE } from "../../helpers/deadline.ts";
import { upstream } from "../../helpers/upstream.ts";
import { pagedClient, range } from "./paged_service.ts";

/** Registers a test that fails instead of hanging. */
const test = (name: string, run: () => Promise<void>): void => Deno.test(name, DEADLINE, run);

test("records() sends nothing until its rows are read, and runs again each time", async () => {
  const { client, requests } = pagedClient({ ids: range(1, 30) });
  const query = client.records();
  query.pages();
  query.csv();
  assertEquals(requests.length, 0);
  assertEquals(await query.toArray(), await query.toArray());
  assertEquals(requests.length, 2);
});

for (const [method, chunks] of [["pages", 1], ["rows", 20]] as const) {
  test(`${method}() requests a page when the rows of the page before are read`, async () => {
    const { client, clock, requests } = pagedClient({ ids: range(1, 60) });
    const reader = client.locations({ top: 20 })[method]().getReader();
    for (let chunk = 0; chunk < chunks; chunk++) await reader.read();
    await clock.sleep(10_000);
    assertEquals(requests.length, 1);
    await reader.read();
    assertEquals(requests.length, 2);
    await reader.cancel();
  });
}

test("next() returns each row once when it is called concurrently", async () => {
  const { client } = pagedClient({ ids: range(1, 100) });
  const rows = client.records({ top: 20 })[Symbol.asyncIterator]();
  const seen: number[] = [];
  await Promise.all([1, 2, 3, 4].map(async () => {
    for (;;) {
      const { done, value } = await rows.next();
      if (done) return;
      seen.push(value.Id);
    }
  }));
  assertEquals(seen, range(1, 100));
});

test("rows() and the iterator stop between two rows when the signal aborts", async () => {
  const { client } = pagedClient({ ids: range(1, 50) });
  for (const way of ["iterator", "rows", "pages"] as const) {
    for (const limit of [undefined, 20]) {
      const stop = new AbortController();
      let chunks = 0;
      const query = client.records({ signal: stop.signal, limit });
      const read = async () => {
        for await (const _ of way === "iterator" ? query : query[way]()) {
          chunks++;
          stop.abort("enough");
        }
      };
      assertEquals([await read().catch((error) => error), chunks], ["enough", 1]);
    }
  }
  const aborted = client.records({ signal: AbortSignal.abort("before"), limit: 0 });
  assertEquals(await aborted.toArray().catch((error) => error), "before");
});

Deno.test("return() has no error when next() has failed with it", async () => {
  const { options } = upstream(new Error("broken"));
  const rows = new DataStream(options).records()[Symbol.asyncIterator]();
  await assertRejects(() => rows.next(), DataStreamError, "broken");
  assertEquals(await rows.return?.(), { done: true, value: undefined });
});
