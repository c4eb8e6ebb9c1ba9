// The server is at most one page ahead of a slow client, on each runtime.
import { assert } from "@std/assert";
import { startApp, testOnEach } from "./runtimes.ts";
import {
  appOptionsFor,
  DOWNLOAD,
  jsonResponse,
  pageFor,
  rowsOf,
  serveUpstream,
} from "./upstream.ts";

/** Characters of a page that compress to half of their length. */
const RANDOM_TEXT = (() => {
  const bytes = new Uint8Array(12 * 2 ** 20);
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
