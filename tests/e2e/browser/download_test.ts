// Downloads by a link, to which a service worker responds with the client's CSV. The browser writes
// them to a file page by page.
import { assert, assertEquals } from "@std/assert";
import type { Download } from "playwright-core";
import { DataStream, PRODUCTION_URL } from "../../../mod.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";
import type { AnyOriginServer } from "../../helpers/any_origin_server.ts";
import { readFences } from "../../helpers/readme.ts";
import { readCsv } from "../../helpers/rfc4180.ts";
import { until } from "../../helpers/until.ts";
import { inBrowser, isInstalled } from "./chromium.ts";
import { DATA, type Instead, serveService, serveSite } from "./site.ts";

/** Returns the CSV of the same query from the client in this process. */
async function csvHere(): Promise<Uint8Array> {
  const { apiKey, url, fetch } = createSandbox(DATA);
  const client = new DataStream({ apiKey, baseUrl: url, fetch, requestsPerSecond: Infinity });
  return new Uint8Array(await new Response(client.records({ top: 100 }).csv()).arrayBuffer());
}

/** Clicks the link on the page, and calls the test when the download has begun. */
async function onDownload(
  instead: Instead,
  test: (download: Download, service: AnyOriginServer, folder: string) => Promise<void>,
): Promise<void> {
  await using site = await serveSite();
  await using service = serveService(instead);
  await inBrowser(async (browser, folder) => {
    const page = await browser.newPage();
    await page.goto(site.origin);
    await page.evaluate(`(async () => {
      const url = "/download_worker.js?service=${service.origin}/v1/odata/v4";
      const isThere = new Promise((tell) => {
        navigator.serviceWorker.addEventListener("controllerchange", tell);
      });
      await navigator.serviceWorker.register(url, { type: "module" });
      await isThere;
    })()`);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Download" }).click(),
    ]);
    await test(download, service, folder);
  });
}

/** Returns the bytes that the browser has written so far to its only file, if any. */
async function writtenTo(folder: string): Promise<Uint8Array | undefined> {
  for await (const { name } of Deno.readDir(folder)) {
    const bytes = await Deno.readFile(`${folder}/${name}`);
    return bytes.length > 0 ? bytes : undefined;
  }
}

const browserTest = (name: string, fn: () => Promise<void>) =>
  Deno.test({ name, ignore: !isInstalled, fn });

browserTest("csv() streams the same bytes to a download in Chromium as in Deno", async () => {
  const csv = await csvHere();
  const { promise: isReleased, resolve: release } = Promise.withResolvers<undefined>();
  const holdThird: Instead = (_, number) => number === 3 ? isReleased : undefined;
  await onDownload(holdThird, async (download, { asked }, folder) => {
    const written = await until(() => writtenTo(folder), "the first bytes in the file");
    assert(written.length < csv.length);
    assertEquals(written, csv.subarray(0, written.length));
    release(undefined);
    assertEquals(await download.failure(), null);
    assertEquals(download.suggestedFilename(), "records.csv");
    const file = await Deno.readFile(await download.path());
    const cells = (bytes: Uint8Array) => readCsv(new TextDecoder().decode(bytes));
    assertEquals(cells(file), cells(csv));
    assertEquals(file, csv);
    // Three pages and a count, none of which has a key or needs a preflight.
    assertEquals(asked.map(({ method }) => method), ["GET", "GET", "GET", "GET"]);
    assertEquals(asked.map(({ headers }) => headers.get("x-api-key")), Array(4).fill(null));
  });
});

browserTest("README's service worker responds to a link with a download", async () => {
  const [worker] = (await readFences()).filter(({ note }) => note === "service-worker");
  await using service = serveService();
  // The README's code, unchanged except for the address of the service.
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

for (
  const [name, fault] of Object.entries<() => Response>({
    "an error status": () => Response.json({}, { status: 500 }),
    "truncated": () =>
      new Response('{"value":[{"Id"', { headers: { "content-type": "application/json" } }),
  })
) {
  browserTest(
    `csv() fails the download in Chromium when a later page is ${name}`,
    () =>
      onDownload((_, number) => number === 3 ? fault() : undefined, async (download, { asked }) => {
        assertEquals(await download.failure(), "canceled");
        assertEquals(asked.length, 4);
      }),
  );
}
