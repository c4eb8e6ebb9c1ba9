// Downloads from the edge app through sockets, with fetch() and curl.
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

/** Serves the sandbox on one port, and the app that sends requests to it on another. */
function servingDownloads(
  records: number,
  upstreamOf: (sandbox: Handler) => Handler,
  test: (root: string) => Promise<void>,
): Promise<void> {
  const sandbox = createSandbox({ hostileNames: true, records, requestsPerSecond: Infinity });
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

/** Passes the first requests to the sandbox, of which one is for the versions of datasets, and answers the later ones with `fail`. */
const failingAfter = (requests: number, fail: () => Response) => (sandbox: Handler): Handler => {
  let seen = 0;
  return (request) => ++seen > requests ? fail() : sandbox(request);
};

async function curl(url: string): Promise<{ code: number; text: string }> {
  const { code, stdout } = (await runProgram("curl", "--silent", "--fail", "--globoff", url))!;
  return { code, text: stdout };
}

const unchanged = (handler: Handler) => handler;

Deno.test("GET /Records.csv returns every row once when the app and the service are servers", async () => {
  await servingDownloads(12_345, unchanged, async (root) => {
    const response = await fetch(`${root}/Records.csv?$top=1000&$select=Id,ResultComment`);
    const rows = readCsv(await response.text());
    assertEquals(rows.length, 1 + 12_345);
    assertEquals(new Set(rows.map(([id]) => id)).size, rows.length);
  });
});

Deno.test("GET /Records.csv breaks the transfer when a later page fails", async () => {
  const fail = () => Response.json({ message: "gone" }, { status: 500 });
  await servingDownloads(5_000, failingAfter(3, fail), async (root) => {
    const response = await fetch(`${root}/Records.csv?$top=1000`);
    assertEquals(response.status, 200);
    await assertRejects(() => response.text());
  });
});

Deno.test("GET /Records.csv requests no more pages when the reader cancels", async () => {
  let requests = 0;
  const counted = (sandbox: Handler): Handler => (request) => {
    requests++;
    return sandbox(request);
  };
  await servingDownloads(1_000_000, counted, async (root) => {
    const response = await fetch(`${root}/Records.csv?$top=1000`);
    const reader = response.body!.getReader();
    await reader.read();
    await reader.cancel();
  });
  // Shutting down waits for all responses, so a download that continued would request every page.
  assert(requests < 100, `${requests} pages were requested for a reader of one page`);
});

Deno.test("HEAD /Records.csv returns the headers of a download, without Content-Length", async () => {
  await servingDownloads(10, unchanged, async (root) => {
    const { status, headers } = await fetch(`${root}/Records.csv`, { method: "HEAD" });
    assertEquals([status, headers.get("content-length")], [200, null]);
    assertEquals(headers.get("content-type"), "text/csv; charset=utf-8");
  });
});

Deno.test({
  name: "curl downloads every row when the dollar signs in the URL are not encoded",
  ignore: !hasCurl,
  async fn() {
    await servingDownloads(3_000, unchanged, async (root) => {
      const url = `${root}/Records.csv?$select=Id&$filter=LocationId%20eq%201001&$top=100`;
      const { code, text } = await curl(url);
      assertEquals([code, text.startsWith("Id\r\n500003\r\n")], [0, true]);
      assertEquals(text.split("\r\n").length, 1 + 1_020 + 1);
    });
  },
});

Deno.test({
  name: "curl fails when the first page or a later page fails",
  ignore: !hasCurl,
  async fn() {
    const html = () => new Response("<html>", { headers: { "content-type": "text/html" } });
    await servingDownloads(5_000, failingAfter(3, html), async (root) => {
      const { code, text } = await curl(`${root}/Records.csv?$top=1000`);
      assertEquals(code, 18); // transfer closed with data outstanding
      assert(text.startsWith("Id,DOI,"));
      assertEquals((await curl(`${root}/Records.csv`)).code, 22); // HTTP error
    });
  },
});
