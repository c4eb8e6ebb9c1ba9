// Time until the first byte of a download, and conditional requests, on each runtime.
import { assertEquals, assertMatch } from "@std/assert";
import { startApp, testOnEach } from "./runtimes.ts";
import { appOptionsFor, DOWNLOAD, jsonResponse, pageFor, serveUpstream } from "./upstream.ts";
const shape = { rows: 10, width: 10, pages: 1 };

/** Sends a request over a connection of its own, and returns the response as text. */
async function sendRaw(root: string, method: string, headers: string): Promise<string> {
  const { hostname, port } = new URL(root);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  const lines = [
    `${method} ${DOWNLOAD} HTTP/1.1`,
    `host: ${hostname}:${port}`,
    headers,
    "connection: close",
  ];
  await connection.write(new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n`));
  return await new Response(connection.readable).text();
}

testOnEach(
  "GET and HEAD /Records.csv give status 304 without a body and its length when the ETag matches",
  async (runtime) => {
    await using upstream = serveUpstream((request) => jsonResponse(pageFor(request, shape)), 10);
    await using server = await startApp(runtime, appOptionsFor(upstream));
    const conditional = { headers: { "if-none-match": '"x"' } };
    const { headers, body } = await fetch(server.root + DOWNLOAD, conditional);
    await body!.cancel();
    const etag = headers.get("etag")!;
    assertEquals([headers.get("accept-ranges"), upstream.pages.length], ["none", 1]);
    for (const method of ["GET", "HEAD"]) {
      const text = await sendRaw(server.root, method, `if-none-match: "x", ${etag}`);
      assertMatch(text, /^HTTP\/1\.1 304 /);
      assertMatch(text, /\r\n\r\n$/);
      assertMatch(text.toLowerCase(), new RegExp(`\r\netag: ${etag.toLowerCase()}\r\n`));
      assertEquals(text.match(/^(content-length|content-type|transfer-encoding):.*/gim), null);
    }
    assertEquals(upstream.pages.length, 1);
  },
);
