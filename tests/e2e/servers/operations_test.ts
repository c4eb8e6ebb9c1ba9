// What a runtime changes: the log of aborted downloads, readiness, and connections of HTTP/1.0 and with errors.
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { waitFor } from "../wait_for.ts";
import {
  COMMAND_LINES,
  DEFAULT_EXPORTS,
  NODE,
  type ServerProgram,
  startApp,
  startProgram,
  testOnEach,
  testPrograms,
  WORKERD,
} from "./runtimes.ts";
import { sendRaw, type Server } from "./server.ts";
import {
  appOptionsFor,
  DOWNLOAD,
  environmentFor,
  jsonResponse,
  pageFor,
  rowsOf,
  servePages,
  serveUpstream,
  type Upstream,
} from "./upstream.ts";

const shape = { rows: 2_000, width: 100, pages: 3 };

function start(runtime: ServerProgram, upstream: Upstream): Promise<Server> {
  return startApp(runtime, appOptionsFor(upstream, { logRequests: true, logFormat: "json" }));
}

/** Waits for the line of a request in the log of a server. */
async function logged(server: Server, id: string): Promise<Record<string, unknown>> {
  return await waitFor(() => {
    // The last line may be incomplete.
    return server.log().split("\n").filter((line) => /^\{"time".*\}$/.test(line))
      .map((line) => JSON.parse(line))
      .find(({ requestId, message }) => requestId === id && message === "request");
  }, `the line of ${id} in the log`);
}

testOnEach("the app logs a download as aborted when the client leaves", async (runtime) => {
  // Larger than the buffers of the sockets, so that the server is still writing.
  const large = { rows: 2_000, width: 5_000, pages: 3 };
  await using upstream = servePages(large);
  await using server = await start(runtime, upstream);
  const response = await fetch(server.root + DOWNLOAD, { headers: { "x-request-id": "aborted" } });
  const reader = response.body!.getReader();
  await reader.read();
  await reader.cancel();
  const { outcome, status, rows, level } = await logged(server, "aborted");
  assertEquals([outcome, status, level], ["aborted", 200, "info"]);
  assert(Number(rows) > 0 && Number(rows) < rowsOf(large));
});

testPrograms(
  [...COMMAND_LINES, ...DEFAULT_EXPORTS],
  "prints only JSON without secrets when a download fails after its first page",
  async (program) => {
    const token = "a-token-of-this-test+/0123";
    const filter = `CharacteristicName eq '${token}'`;
    await using upstream = serveUpstream(
      (request, number) =>
        number === 1
          ? jsonResponse(pageFor(request, shape))
          : Response.json({ message: `bad: ${filter}, ${request.url}` }, { status: 400 }),
      rowsOf(shape),
    );
    await using server = await startProgram(program, {
      ...environmentFor(upstream),
      WEIR_ACCESS: "token",
      WEIR_TOKENS: token,
      WEIR_LOG: "json",
    });
    const url = `${server.root}${DOWNLOAD}&$filter=${encodeURIComponent(filter)}`;
    const headers = { "x-request-id": "failed", authorization: `Bearer ${token}` };
    const response = await fetch(url, { headers });
    assertEquals(await response.text().then(() => "complete", () => "broken"), "broken");
    assertEquals((await logged(server, "failed")).outcome, "failed");
    server.signal("SIGTERM");
    await server.exitCode;
    // `deno serve` and Bun print their own line with the address.
    const lines = server.log().split("\n")
      .filter((line) => !/^(deno serve: Listening on |Started server: |$)/.test(line));
    for (const line of lines) JSON.parse(line);
    assertStringIncludes(server.log(), "Download of Records failed after its first rows");
    for (const secret of [token, encodeURIComponent(token), "a-secret-key"]) {
      assertEquals(server.log().includes(secret), false);
    }
  },
);

testPrograms(
  [WORKERD],
  "GET /readyz shares one probe between concurrent requests",
  async (runtime) => {
    await using upstream = servePages(shape);
    await using server = await start(runtime, upstream);
    const responses = await Promise.all(
      Array.from({ length: 8 }, () => fetch(`${server.root}/readyz`)),
    );
    for (const response of responses) {
      assertEquals([response.status, await response.text()], [200, "ready\n"]);
    }
    assertEquals(upstream.requests.length, 1);
  },
);

testOnEach("the app gives a 400 when the host header is invalid", async (runtime) => {
  await using upstream = servePages(shape);
  await using server = await start(runtime, upstream);
  const head = "GET /Records.csv?signature=a-secret HTTP/1.1\r\nhost: a b\r\nconnection: close";
  const response = await sendRaw(server, `${head}\r\n\r\n`);
  assertMatch(response, /^HTTP\/1.1 400 /);
  assertEquals(server.log().includes("a-secret"), false);
});

testPrograms(
  [NODE],
  "a response to HTTP/1.0 resets the connection when the download fails",
  async (runtime) => {
    await using upstream = serveUpstream((request, number) => {
      const page = jsonResponse(pageFor(request, shape));
      return number === 1 ? page : Response.json({}, { status: 400 });
    }, rowsOf(shape));
    await using server = await start(runtime, upstream);
    const received = sendRaw(server, `GET ${DOWNLOAD} HTTP/1.0\r\n\r\n`);
    assertMatch(await received.catch(String), /reset/i);
  },
);
