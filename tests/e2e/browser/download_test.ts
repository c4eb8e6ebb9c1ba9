// A service worker that responds to a link with the client's CSV, which the browser downloads page by
// page.
import { assert, assertEquals } from "@std/assert";
import type { Download } from "playwright-core";
import { DataStream, PRODUCTION_URL } from "../../../mod.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";
import type { AnyOriginServer } from "../any_origin_server.ts";
import { documentBlocks } from "../../helpers/documents.ts";
import { readCsv } from "../../helpers/rfc4180.ts";
import { waitFor } from "../wait_for.ts";
import { browserTest, inBrowser } from "./chromium.ts";
import { type ResponseOverride, SANDBOX_OPTIONS, serveService, serveSite } from "./site.ts";

/** Returns the CSV of the same query from a client in this process. */
async function createExpectedCsv(): Promise<Uint8Array> {
  const { apiKey, url, fetch } = createSandbox(SANDBOX_OPTIONS);
  const client = new DataStream({ apiKey, baseUrl: url, fetch, requestsPerSecond: Infinity });
  return new Uint8Array(await new Response(client.records({ top: 100 }).csv()).arrayBuffer());
}

/** Clicks the link on the page and runs a test when the download has started. */
async function withDownload(
  override: ResponseOverride,
  test: (download: Download, service: AnyOriginServer, folder: string) => Promise<void>,
): Promise<void> {
  await using site = await serveSite();
  await using service = serveService(override);
  await inBrowser(async (browser, folder) => {
    const page = await browser.newPage();
    await page.goto(site.origin);
    await page.evaluate(`(async () => {
      const url = "/download_worker.js?service=${service.origin}/v1/odata/v4";
      const isActive = new Promise((resolve) => {
        navigator.serviceWorker.addEventListener("controllerchange", resolve);
      });
      await navigator.serviceWorker.register(url, { type: "module" });
      await isActive;
    })()`);
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

browserTest("csv() is written page by page when a service worker returns it", async () => {
  const csv = await createExpectedCsv();
  const { promise: isReleased, resolve: release } = Promise.withResolvers<undefined>();
  const delayThird: ResponseOverride = (_, number) => number === 3 ? isReleased : undefined;
  await withDownload(delayThird, async (download, { requests }, folder) => {
    const written = await waitFor(() => readDownload(folder), "the first bytes in the file");
    assert(written.length < csv.length);
    assertEquals(written, csv.subarray(0, written.length));
    release(undefined);
    assertEquals(await download.failure(), null);
    assertEquals(download.suggestedFilename(), "records.csv");
    const file = await Deno.readFile(await download.path());
    const cells = (bytes: Uint8Array) => readCsv(new TextDecoder().decode(bytes));
    assertEquals(cells(file), cells(csv));
    assertEquals(file, csv);
    // Three pages and one count, without keys and preflights.
    assertEquals(requests.map(({ method }) => method), ["GET", "GET", "GET", "GET"]);
    assertEquals(requests.map(({ headers }) => headers.get("x-api-key")), Array(4).fill(null));
  });
});

browserTest("the README's service worker downloads CSV when a link is clicked", async () => {
  const [worker] = documentBlocks().filter(({ note }) => note === "service-worker");
  await using service = serveService();
  // Only the URL of the service is replaced.
  await using site = await serveSite((path, text) =>
    path === "/download_worker.js"
      ? worker!.code
      : text.replaceAll(PRODUCTION_URL, `${service.origin}/v1/odata/v4`)
  );
  await inBrowser(async (browser) => {
    const page = await browser.newPage();
    await page.goto(site.origin);
    await page.evaluate(`(async () => {
      await navigator.serviceWorker.register("/download_worker.js", { type: "module" });
      await navigator.serviceWorker.ready;
    })()`);
    await page.reload();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Download" }).click(),
    ]);
    assertEquals(await download.failure(), null);
    assertEquals(download.suggestedFilename(), "ph.csv");
    const [header, ...rows] = readCsv(await Deno.readTextFile(await download.path()));
    assert(rows.length > 0);
    for (const row of rows) assertEquals(row[header!.indexOf("CharacteristicName")], "pH");
  });
});

browserTest("the download fails when the third page is truncated", () => {
  const headers = { "content-type": "application/json" };
  const truncated: ResponseOverride = (_, number) =>
    number === 3 ? new Response('{"value":[{"Id"', { headers }) : undefined;
  return withDownload(truncated, async (download, { requests }) => {
    assertEquals(await download.failure(), "canceled");
    assertEquals(requests.length, 4);
  });
});
