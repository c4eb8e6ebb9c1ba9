// `weir mcp` as a process in Deno, Node and Bun: the official client calls its tools, and it ends with its standard input,
// or with a signal.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Client } from "@modelcontextprotocol/client";
import {
  PROGRAMS,
  readFile,
  type Runtime,
  start,
  testWithFiles,
  writeBundle,
} from "../command_line.ts";
import { lineTransport } from "../../helpers/mcp.ts";

for (const runtime of Object.keys(PROGRAMS) as Runtime[]) {
  testWithFiles(`weir mcp answers a client, writes a file and ends in ${runtime}`, async () => {
    if (runtime !== "Deno") await writeBundle();
    for (const signal of [undefined, "SIGTERM"] as const) {
      const environment = { WEIR_REQUESTS_PER_SECOND: "Infinity" };
      const line = { runtime, environment, hasFiles: true, hasInput: true };
      const child = start(line, "mcp", ".", "--sandbox");
      const writer = child.stdin.getWriter();
      const { transport, receive } = lineTransport((line) =>
        void writer.write(new TextEncoder().encode(line))
      );
      const reading = child.stdout.pipeTo(new WritableStream({ write: receive }));
      const client = new Client({ name: "test", version: "1" });
      await client.connect(transport);
      const file = `${signal}.csv`;
      const { content } = await client.callTool({
        name: "download",
        arguments: { file, characteristic: "pH", limit: 3 },
      });
      assertStringIncludes(JSON.stringify(content), "hash");
      assertEquals((await readFile(file)).split("\r\n").length, 5);
      if (signal === undefined) await writer.close();
      else child.kill(signal);
      const [{ code }, stderr] = await Promise.all([
        child.status,
        new Response(child.stderr).text(),
        reading,
      ]);
      if (signal !== undefined) await writer.abort().catch(() => {});
      assert(stderr.startsWith("weir mcp: serving"), stderr);
      assertEquals(code, signal === undefined ? 0 : 130, stderr);
      await client.close();
    }
  }, { [runtime]: PROGRAMS[runtime] });
}
