import { type Browser, chromium, type LaunchOptions } from "playwright-core";

const executablePath = "/usr/bin/chromium";

/** Whether the browser is there. */
export const isInstalled: boolean = await Deno.stat(executablePath).then(() => true, () => false);
if (!isInstalled) console.warn(`The browser tests are skipped: there is no ${executablePath}`);

/**
 * Runs a test in a browser that talks to nobody by itself.
 *
 * @param test Is given the browser, and the folder that it writes downloads to
 * @param options Playwright's options for the start of Chromium
 */
export async function inBrowser(
  test: (browser: Browser, downloads: string) => Promise<void>,
  options: LaunchOptions = {},
): Promise<void> {
  const downloadsPath = await Deno.makeTempDir({ prefix: "weir-downloads-" });
  const browser = await chromium.launch({
    ...options,
    executablePath,
    downloadsPath,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
  try {
    await test(browser, downloadsPath);
  } finally {
    await browser.close();
    await Deno.remove(downloadsPath, { recursive: true });
  }
}

/** Where a server of a test listens. */
export const LOOPBACK = { hostname: "127.0.0.1", port: 0, onListen(): void {} };
