import { needing } from "../needs.ts";
import { type Browser, chromium } from "playwright-core";

const executablePath = "/usr/bin/chromium";

export const isInstalled: boolean = await Deno.stat(executablePath).then(() => true, () => false);

/** Registers a test that is skipped if Chromium is not installed. */
export function browserTest(name: string, fn: () => Promise<void>): void {
  Deno.test(needing({ [executablePath]: isInstalled }, name, fn));
}

/** Runs a test with Chromium. */
export async function inBrowser(
  test: (browser: Browser, downloads: string) => Promise<void>,
): Promise<void> {
  const downloadsPath = await Deno.makeTempDir({ prefix: "weir-downloads-" });
  const browser = await chromium.launch({ executablePath, downloadsPath });
  try {
    await test(browser, downloadsPath);
  } finally {
    await browser.close();
    await Deno.remove(downloadsPath, { recursive: true });
  }
}

/** Server options: a free port on loopback, without a log message. */
export const LOOPBACK = { hostname: "127.0.0.1", port: 0, onListen(): void {} };
