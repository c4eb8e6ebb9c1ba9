// A page is requested before the reader has read the page before it, within a limit of memory.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { readAhead } from "../../../src/client/iterable_stream.ts";
import { DEADLINE } from "../../helpers/deadline.ts";
import { pagedClient, range } from "./paged_service.ts";

const test = (name: string, run: () => Promise<void>) => Deno.test(name, DEADLINE, run);

for (const [name, limit, sent] of [["no limit", undefined, 2], ["a limit", 1_000, 1]] as const) {
  test(`csv() sends ${sent} requests when its reader has taken one page and the query has ${name}`, async () => {
    const { client, clock, requests } = pagedClient({ ids: range(1, 30) });
    const reader = client.locations({ top: 10, limit }).csv().getReader();
    await reader.read();
    await clock.sleep(10_000);
    assertEquals(requests.length, sent);
    await reader.cancel();
  });
}

/**
 * Reads pages of parts of equal length, with a pause after each part.
 *
 * @returns Number of pages that were begun before the end of each pause
 */
async function pagesBegunAtPauses(
  { pages, parts, length }: { pages: number; parts: number; length: number },
): Promise<number[]> {
  let partsRead = 0;
  const take = readAhead(() => {
    const isPageEnd = ++partsRead % parts === 0;
    const part = { data: new Uint8Array(length), isPageEnd };
    return Promise.resolve(partsRead > pages * parts ? undefined : part);
  }, true);
  const found: number[] = [];
  while (await take() !== undefined) {
    await new Promise((resolve) => setTimeout(resolve));
    found.push(Math.min(Math.ceil(partsRead / parts), pages));
  }
  return found;
}

test("readAhead() reads one page ahead, when its reader takes the page before it", async () => {
  assertEquals(await pagesBegunAtPauses({ pages: 3, parts: 1, length: 9 }), [2, 3, 3]);
  assertEquals(await pagesBegunAtPauses({ pages: 2, parts: 3, length: 9 }), [2, 2, 2, 2, 2, 2]);
});

test("readAhead() buffers at most 32 MiB when it reads a page ahead", async () => {
  const requests = await pagesBegunAtPauses({ pages: 2, parts: 20, length: 2 ** 20 });
  // After eight parts, the other twelve and the next page are 32 MiB.
  assertEquals(requests.indexOf(2), 7);
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
