// Faults of the service, on each runtime: an error status before the first page, an aborted transfer
// after it.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { runProgram } from "../../helpers/programs.ts";
import { waitFor } from "../wait_for.ts";
import { startApp, testOnEach } from "./runtimes.ts";
import {
  appOptionsFor,
  DOWNLOAD,
  isComplete,
  jsonResponse,
  pageFor,
  rowsOf,
  serveUpstream,
} from "./upstream.ts";

const FAULTS: Record<string, () => Response> = {
  "status 500": () => Response.json({ message: "no" }, { status: 500 }),
  // Fewer bytes than its Content-Length.
  "a closed connection": () =>
    new Response(ReadableStream.from([new TextEncoder().encode('{"value":[{"Id":41,')]), {
      headers: { "content-type": "application/json", "content-length": "1000" },
    }),
};
/** Pages of many chunks, and of one. */
const SHAPES = [{ rows: 2_000, width: 1_000, pages: 5 }, { rows: 20, width: 1_000, pages: 5 }];

for (const [name, fault] of Object.entries(FAULTS)) {
  testOnEach(
    `fetch() rejects, and curl fails, when the second page has ${name}`,
    async (runtime) => {
      for (const shape of SHAPES) {
        await using upstream = serveUpstream(
          // The second page of either client.
          (request, number) => number % 2 === 0 ? fault() : jsonResponse(pageFor(request, shape)),
          rowsOf(shape),
        );
        await using server = await startApp(runtime, appOptionsFor(upstream));
        const response = await fetch(server.root + DOWNLOAD);
        assertEquals(response.status, 200);
        await assertRejects(() => response.text());
        const line = "Download of Records failed after";
        await waitFor(() => server.log().includes(line), "the log entry");
        assertEquals(upstream.pages.length, 2);
        const url = server.root + DOWNLOAD;
        const ran = await runProgram("curl", "--silent", "--fail", url);
        assert(ran, "curl is not installed");
        assertEquals([ran.success, isComplete(ran.stdout, shape)], [false, false]);
        assertEquals(upstream.pages.length, 4);
      }
    },
  );
}
