// A client that leaves ends its request to the service and releases its permit, on each runtime.
import { assert, assertEquals } from "@std/assert";
import { waitFor } from "../wait_for.ts";
import { type ServerProgram, startApp, testOnEach } from "./runtimes.ts";
import type { Server } from "./server.ts";
import { Stall, stallAt } from "./stall.ts";
import { appOptionsFor, DOWNLOAD, isComplete, type Upstream } from "./upstream.ts";

/** Pages of 2 MB. */
const shape = { rows: 2_000, width: 1_000, pages: 3 };

/** Reads a download and aborts it when the server has requested a number of pages. */
async function abortAt(pages: number, upstream: Upstream, { root }: Server): Promise<void> {
  const controller = new AbortController();
  const reading = fetch(root + DOWNLOAD, { signal: controller.signal })
    .then((response) => response.text())
    .then(() => "complete", () => "aborted");
  await waitFor(() => upstream.pages.length === pages, `the request for page ${pages}`);
  controller.abort();
  assertEquals(await reading, "aborted");
}

/** Waits until the runtime notices the abort; workerd does so only when it writes to the client. */
async function noticeAbort(runtime: ServerProgram, stall: Stall): Promise<void> {
  if (runtime.detectsAbortOnWrite) return stall.end();
  await waitFor(() => stall.isAborted, "the abort of the request to the service", 5_000);
}

/** Time limit (ms) of a download: shorter than the 5 s after which an unused permit is reclaimed. */
const DOWNLOAD_TIMEOUT = 4_000;

/** Returns a download, or `undefined` if the server has no permit for it. */
async function download({ root }: Server): Promise<string | undefined> {
  const response = await fetch(root + DOWNLOAD, { signal: AbortSignal.timeout(DOWNLOAD_TIMEOUT) });
  if (response.status === 200) return await response.text();
  assertEquals([response.status, (await response.json()).title], [
    503,
    "Too many concurrent requests",
  ]);
}

for (const [page, point] of [[1, "before the headers"], [2, "within a page"]] as const) {
  testOnEach(
    `the app aborts its request to the service and logs the download as aborted when a client leaves during a stall ${point} of page ${page}`,
    async (runtime) => {
      const stall = new Stall(point);
      await using upstream = stallAt(page, stall, shape);
      const options = { maxDownloads: 1, logRequests: true };
      await using server = await startApp(runtime, appOptionsFor(upstream, options));
      await abortAt(page, upstream, server);
      await noticeAbort(runtime, stall);
      await waitFor(() => / info .* aborted: \d+ rows, /.test(server.log()), "the log entry");
      const csv = await waitFor(() => download(server), "a permit", 1_000);
      assert(isComplete(csv, shape));
      // Until the app notices the abort, it may have requested the next page ahead of the client.
      const pagesAhead = upstream.pages.length - page - shape.pages;
      assert(pagesAhead === 0 || runtime.detectsAbortOnWrite && pagesAhead === 1, `${pagesAhead}`);
    },
  );
}
