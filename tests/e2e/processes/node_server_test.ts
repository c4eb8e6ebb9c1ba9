// serveNode() in this process: Deno also has Node's HTTP server. tests/e2e/servers runs it in Node.
import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { serveNode } from "../../../edge/node.ts";
import { ValidationError } from "../../../mod.ts";

const ok = { fetch: () => new Response("ok") };

Deno.test("serveNode() listens on 127.0.0.1 and a free port when the port is 0", async () => {
  const server = await serveNode(ok, { port: 0, stopsOnSignals: false });
  assertMatch(server.url, /^http:\/\/127\.0\.0\.1:\d+\/$/);
  const response = await fetch(server.url);
  assertEquals([response.status, await response.text()], [200, "ok"]);
  assertEquals(await server.stop(), 0);
  await assertRejects(() => fetch(server.url));
});

Deno.test("serveNode() rejects and names an option that is not valid", async () => {
  const options = {
    port: 70_000,
    host: 1,
    shutdownTimeout: -1,
    stopsOnSignals: "yes",
    hostname: "127.0.0.1",
  };
  for (const [option, value] of Object.entries(options)) {
    const error = await assertRejects(() => serveNode(ok, { [option]: value }), ValidationError);
    assertEquals(error.option, option);
    assertStringIncludes(error.message, option);
  }
});
