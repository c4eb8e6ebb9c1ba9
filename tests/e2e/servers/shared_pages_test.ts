// Identical downloads share their pages, on each runtime.
import { assert, assertEquals } from "@std/assert";
import { startApp, testOnEach } from "./runtimes.ts";
import {
  appOptionsFor,
  DOWNLOAD,
  isComplete,
  jsonResponse,
  pageFor,
  rowsOf,
  serveUpstream,
  type Upstream,
} from "./upstream.ts";

/** A result of 40,000 rows. */
const CLASSROOM = { rows: 10_000, width: 60, pages: 4 };
/** With a limit, the first page is delivered while it arrives. */
const PATH = `${DOWNLOAD}&limit=${rowsOf(CLASSROOM)}`;

/** Serves a result. The first request for its first page gets half of it until `resume()` is called. */
function servePausedUpstream(): Upstream & { resume: () => void } {
  const { promise: resumed, resolve: resume } = Promise.withResolvers<void>();
  const upstream = serveUpstream((request, number) => {
    const page = new TextEncoder().encode(pageFor(request, CLASSROOM));
    if (number > 1) return jsonResponse(page);
    const half = page.length / 2;
    return jsonResponse(
      new ReadableStream({
        async start(controller) {
          controller.enqueue(page.subarray(0, half));
          await resumed;
          controller.enqueue(page.subarray(half));
          controller.close();
        },
      }),
    );
  }, rowsOf(CLASSROOM));
  return Object.assign(upstream, { resume });
}

testOnEach(
  "the app sends the requests of one download to 100 clients, also when the first one disconnects",
  async (runtime) => {
    await using upstream = servePausedUpstream();
    const options = appOptionsFor(upstream, { cacheTtl: 60_000 });
    await using server = await startApp(runtime, options);
    const first = await fetch(server.root + PATH);
    const others = await Promise.all(Array.from({ length: 99 }, () => fetch(server.root + PATH)));
    // All clients have a response before the first page is complete.
    assertEquals(upstream.pages.length, 1);
    await first.body!.cancel();
    upstream.resume();
    for (const text of await Promise.all(others.map((response) => response.text()))) {
      assert(isComplete(text, CLASSROOM));
    }
    // The rest of the first page is requested again, if the runtime dropped its request.
    assert(upstream.pages.length <= CLASSROOM.pages + 1, `${upstream.pages.length} pages`);
  },
);
