// Behind nginx and Caddy as docs/deploying.md configures them, a download arrives while the server sends it, its end and its
// client are known to the server, a broken one stays broken, and responses keep their headers.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { sha256Hex } from "../../../src/bytes.ts";
import { testNeeding } from "../needs.ts";
import { node } from "../runtime_programs.ts";
import { COMMAND_LINES, startProgram } from "../servers/runtimes.ts";
import type { Server } from "../servers/server.ts";
import { Stall, stallAt } from "../servers/stall.ts";
import { DOWNLOAD, environmentFor, isComplete } from "../servers/upstream.ts";
import { killGroup, runProgram } from "../../helpers/programs.ts";
import { waitFor } from "../wait_for.ts";
import { PROXIES, type Proxy, type ProxyProgram } from "./proxies.ts";

const URL_ROOT = "https://weir.example";
const METRICS_TOKEN = "metrics-token-of-a-test";
const ENVIRONMENT = {
  WEIR_CLIENT_ADDRESS_HEADER: "x-forwarded-for",
  WEIR_METRICS_TOKEN: METRICS_TOKEN,
  WEIR_MAX_DOWNLOADS: "1",
};
const SERVER = COMMAND_LINES.find(({ name }) => name.includes("Node"))!;
const hasCurl = (await runProgram("curl", "--version"))?.success;

/** Registers a test with each proxy that is installed. */
function testBehind(does: string, test: (program: ProxyProgram) => Promise<void>): void {
  for (const program of PROXIES) {
    const needs = { [program.name]: program.isInstalled, Node: node, curl: hasCurl };
    testNeeding(needs, `${program.name}: ${does}`, () => test(program));
  }
}

interface OpenDownload extends AsyncDisposable {
  stall: Stall;
  server: Server;
  proxy: Proxy;
  /** Has received the first page, while the request for the second one stalls. */
  client: Deno.ChildProcess;
}

const shape = { rows: 2_000, width: 100, pages: 3 };

async function openDownload(program: ProxyProgram, ...flags: string[]): Promise<OpenDownload> {
  await using resources = new AsyncDisposableStack();
  const stall = new Stall("before the headers");
  const upstream = resources.use(stallAt(2, stall, shape));
  const environment = { ...environmentFor(upstream), ...ENVIRONMENT };
  const server = resources.use(await startProgram(SERVER, environment));
  const proxy = resources.use(await program.start(server));
  const client = proxy.spawnCurl(...flags, URL_ROOT + DOWNLOAD);
  let text = "";
  const read = async () => {
    for await (const part of client.stdout.pipeThrough(new TextDecoderStream())) text += part;
  };
  const ended = Promise.all([read(), client.status]);
  resources.defer(async () => {
    await killGroup(client);
    await ended;
  });
  await waitFor(() => text.includes(`\r\n${shape.rows},`), "the first page");
  const all = resources.move();
  return { stall, server, proxy, client, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

testBehind(
  "the first page arrives before the second, and a client that is killed ends its download at the server",
  async (program) => {
    const flags = ["--interface", "127.0.0.2", "--header", "x-forwarded-for: 192.0.2.1"];
    await using open = await openDownload(program, ...flags);
    const { stall, server, proxy, client } = open;
    const bearer = `authorization: Bearer ${METRICS_TOKEN}`;
    const { stdout } = await proxy.curl("--header", bearer, `${URL_ROOT}/status`);
    // The address of the connection, not one that the client has chosen.
    assertStringIncludes(stdout, `<td>${(await sha256Hex("127.0.0.2")).slice(0, 8)}</td>`);
    client.kill("SIGKILL");
    await client.status;
    await waitFor(() => stall.isAborted, "the abort of the request to the service");
    await waitFor(() => server.log().includes("200 aborted: 2000 rows, "), "the line in the log");
    // The slot is free.
    assert(isComplete((await proxy.curl(URL_ROOT + DOWNLOAD)).stdout, shape));
  },
);

testBehind(
  "curl fails when the server is killed during a download, except behind Caddy 2.6.2",
  async (program) => {
    await using open = await openDownload(program);
    open.server.signal("SIGKILL");
    const { code } = await open.client.status;
    // docs/deploying.md warns of a version that does not.
    assertEquals(code !== 0, program.keepsBroken);
  },
);

/** Headers of a connection, and those that each response has anew. */
const CONNECTION_HEADERS =
  /^(alt-svc|connection|date|keep-alive|server|transfer-encoding|via|x-request-id)$/;

testBehind(
  "responses keep their status, length, range and other headers, and the page has URLs with TLS",
  async (program) => {
    const sandbox = { WEIR_SANDBOX: "1", WEIR_REQUESTS_PER_SECOND: "1000" };
    await using server = await startProgram(SERVER, sandbox);
    await using proxy = await program.start(server);
    const requests: [path: string, method: string, range: string, status: number][] = [
      ["/Locations.geojson", "HEAD", "", 200],
      ["/Locations.geojson", "GET", "bytes=10-99", 206],
      ["/Locations.geojson", "GET", "bytes=99999999-", 416],
      ["/Records.csv?limit=3", "GET", "", 200],
      ["/Records.csv?limit=x", "GET", "", 400],
    ];
    const headersOf = (entries: Iterable<readonly [string, string]>) =>
      Object.fromEntries(
        [...entries].filter(([name]) => !CONNECTION_HEADERS.test(name))
          .map(([name, value]) => [name, value.replace(/max-age=\d+, no/, "max-age=N, no")]),
      );
    for (const [path, method, range, status] of requests) {
      const headers = { "accept-encoding": "gzip", ...(range && { range }) };
      const request = async () => {
        const response = await fetch(server.root + path, { method, headers });
        await response.text();
        return response;
      };
      await request();
      // Of the document in memory.
      const response = await request();
      const { stdout } = await proxy.curl(
        ...(method === "HEAD" ? ["--head"] : ["--dump-header", "-", "--output", "/dev/null"]),
        ...Object.entries(headers).flatMap(([name, value]) => ["--header", `${name}: ${value}`]),
        URL_ROOT + path,
      );
      const [line, ...lines] = stdout.trim().split("\r\n");
      const found = new Headers(lines.map((line) => line.split(/: (.*)/, 2) as [string, string]));
      const place = `${method} ${path} ${range}`;
      assertEquals([response.status, line!.split(" ")[1]], [status, String(status)], place);
      assertEquals(headersOf(found), headersOf(response.headers), place);
    }
    const page = await proxy.curl(`${URL_ROOT}/?from=2000`);
    assert(page.stdout.includes(`read.csv(&quot;${URL_ROOT}/Records.csv`));
    const target = "weir.example/Records.csv?$select=Id";
    const redirect = await proxy.curl("--write-out", "%{redirect_url}", `http://${target}`);
    assert(redirect.stdout.endsWith(`https://${target}`), redirect.stdout);
  },
);
