// Identical downloads share their pages, on each runtime.
import { assert, assertEquals } from "@std/assert";
import { startApp, testOnEach } from "./runtimes.ts";
import { Stall, stallAt } from "./stall.ts";
import { appOptionsFor, DOWNLOAD, isComplete, rowsOf } from "./upstream.ts";

/** A result of 40,000 rows. */
const CLASSROOM = { rows: 10_000, width: 60, pages: 4 };
/** With a limit, the first page is delivered while it arrives. */
const PATH = `${DOWNLOAD}&limit=${rowsOf(CLASSROOM)}`;

testOnEach(
  "the app sends the requests of one download to 100 clients, also when the first one disconnects",
  async (runtime) => {
    const stall = new Stall("within a page");
    await using upstream = stallAt(1, stall, CLASSROOM);
    const options = appOptionsFor(upstream, { cacheTtl: 60_000, pageRows: CLASSROOM.rows });
    await using server = await startApp(runtime, options);
    const first = await fetch(server.root + PATH);
    const others = await Promise.all(Array.from({ length: 99 }, () => fetch(server.root + PATH)));
    // All clients have a response before the first page is complete.
    assertEquals(upstream.pages.length, 1);
    await first.body!.cancel();
    stall.end();
    for (const text of await Promise.all(others.map((response) => response.text()))) {
      assert(isComplete(text, CLASSROOM));
    }
    // The rest of the first page is requested again, if the runtime dropped its request.
    assert(upstream.pages.length <= CLASSROOM.pages + 1, `${upstream.pages.length} pages`);
  },
);
