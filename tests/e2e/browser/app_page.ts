// Serves the app over a sandbox and opens its page in Chromium.
import { assertEquals } from "@std/assert";
import type { Browser, Download, Page } from "playwright-core";
import { type AppOptions, createApp } from "../../../edge/app.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";
import { readCsv } from "../../helpers/rfc4180.ts";
import { inBrowser, LOOPBACK } from "./chromium.ts";

/** Options of a test's browser. */
export interface PageOptions {
  context?: Parameters<Browser["newContext"]>[0];
  /** Whether the sandbox has names that are hard to show. Default true. */
  hostileNames?: boolean;
  /** Delays the response to each request to the server. */
  hold?: () => Promise<void>;
}

/** Serves the app over a sandbox and opens its page. Fails if the page logs an error. */
export function onPage(
  options: Partial<AppOptions>,
  test: (page: Page, root: string) => Promise<void>,
  { context = {}, hostileNames = true, hold }: PageOptions = {},
): Promise<void> {
  return inBrowser(async (browser) => {
    const { apiKey, url: baseUrl, fetch } = createSandbox({
      hostileNames,
      requestsPerSecond: Infinity,
    });
    const app = createApp({
      access: "public",
      apiKey,
      baseUrl: baseUrl.replace("sandbox", "page"),
      fetch,
      requestsPerSecond: Infinity,
      retry: { attempts: 1 },
      log: () => {},
      ...options,
    });
    const stop = new AbortController();
    const { addr } = Deno.serve({ ...LOOPBACK, signal: stop.signal }, async (request) => {
      await hold?.();
      return app.fetch(request);
    });
    try {
      const page = await (await browser.newContext(context)).newPage();
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
      const root = `http://127.0.0.1:${addr.port}/`;
      await page.goto(root);
      await test(page, root);
      assertEquals(errors, []);
      await page.context().close();
    } finally {
      // A graceful shutdown would wait for responses that are held.
      stop.abort();
    }
  });
}

/** Types a part of a name and takes the marked suggestion. */
export async function choose(page: Page, text: string, name: string): Promise<void> {
  await page.locator("#what").click();
  await page.keyboard.type(text);
  await page.locator(`#suggestions [aria-selected=true][data-name="${name}"]`).waitFor();
  await page.keyboard.press("Enter");
  await page.locator(".chip", { hasText: name }).waitFor();
}

/** Returns the rows of a downloaded CSV without its header. */
export async function rowsOf(download: Download): Promise<string[][]> {
  assertEquals(await download.failure(), null);
  const [, ...rows] = readCsv(await Deno.readTextFile(await download.path()));
  return rows;
}

export async function clickAndDownload(page: Page): Promise<Download> {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.locator(".take .download").click(),
  ]);
  return download;
}

/** Returns the number in the heading of the results. */
export async function countOf(page: Page): Promise<number> {
  return Number((await page.locator("#count").innerText()).replace(/\D/g, ""));
}

/** Presses the button that sends the form, and waits for its results. */
export async function pressShow(page: Page): Promise<void> {
  const hasScript = await page.locator("html.scripted").count() > 0;
  const done = hasScript
    ? page.waitForResponse((response) => /^\/(\?|$)/.test(pathOf(response.url())))
    : page.waitForEvent("load");
  await page.locator(".show").click();
  await done;
  await page.locator(".show[aria-busy=true]").waitFor({ state: "detached" });
}

const pathOf = (url: string) => new URL(url).pathname + new URL(url).search;
