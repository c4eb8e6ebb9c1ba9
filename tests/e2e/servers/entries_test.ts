// The published entry points, on each runtime. start_test.ts and server_entry_test.ts have those that do not start.
import { assert, assertEquals } from "@std/assert";
import { PUBLISHED, startEntry, testOnEach } from "./runtimes.ts";

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
