// Time until the first byte of a download, and conditional requests, on each runtime.
import { assert, assertEquals, assertMatch } from "@std/assert";
import { startApp, testOnEach } from "./runtimes.ts";
import {
  appOptionsFor,
  DOWNLOAD,
  isComplete,
  jsonResponse,
  pageFor,
  serveUpstream,
} from "./upstream.ts";

/** Factor by which the app's clock is faster than real time. */
const SPEED = 20;
const shape = { rows: 10, width: 10, pages: 1 };

/** Splits a page into bodies that arrive with a pause (ms) before each. */
function trickle(page: string, parts: number, pause: number): Response {
  const length = Math.ceil(page.length / parts);
  let sent = 0;
  return jsonResponse(
    new ReadableStream({
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, pause));
        if (sent < page.length) {
          controller.enqueue(new TextEncoder().encode(page.slice(sent, sent += length)));
        } else controller.close();
      },
    }, { highWaterMark: 0 }),
  );
}

testOnEach(
  "GET /Records.csv gives status 504 after 60 s when the service accepts a request and is silent",
  async (runtime) => {
    const closed = Promise.withResolvers<Response>();
    await using upstream = serveUpstream(() => closed.promise, 10);
    await using server = await startApp(
      runtime,
      appOptionsFor(upstream, { clockSpeed: SPEED, retry: {} }),
    );
    const start = performance.now();
    const response = await fetch(server.root + DOWNLOAD);
    assertEquals([response.status, (await response.json()).title], [504, "DataStream timeout"]);
    const seconds = (performance.now() - start) / 1_000 * SPEED;
    assert(
      seconds > 55 && upstream.pages.length === 2,
      `${seconds} s, ${upstream.pages.length} requests`,
    );
    closed.resolve(new Response(null));
  },
);

testOnEach(
  "GET /Records.csv gives every row when the first page arrives slowly and is held for maxRows",
  async (runtime) => {
    // 100 s of the app's clock, with a pause of 20 s before each part.
    const pause = 20_000 / SPEED;
    await using upstream = serveUpstream(
      (request) => trickle(pageFor(request, shape), 4, pause),
      10,
    );
    const options = { clockSpeed: SPEED, maxRows: 100 };
    await using server = await startApp(runtime, appOptionsFor(upstream, options));
    const response = await fetch(server.root + DOWNLOAD);
    assertEquals([response.status, isComplete(await response.text(), shape)], [200, true]);
  },
);

testOnEach(
  "GET /Records.csv gives status 503 when the service asks to wait for a minute",
  async (runtime) => {
    const busy = () => Response.json({}, { status: 429, headers: { "retry-after": "60" } });
    await using upstream = serveUpstream(busy, 10);
    await using server = await startApp(runtime, appOptionsFor(upstream, { retry: {} }));
    for (let times = 0; times < 2; times++) {
      const response = await fetch(server.root + DOWNLOAD);
      await response.body?.cancel();
      const seconds = Number(response.headers.get("retry-after"));
      assertEquals([response.status, seconds > 50 && seconds <= 60], [503, true]);
    }
    assertEquals(upstream.pages.length, 1);
  },
);

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
