// serveNode() in this process: Deno also has Node's HTTP server. tests/e2e/servers runs it in Node.
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { serveNode } from "../../../edge/node.ts";
import { ValidationError } from "../../../mod.ts";

const options = { port: 0, stopsOnSignals: false };
const ok = { fetch: () => new Response("ok") };

Deno.test("serveNode() listens on 127.0.0.1 and a free port when the port is 0", async () => {
  const server = await serveNode(ok, options);
  assertEquals(
    server.url.replace(/:\d+/, ":PORT"),
    "http://127.0.0.1:PORT/".replace(/:\d+/, ":PORT"),
  );
  const response = await fetch(server.url);
  assertEquals([response.status, await response.text()], [200, "ok"]);
  assertEquals(await server.stop(), 0);
  await assertRejects(() => fetch(server.url));
});

Deno.test("serveNode() responds with 400 when the host header is invalid", async () => {
  const app = { fetch: ({ url }: Request) => new Response(new URL(url).pathname) };
  const server = await serveNode(app, options);
  const { hostname, port } = new URL(server.url);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  await connection.write(new TextEncoder().encode("GET / HTTP/1.1\r\nhost: a b\r\n\r\n"));
  const bytes = new Uint8Array(4_096);
  const length = await connection.read(bytes);
  assertMatch(new TextDecoder().decode(bytes.subarray(0, length ?? 0)), /^HTTP\/1.1 400 /);
  await server.stop();
});

Deno.test("serveNode() rejects with a message when the port is in use", async () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = taken.addr as Deno.NetAddr;
  const error = await assertRejects(() => serveNode(ok, { ...options, port }), Error);
  assertEquals(
    error.message,
    `Cannot listen on http://127.0.0.1:${port}/: another program uses this port: choose another ` +
      "port, or stop that program",
  );
});

for (
  const [option, given] of [
    ["port", { port: 70_000 }],
    ["host", { host: 1 }],
    ["shutdownTimeout", { shutdownTimeout: -1 }],
    ["stopsOnSignals", { stopsOnSignals: "yes" }],
    ["hostname", { hostname: "127.0.0.1" }],
  ] as const
) {
  Deno.test(`serveNode() rejects when the option ${option} is not valid`, async () => {
    const error = await assertRejects(() => serveNode(ok, given as object), ValidationError);
    assertEquals(error.option, option);
    assert(error.message.length > 0);
    assertStringIncludes(error.message, option);
  });
}
