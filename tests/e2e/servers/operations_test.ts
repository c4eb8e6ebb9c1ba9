// What a runtime changes: its own lines in the log, readiness, and connections of HTTP/1.0 and with errors.
import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { waitFor } from "../wait_for.ts";
import {
  COMMAND_LINES,
  DEFAULT_EXPORTS,
  NODE,
  startApp,
  startProgram,
  testOnEach,
  testPrograms,
  WORKERD,
} from "./runtimes.ts";
import { sendRaw } from "./server.ts";
import {
  appOptionsFor,
  DOWNLOAD,
  environmentFor,
  jsonResponse,
  pageFor,
  rowsOf,
  servePages,
  serveUpstream,
} from "./upstream.ts";

const shape = { rows: 2_000, width: 100, pages: 3 };

/** Serves the first page of a result, and refuses the others. */
const serveFirstPage = () =>
  serveUpstream(
    (request, number) =>
      number === 1
        ? jsonResponse(pageFor(request, shape))
        : Response.json({ message: "no a-secret-key" }, { status: 400 }),
    rowsOf(shape),
  );

testPrograms(
  [...COMMAND_LINES, ...DEFAULT_EXPORTS],
  "prints only JSON without the key when a download fails after its first page",
  async (program) => {
    await using upstream = serveFirstPage();
    const environment = { ...environmentFor(upstream), WEIR_LOG: "json" };
    await using server = await startProgram(program, environment);
    const response = await fetch(server.root + DOWNLOAD);
    await assertRejects(() => response.text());
    await waitFor(() => server.log().includes('"outcome":"failed"'), "the line in the log");
    server.signal("SIGTERM");
    await server.exitCode;
    // `deno serve` and Bun print their own line with the address.
    const lines = server.log().split("\n")
      .filter((line) => !/^(deno serve: Listening on |Started server: |$)/.test(line));
    for (const line of lines) JSON.parse(line);
    assertStringIncludes(server.log(), "Download of Records failed after its first rows");
    assertEquals(server.log().includes("a-secret-key"), false);
  },
);

testPrograms(
  [WORKERD],
  "GET /readyz shares one probe between concurrent requests",
  async (runtime) => {
    await using upstream = servePages(shape);
    await using server = await startApp(runtime, appOptionsFor(upstream));
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
  await using server = await startApp(runtime, appOptionsFor(upstream, { logRequests: true }));
  const head = "GET /Records.csv?signature=a-secret HTTP/1.1\r\nhost: a b\r\nconnection: close";
  const response = await sendRaw(server, `${head}\r\n\r\n`);
  assertMatch(response, /^HTTP\/1.1 400 /);
  assertEquals(server.log().includes("a-secret"), false);
});

testPrograms(
  [NODE],
  "a response to HTTP/1.0 resets the connection when the download fails",
  async (runtime) => {
    await using upstream = serveFirstPage();
    await using server = await startApp(runtime, appOptionsFor(upstream));
    const received = sendRaw(server, `GET ${DOWNLOAD} HTTP/1.0\r\n\r\n`);
    assertMatch(await received.catch(String), /reset/i);
  },
);
