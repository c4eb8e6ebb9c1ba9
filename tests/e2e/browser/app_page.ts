// Serves the app over a sandbox and opens its page in Chromium.
import { assertEquals } from "@std/assert";
import type { BrowserContextOptions, Page } from "playwright-core";
import { type AppOptions, createApp } from "../../../edge/app.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";
import { readCsv } from "../../helpers/rfc4180.ts";
import { browserTest, inBrowser, LOOPBACK } from "./chromium.ts";

export const sandbox = createSandbox({ hostileNames: true, requestsPerSecond: Infinity });

/** Options of the app, and of the browser. */
type PageOptions = Partial<AppOptions> & { context?: BrowserContextOptions };

/** Registers a test that begins on the page of the app over the sandbox. It fails if the page logs an error. */
export function pageTest(
  name: string,
  test: (page: Page) => Promise<void>,
  { context, ...options }: PageOptions = {},
): void {
  browserTest(name, async () => {
    const app = createApp({
      access: "public",
      apiKey: sandbox.apiKey,
      baseUrl: sandbox.url,
      fetch: sandbox.fetch,
      requestsPerSecond: Infinity,
      retry: { attempts: 1 },
      log: () => {},
      ...options,
    });
    await using server = Deno.serve(LOOPBACK, (request) => app.fetch(request));
    await inBrowser(async (browser) => {
      const baseURL = `http://127.0.0.1:${server.addr.port}`;
      const page = await browser.newPage({ baseURL, ...context });
      page.setDefaultTimeout(15_000);
      const errors: string[] = [];
      page.on("console", (message) => {
        // Chromium logs each response that is not 2xx.
        const isNoise = message.text().startsWith("Failed to load resource");
        if (message.type() === "error" && !isNoise) errors.push(message.text());
      });
      page.on("pageerror", ({ message }) => errors.push(message));
      page.on("dialog", (dialog) => {
        errors.push(`dialog: ${dialog.message()}`);
        dialog.dismiss();
      });
      await page.goto("/");
      await test(page);
      assertEquals(errors, []);
    });
  });
}

/** Downloads the file of the page. Returns its name, and the number of its rows without the header. */
export async function clickAndDownload(page: Page): Promise<{ name: string; rows: number }> {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.locator(".take .download").click(),
  ]);
  assertEquals(await download.failure(), null);
  const rows = readCsv(await Deno.readTextFile(await download.path()));
  return { name: download.suggestedFilename(), rows: rows.length - 1 };
}

/** Returns the number in the heading of the results. */
export async function countOf(page: Page): Promise<number> {
  return Number((await page.locator("#count").innerText()).replace(/\D/g, ""));
}

/** Presses the button that sends the form, and waits for its results. */
export async function pressShow(page: Page): Promise<void> {
  const hasScript = await page.locator("html.scripted").count() > 0;
  const done = hasScript
    ? page.waitForResponse((response) => new URL(response.url()).pathname === "/")
    : page.waitForEvent("load");
  await page.locator(".show").click();
  await done;
  await page.locator(".show[aria-busy=true]").waitFor({ state: "detached" });
}
