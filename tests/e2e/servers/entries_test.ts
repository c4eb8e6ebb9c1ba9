// The published entry points serve the sandbox. start_test.ts has those that do not start.
import { assert, assertEquals } from "@std/assert";
import {
  COMMAND_LINES,
  DEFAULT_EXPORTS,
  PUBLISHED_IN_WORKERD,
  startProgram,
  testPrograms,
} from "./runtimes.ts";

testPrograms(
  [...COMMAND_LINES, ...DEFAULT_EXPORTS, PUBLISHED_IN_WORKERD],
  "serves the sandbox when WEIR_SANDBOX is set",
  async (program) => {
    await using server = await startProgram(program, { WEIR_SANDBOX: "1" });
    const get = async (path: string) => {
      const response = await fetch(server.root + path);
      assertEquals(response.status, 200);
      return { headers: response.headers, text: await response.text() };
    };
    assertEquals((await get("/healthz")).text, "ok\n");
    const download = await get("/Records.csv?limit=5&$select=Id");
    assertEquals(download.headers.get("x-weir-data"), "synthetic");
    assertEquals(new Set(download.text.split("\r\n")).size, 1 + 5 + 1);
    assert((await get("/")).text.trimEnd().endsWith("</html>"));
  },
);
