// The service worker of docs/client.md responds to a link with CSV, which the browser writes page by page.
import { assert, assertEquals } from "@std/assert";
import type { Download } from "playwright-core";
import { DataStream } from "../../../mod.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";
import { documentBlocks } from "../../helpers/documents.ts";
import { type AnyOriginServer, serveAnyOrigin } from "../any_origin_server.ts";
import { bundle } from "../bundle.ts";
import { waitFor } from "../wait_for.ts";
import { browserTest, inBrowser } from "./chromium.ts";

const { apiKey, url: baseUrl, fetch } = createSandbox({
  hostileNames: true,
  requestsPerSecond: Infinity,
});
const client = new DataStream({ apiKey, baseUrl, fetch, requestsPerSecond: Infinity });

/** Returns the worker with another service, and with small pages. */
function workerFor({ origin }: AnyOriginServer): string {
  const [worker] = documentBlocks().filter(({ note }) => note === "service-worker");
  const options =
    `{ baseUrl: "${origin}/v1/odata/v4", requestsPerSecond: Infinity, retry: { attempts: 1 } }`;
  return worker!.code.replace("DataStream()", `DataStream(${options})`)
    .replace("filter:", "top: 1000, filter:");
}

/** Serves a page of another origin with the worker, and runs a test when its download has started. */
async function withDownload(
  answerThirdPage: () => undefined | Response | Promise<undefined>,
  test: (download: Download, service: AnyOriginServer, folder: string) => Promise<void>,
): Promise<void> {
  let pages = 0;
  await using service = serveAnyOrigin(async ({ url }) => {
    const isThird = !url.includes("count=true") && ++pages === 3;
    const answer = isThird ? await answerThirdPage() : undefined;
    return answer ?? fetch(url, { headers: { "x-api-key": apiKey } });
  });
  const files: Record<string, [type: string, text: string]> = {
    "/": ["text/html", '<!doctype html><a href="/Records.csv">Download</a>'],
    "/download.js": ["text/javascript", workerFor(service)],
    "/weir.js": ["text/javascript", await bundle("mod.ts", "--platform", "browser", "--minify")],
  };
  await using site = serveAnyOrigin(({ url }) => {
    const [type = "", text] = files[new URL(url).pathname] ?? [];
    const status = text === undefined ? 404 : 200;
    return new Response(text, { status, headers: { "content-type": type } });
  });
  await inBrowser(async (browser, folder) => {
    const page = await browser.newPage();
    await page.goto(site.origin);
    await page.evaluate(`(async () => {
      await navigator.serviceWorker.register("/download.js", { type: "module" });
      await navigator.serviceWorker.ready;
    })()`);
    await page.reload();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Download" }).click(),
    ]);
    await test(download, service, folder);
  });
}

/** Returns the bytes in the download folder so far, or `undefined` without any. */
async function readDownload(folder: string): Promise<Uint8Array | undefined> {
  for await (const { name } of Deno.readDir(folder)) {
    const bytes = await Deno.readFile(`${folder}/${name}`);
    return bytes.length > 0 ? bytes : undefined;
  }
}

browserTest("csv() is written page by page when the documented worker returns it", async () => {
  const { promise: isReleased, resolve: release } = Promise.withResolvers<undefined>();
  const expected = client.records({ filter: "CharacteristicName eq 'pH'" }).csv();
  const csv = await new Response(expected).bytes();
  await withDownload(() => isReleased, async (download, { requests }, folder) => {
    const written = await waitFor(() => readDownload(folder), "the first bytes in the file");
    assert(written.length < csv.length);
    assertEquals(written, csv.subarray(0, written.length));
    release(undefined);
    assertEquals(await download.failure(), null);
    assertEquals(download.suggestedFilename(), "ph.csv");
    assertEquals(await Deno.readFile(await download.path()), csv);
    // No preflights, because no request has a key.
    assert(requests.every(({ method }) => method === "GET"));
    assert(!requests.some(({ headers }) => headers.has("x-api-key")));
  });
});

browserTest("the download fails when the third page is truncated", () => {
  const headers = { "content-type": "application/json" };
  const truncated = () => new Response('{"value":[{"Id"', { headers });
  return withDownload(truncated, async (download, { requests }) => {
    assertEquals(await download.failure(), "canceled");
    assertEquals(requests.length, 4);
  });
});
