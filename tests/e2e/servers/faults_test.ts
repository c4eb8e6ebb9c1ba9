// A fault of the service aborts the transfer after its first page, on each runtime.
import { assertEquals, assertRejects } from "@std/assert";
import { waitFor } from "../wait_for.ts";
import { startApp, testOnEach } from "./runtimes.ts";
import {
  appOptionsFor,
  DOWNLOAD,
  jsonResponse,
  pageFor,
  rowsOf,
  serveUpstream,
} from "./upstream.ts";

/** Responds with fewer bytes than its Content-Length. */
const breakOff = () =>
  new Response(ReadableStream.from([new TextEncoder().encode('{"value":[{"Id":41,')]), {
    headers: { "content-type": "application/json", "content-length": "1000" },
  });

testOnEach("fetch() rejects when the second page breaks off", async (runtime) => {
  // Pages of many chunks, and of one.
  for (const rows of [2_000, 20]) {
    const shape = { rows, width: 1_000, pages: 5 };
    await using upstream = serveUpstream(
      (request, number) => number === 2 ? breakOff() : jsonResponse(pageFor(request, shape)),
      rowsOf(shape),
    );
    await using server = await startApp(runtime, appOptionsFor(upstream));
    const response = await fetch(server.root + DOWNLOAD);
    assertEquals(response.status, 200);
    await assertRejects(() => response.text());
    await waitFor(() => server.log().includes("Download of Records failed"), "the log entry");
    assertEquals(upstream.pages.length, 2);
  }
});
