// The page's script copies snippets, shows the fields of a kind of data, reports errors of a request,
// and saves downloads that need a header.
import { assertEquals, assertMatch } from "@std/assert";
import type { Page } from "playwright-core";
import { readCsv } from "../../helpers/rfc4180.ts";
import { browserTest, countOf, onPage, pressShow, serversKey, token } from "./app_page.ts";

/** Shows results with a script that changes the browser before the page's script runs. */
async function showResults(page: Page, init: string): Promise<void> {
  await page.addInitScript(init);
  await page.reload();
  const credential = page.locator("#credential");
  if (await credential.count()) await credential.fill("sandbox");
  await pressShow(page);
  await page.locator("#preview").waitFor();
}

browserTest("page copies each snippet, and says so", () =>
  onPage({}, async (page) => {
    await showResults(page, "");
    const copied: string[] = [];
    for (const name of ["URL", "Excel", "R", "Python, pandas", "Shell, curl"]) {
      const button = page.getByRole("button", { name: `Copy: ${name}`, exact: true });
      await button.click();
      await button.getByText("Copied").waitFor();
      copied.push(await page.evaluate("navigator.clipboard.readText()"));
      await button.getByText("Copy", { exact: true }).waitFor();
    }
    assertEquals(copied, await page.locator("#results .snippets code").allTextContents());
  }, { context: { permissions: ["clipboard-read", "clipboard-write"] } }));

browserTest(
  "page says that copying failed, and has no copy button without a clipboard",
  () =>
    onPage({}, async (page) => {
      await showResults(
        page,
        "Object.defineProperty(navigator, 'clipboard', { configurable: true, " +
          "value: { writeText: () => Promise.reject(new Error('denied')) } })",
      );
      await page.getByRole("button", { name: "Copy: URL" }).click();
      await page.getByText("Copy failed").waitFor();
      await showResults(
        page,
        "Object.defineProperty(navigator, 'clipboard', { value: undefined })",
      );
      assertEquals(await page.getByRole("button", { name: /^Copy/ }).count(), 0);
    }),
);

browserTest(
  "page shows and sends only the fields of the chosen kind of data",
  () =>
    onPage({}, async (page) => {
      await page.locator("summary", { hasText: "Fields" }).click();
      for (const name of ["Observations", "Locations", "Metadata", "Records"]) {
        await page.locator(`input[name=endpoint][value=${name}]`).check();
        const enabled = page.locator("[data-fields]:enabled");
        assertEquals(await enabled.count(), 1);
        assertEquals(await enabled.getAttribute("data-fields"), name);
        assertEquals(await enabled.isVisible(), true);
      }
    }),
);

browserTest(
  "page explains each unexpected response to its form",
  () =>
    onPage({ ...serversKey, access: "token" }, async (page, root) => {
      await page.locator("#credential").fill(token);
      let response = { status: 502, contentType: "text/plain", body: "x" };
      await page.route(`${root}?*`, (route) => route.fulfill(response));
      const expect = async (message: string) => {
        await pressShow(page);
        await page.getByRole("alert").getByText(
          `The request failed (${message}). Press Show to try again.`,
        ).waitFor();
      };
      await expect("status 502");
      response = { ...response, status: 400, body: '{"detail":"Too much","hint":"ask for less"}' };
      await expect("Too much: ask for less");
      response = { status: 200, contentType: "text/html", body: "<html></html>" };
      await expect("unexpected response with status 200");
    }),
);

/** A file dialog that keeps what is written, and a clock that passes five seconds at each look. */
const DIALOG = `
  globalThis.seen = [];
  globalThis.written = "";
  globalThis.removed = 0;
  globalThis.showSaveFilePicker = async ({ suggestedName }) => {
    seen.push(suggestedName);
    if (globalThis.failure) throw Object.assign(new Error("no"), { name: globalThis.failure });
    const decoder = new TextDecoder();
    return {
      remove: async () => { removed++; },
      createWritable: async () =>
        new WritableStream({ write(chunk) { written += decoder.decode(chunk, { stream: true }); } }),
    };
  };
  let now = 0;
  Date.now = () => now += 2500;
  addEventListener("DOMContentLoaded", () => {
    new MutationObserver(() => {
      const status = document.querySelector("#download-status");
      if (status && status.textContent !== seen.at(-1)) seen.push(status.textContent);
    }).observe(document.body, { childList: true, subtree: true });
  });`;

browserTest(
  "page writes a download that needs a header to the chosen file",
  () =>
    onPage({ access: "caller" }, async (page, root) => {
      await showResults(page, DIALOG);
      await page.evaluate("seen.length = 0");
      const link = page.getByRole("link", { name: "Download CSV", exact: true });
      const status = page.locator("#download-status");
      await link.click();
      await status.getByText(/^Complete: \d+\.\d MB$/).waitFor();
      const [, ...rows] = readCsv(await page.evaluate("written"));
      assertEquals(rows.length, await countOf(page));
      const [name, first, ...reports]: string[] = await page.evaluate("seen");
      assertEquals([name, first], ["records.csv", "Requesting the first page…"]);
      assertMatch(reports[0]!, /^\d+\.\d MB received…$/);

      await page.route(
        `${root}Records.csv*`,
        (route) => route.fulfill({ status: 403, body: '{"detail":"No","hint":"ask"}' }),
      );
      await link.click();
      await status.getByText("The download failed and no file was saved (No: ask). Try again.")
        .waitFor();
      assertEquals(await page.evaluate("removed"), 1);

      await page.evaluate("failure = 'Error'");
      await link.click();
      await status.getByText("The file dialog failed: no").waitFor();
      await page.evaluate("failure = 'AbortError', seen.length = 0");
      await link.click();
      assertEquals(await page.evaluate("seen"), ["records.csv"]);
    }),
);
