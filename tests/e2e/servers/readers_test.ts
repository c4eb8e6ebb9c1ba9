// Readers that take little or nothing, on each runtime.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { until } from "../../helpers/until.ts";
import { startApp, testOnEach } from "./runtimes.ts";
import { DOWNLOAD, isWhole, json, over, pageFor, rowsOf, serveUpstream } from "./upstream.ts";

const MIB = 2 ** 20;
const readerTimeout = 1_000;

/**
 * More on a page than a kernel takes for a reader that reads nothing: Linux lets 4 MiB wait to be
 * sent, and makes room on the other side as that is read.
 */
const LARGE = { rows: 1_000, width: 48 * MIB / 1_000, pages: 3 };

/** Whether a small download finds a place, and comes whole. */
async function findsPlace(root: string): Promise<boolean> {
  const response = await fetch(`${root}${DOWNLOAD}&limit=5`);
  const lines = (await response.text()).split("\r\n");
  return response.status === 200 && lines.length === 1 + 5 + 1;
}

testOnEach("a reader that takes nothing is asked no page for, and cut", async (runtime) => {
  await using upstream = serveUpstream((request) => json(pageFor(request, LARGE)), rowsOf(LARGE));
  const options = over(upstream, { maxDownloads: 1, readerTimeout });
  await using server = await startApp(runtime, options);
  const response = await fetch(server.root + DOWNLOAD);
  assertEquals([response.status, await findsPlace(server.root)], [200, false]);
  await until(() => server.log().includes("the client read nothing for 1 s"), "the log");
  assertEquals(upstream.pages.length, 1);
  assertEquals(await findsPlace(server.root), true);
  await assertRejects(() => response.bytes());
  assertEquals(upstream.pages.length, 2);
});

testOnEach("a reader that leaves while it is waited for gives its place back", async (runtime) => {
  await using upstream = serveUpstream((request) => json(pageFor(request, LARGE)), rowsOf(LARGE));
  await using server = await startApp(runtime, over(upstream, { maxDownloads: 1 }));
  const { body } = await fetch(server.root + DOWNLOAD);
  assertEquals(await findsPlace(server.root), false);
  await body!.cancel();
  await until(() => findsPlace(server.root), "a place", 1_000);
  assertEquals(upstream.pages.length, 2);
});

/** One page, which takes three times the timeout: as a whole, it would not be taken in time. */
const SLOW = { rows: 1_000, width: 24 * MIB / 1_000, pages: 1 };
const BYTES_A_MILLISECOND = 24 * MIB / (3 * readerTimeout);

testOnEach("a reader that takes a page slowly but steadily is not cut", async (runtime) => {
  await using upstream = serveUpstream((request) => json(pageFor(request, SLOW)), rowsOf(SLOW));
  await using server = await startApp(runtime, over(upstream, { readerTimeout }));
  const response = await fetch(server.root + DOWNLOAD);
  const start = performance.now();
  const decoder = new TextDecoder();
  let csv = "";
  for await (const bytes of response.body!) {
    csv += decoder.decode(bytes, { stream: true });
    const ahead = csv.length / BYTES_A_MILLISECOND - (performance.now() - start);
    // The reader's slowness: nothing is waited for.
    if (ahead > 0) await new Promise((resolve) => setTimeout(resolve, ahead));
  }
  assert(isWhole(csv, SLOW));
  assert(performance.now() - start > 2 * readerTimeout);
  assertEquals(server.log().includes("read nothing"), false);
});
