// The server is at most one page ahead of a slow client, and aborts one that reads nothing, on each runtime.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { waitFor } from "../wait_for.ts";
import { startApp, testOnEach } from "./runtimes.ts";
import {
  appOptionsFor,
  DOWNLOAD,
  jsonResponse,
  pageFor,
  rowsOf,
  servePages,
  serveUpstream,
} from "./upstream.ts";

const MIB = 2 ** 20;
const readerTimeout = 1_000;

/**
 * Pages that are larger than the socket buffers of a client that does not read: Linux buffers 4 MiB
 * on the sending side and grows the receiving side.
 */
const LARGE = { rows: 1_000, width: 48 * MIB / 1_000, pages: 3 };

/** Whether a small download gets a permit and completes. */
async function canDownload(root: string): Promise<boolean> {
  const response = await fetch(`${root}${DOWNLOAD}&limit=5`);
  const lines = (await response.text()).split("\r\n");
  return response.status === 200 && lines.length === 1 + 5 + 1;
}

testOnEach("the app aborts a download when the client reads nothing for 1 s", async (runtime) => {
  await using upstream = servePages(LARGE);
  const options = appOptionsFor(upstream, { readerTimeout });
  await using server = await startApp(runtime, options);
  const response = await fetch(server.root + DOWNLOAD);
  assertEquals(response.status, 200);
  await waitFor(() => server.log().includes("the client read nothing for 1 s"), "the log entry");
  assertEquals(upstream.pages.length, 1);
  assertEquals(await canDownload(server.root), true);
  await assertRejects(() => response.bytes());
  assertEquals(upstream.pages.length, 2);
});

/** Characters of a page that compress to half of their length. */
const RANDOM_TEXT = (() => {
  const bytes = new Uint8Array(12 * MIB);
  for (let at = 0; at < bytes.length; at += 65_536) {
    crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  }
  return bytes.toHex();
})();

testOnEach(
  "the app requests at most one page ahead when the client of /Records.csv.gz stops reading",
  async (runtime) => {
    const shape = { rows: 100, width: 0, pages: 8 };
    await using upstream = serveUpstream((request) => {
      const { value, ...envelope } = JSON.parse(pageFor(request, shape));
      const width = RANDOM_TEXT.length / shape.rows;
      const rows = value.map((row: object, index: number) => ({
        ...row,
        ResultComment: RANDOM_TEXT.slice(index * width, (index + 1) * width),
      }));
      return jsonResponse(JSON.stringify({ ...envelope, value: rows }));
    }, rowsOf(shape));
    await using server = await startApp(runtime, appOptionsFor(upstream));
    const response = await fetch(server.root + DOWNLOAD.replace(".csv", ".csv.gz"));
    const reader = response.body!.getReader();
    await reader.read();
    // The first page is larger than the buffers of the socket, so nothing more is taken.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    assert(upstream.pages.length <= 2, `${upstream.pages.length} pages`);
    await reader.cancel();
  },
);
