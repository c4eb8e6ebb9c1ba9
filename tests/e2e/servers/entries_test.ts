// The published entry points, on each runtime.
import { assert, assertEquals } from "@std/assert";
import { PUBLISHED, startEntry, testOnEach, testPrograms, WORKERD } from "./runtimes.ts";

testOnEach(
  "the published entry point serves the sandbox when WEIR_SANDBOX is set",
  async (runtime) => {
    await using server = await startEntry(runtime, PUBLISHED, { WEIR_SANDBOX: "1" });
    const health = await fetch(`${server.root}/healthz`);
    assertEquals([health.status, await health.text()], [200, "ok\n"]);

    const download = await fetch(`${server.root}/Records.csv?limit=5&$select=Id`);
    assertEquals(download.status, 200);
    assertEquals(download.headers.get("x-weir-data"), "synthetic");
    const lines = (await download.text()).split("\r\n");
    assertEquals([lines.length, lines[0], lines.at(-1)], [1 + 5 + 1, "Id", ""]);
    assertEquals(new Set(lines).size, lines.length);

    const page = await fetch(server.root);
    const type = page.headers.get("content-type");
    assertEquals([page.status, type?.toLowerCase()], [200, "text/html; charset=utf-8"]);
    assert((await page.text()).trimEnd().endsWith("</html>"));
  },
);

// start_test.ts tests the other runtimes, where the process ends.
testPrograms(
  [WORKERD],
  "the published entry point responds with 503 when WEIR_ACCESS is empty",
  async (runtime) => {
    const environment = { WEIR_SANDBOX: "", WEIR_ACCESS: "", DATASTREAM_API_KEY: "a-secret-key" };
    await using server = await startEntry(runtime, PUBLISHED, environment);
    const health = await fetch(`${server.root}/healthz`);
    assertEquals([health.status, await health.text()], [200, "ok\n"]);
    const download = await fetch(`${server.root}/Records.csv`);
    assertEquals([download.status, (await download.json()).title], [503, "Not serving"]);
    assert(server.log().includes("Not serving: WEIR_ACCESS must be one of"), server.log());
    assert(!server.log().includes("a-secret-key"));
  },
);
