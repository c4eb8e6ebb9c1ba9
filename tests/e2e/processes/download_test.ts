// Downloads from a real server over loopback, by fetch and by curl.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { createApp } from "../../../edge/app.ts";
import { runProgram } from "../../helpers/programs.ts";
import { readCsv } from "../../helpers/rfc4180.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";

const hasCurl = await runProgram("curl", "--version") !== undefined;
if (!hasCurl) console.warn("The curl tests are skipped: curl is not installed");

type Handler = (request: Request) => Response | Promise<Response>;

/** Serves a handler on a free port while the test runs. */
async function serving(handler: Handler, test: (root: string) => Promise<void>): Promise<void> {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, handler);
  try {
    await test(`http://127.0.0.1:${server.addr.port}`);
  } finally {
    await server.shutdown();
  }
}

/** The sandbox behind a real socket, and the app over it behind another. */
function servingDownloads(
  records: number,
  upstreamOf: (sandbox: Handler) => Handler,
  test: (root: string) => Promise<void>,
): Promise<void> {
  const sandbox = createSandbox({ records, requestsPerSecond: Infinity });
  return serving(upstreamOf(sandbox.fetch), (upstream) => {
    const app = createApp({
      access: "public",
      apiKey: sandbox.apiKey,
      baseUrl: `${upstream}/v1/odata/v4`,
      requestsPerSecond: Infinity,
      retry: { attempts: 1 },
      log: () => {},
    });
    return serving((request) => app.fetch(request), test);
  });
}

/** Gives the first requests to the sandbox, and fails the later ones. */
const failingAfter = (requests: number, fail: () => Response) => (sandbox: Handler): Handler => {
  let seen = 0;
  return (request) => ++seen > requests ? fail() : sandbox(request);
};

async function curl(url: string): Promise<{ code: number; text: string }> {
  const { code, stdout } = (await runProgram("curl", "--silent", "--fail", "--globoff", url))!;
  return { code, text: stdout };
}

const same = (handler: Handler) => handler;

Deno.test("a download comes whole over two sockets", async () => {
  await servingDownloads(12_345, same, async (root) => {
    const response = await fetch(`${root}/Records.csv?$top=1000&$select=Id,ResultComment`);
    const rows = readCsv(await response.text());
    assertEquals(rows.length, 1 + 12_345);
    assertEquals(new Set(rows.map(([id]) => id)).size, rows.length);
  });
});

Deno.test("a fault after the first page breaks the transfer of fetch", async () => {
  const fail = () => Response.json({ message: "gone" }, { status: 500 });
  await servingDownloads(5_000, failingAfter(2, fail), async (root) => {
    const response = await fetch(`${root}/Records.csv?$top=1000`);
    assertEquals(response.status, 200);
    await assertRejects(() => response.text());
  });
});

Deno.test("a reader that leaves ends the requests to the service", async () => {
  let asked = 0;
  const counted = (sandbox: Handler): Handler => (request) => {
    asked++;
    return sandbox(request);
  };
  await servingDownloads(1_000_000, counted, async (root) => {
    const response = await fetch(`${root}/Records.csv?$top=1000`);
    const reader = response.body!.getReader();
    await reader.read();
    await reader.cancel();
  });
  // Shutting down waits for every answer: had the reader's leaving not ended it, all were asked.
  assert(asked < 100, `${asked} pages were asked for a reader that took one`);
});

Deno.test("HEAD over a socket has the headers of a download, and no length", async () => {
  await servingDownloads(10, same, async (root) => {
    const { status, headers } = await fetch(`${root}/Records.csv`, { method: "HEAD" });
    assertEquals([status, headers.get("content-length")], [200, null]);
    assertEquals(headers.get("content-type"), "text/csv; charset=utf-8");
  });
});

Deno.test({
  name: "curl gets a whole download, with raw dollars in the URL",
  ignore: !hasCurl,
  async fn() {
    await servingDownloads(3_000, same, async (root) => {
      const url = `${root}/Records.csv?$select=Id&$filter=LocationId%20eq%201001&$top=100`;
      const { code, text } = await curl(url);
      assertEquals([code, text.startsWith("Id\r\n500003\r\n")], [0, true]);
      assertEquals(text.split("\r\n").length, 1 + 1_020 + 1);
    });
  },
});

Deno.test({
  name: "curl exits non-zero after a fault in mid-download, and at an error before it",
  ignore: !hasCurl,
  async fn() {
    const html = () => new Response("<html>", { headers: { "content-type": "text/html" } });
    await servingDownloads(5_000, failingAfter(2, html), async (root) => {
      const { code, text } = await curl(`${root}/Records.csv?$top=1000`);
      assertEquals(code, 18); // transfer closed with data outstanding
      assert(text.startsWith("Id,DOI,"));
      assertEquals((await curl(`${root}/Records.csv`)).code, 22); // HTTP error
    });
  },
});
