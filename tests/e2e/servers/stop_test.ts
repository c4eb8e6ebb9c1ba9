// Servers that receive a signal: open downloads complete, or are interrupted after 25 s.
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { waitFor } from "../wait_for.ts";
import {
  COMMAND_LINES,
  DEFAULT_EXPORTS,
  type ServerProgram,
  startProgram,
  testPrograms,
} from "./runtimes.ts";
import { connect, sendRaw, type Server } from "./server.ts";
import { Stall, stallAt } from "./stall.ts";
import { DOWNLOAD, environmentFor, isComplete, type Upstream } from "./upstream.ts";

const shape = { rows: 2_000, width: 100, pages: 3 };
const PROGRAMS = [...COMMAND_LINES, ...DEFAULT_EXPORTS];
const DENO_PROGRAMS = PROGRAMS.filter(({ name }) => /deno/i.test(name));

const stallSecondPage = (stall: Stall) => stallAt(2, stall, shape);
const start = (program: ServerProgram, upstream: Upstream) =>
  startProgram(program, environmentFor(upstream));

/** Starts a download, and waits until its second page was requested. The function returns the text, or how it ended. */
async function startDownload({ root }: Server, upstream: Upstream): Promise<() => Promise<string>> {
  const response = await fetch(root + DOWNLOAD);
  const text = response.text().catch(() => "interrupted");
  await waitFor(() => upstream.pages.length === 2, "the request for page 2");
  return () => text;
}

const refusesConnections = (server: Server) =>
  connect(server).then((connection) => connection.close(), () => true);

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  testPrograms(
    PROGRAMS,
    `closes connections without a request, finishes an open download and exits with 0 when it receives ${signal}`,
    async (program) => {
      const stall = new Stall("before the headers");
      await using upstream = stallSecondPage(stall);
      await using server = await start(program, upstream);
      using _unused = await connect(server);
      // The server keeps the connection open.
      const idle = sendRaw(server, "GET /healthz HTTP/1.1\r\nhost: test\r\n\r\n");
      const download = await startDownload(server, upstream);
      server.signal(signal);
      await waitFor(() => refusesConnections(server), "the end of listening");
      // While the download is open.
      await idle.catch(() => {});
      const released = performance.now();
      stall.end();
      assert(isComplete(await download(), shape));
      assertEquals(await server.exitCode, 0);
      // Long before the shutdown timeout.
      assert(performance.now() - released < 15_000);
      assertEquals(server.log().includes("Interrupted"), false);
    },
  );
}

// All programs in one test, because each waits for 25 s.
Deno.test("servers interrupt a download after 25 s, log it, print the number and exit with 1", async () => {
  const installed = PROGRAMS.filter(({ isInstalled }) => isInstalled);
  await Promise.all(installed.map(async (program) => {
    await using upstream = stallSecondPage(new Stall("before the headers"));
    await using server = await start(program, upstream);
    const download = await startDownload(server, upstream);
    server.signal("SIGTERM");
    assertEquals(await download(), "interrupted", program.name);
    assertEquals(await server.exitCode, 1);
    assertStringIncludes(server.log(), "Interrupted 1 open response after 25 s\n");
    const lines = server.log().split("\n").filter((line) => line.includes("GET /Records.csv"));
    assertEquals(lines.length, 1);
    assertMatch(lines[0]!, / error \S+ GET \/Records.csv 200 interrupted: 2000 rows, /);
  }));
});

testPrograms(
  DENO_PROGRAMS,
  "exits at the timeout when the body of a request is missing",
  async (program) => {
    await using server = await startProgram(program, { WEIR_SANDBOX: "1" });
    using connection = await connect(server);
    await connection.write(
      new TextEncoder().encode("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n"),
    );
    await (await fetch(`${server.root}/healthz`)).text();
    const signalled = performance.now();
    server.signal("SIGTERM");
    await server.exitCode;
    assert(performance.now() - signalled < 60_000);
  },
);

testPrograms(
  PROGRAMS,
  "exits with 130 and interrupts a download when it receives a second signal",
  async (program) => {
    await using upstream = stallSecondPage(new Stall("before the headers"));
    await using server = await start(program, upstream);
    const download = await startDownload(server, upstream);
    server.signal("SIGTERM");
    await waitFor(() => refusesConnections(server), "the end of listening");
    server.signal("SIGINT");
    assertEquals(await download(), "interrupted");
    assertEquals(await server.exitCode, 130);
  },
);
