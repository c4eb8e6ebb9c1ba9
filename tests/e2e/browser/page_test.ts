// The page in Chromium: keyboard, forms without script, downloads and accessibility.
import { assert, assertEquals, assertMatch } from "@std/assert";
import axe from "axe-core";
import type { Page } from "playwright-core";
import { createSandbox } from "../../../src/sandbox/service.ts";
import {
  browserTest,
  clickAndDownload,
  countOf,
  onPage,
  pressShow,
  rowsOf,
  serversKey,
  signingSecret,
  token,
} from "./app_page.ts";

browserTest(
  "page works with the keyboard only, and downloads as many rows as it counted",
  () =>
    onPage({}, async (page) => {
      await page.getByLabel("Measurements (all columns)").focus();
      await page.keyboard.press("ArrowRight");
      assert(await page.getByLabel("Measurements (short)").isChecked());
      await page.getByLabel("Characteristic", { exact: true }).focus();
      await page.keyboard.type("pH");
      await page.keyboard.press("Tab");
      await page.keyboard.type("2016");
      await page.keyboard.press("Tab");
      await page.keyboard.type("2018");
      await page.keyboard.press("Enter");
      await page.locator("#results h2").waitFor();
      const count = await countOf(page);
      const download = await clickAndDownload(page, "Download CSV");
      assertEquals(download.suggestedFilename(), "observations.csv");
      const rows = await rowsOf(download);
      assertEquals(rows.length, count);
      assertEquals(await page.locator("tbody tr").count(), 20);
      assertEquals(
        await page.locator("tbody tr").first().locator("td").nth(4).innerText(),
        rows[0]![0], // Id
      );
      assertEquals((await rowsOf(await clickAndDownload(page, "CSV for Excel"))).length, count);
    }),
);

/** Returns the bounding boxes and texts of the visible cells of each row. */
const visibleCells = (page: Page): Promise<{ left: number; right: number; text: string }[][]> =>
  page.locator("tbody tr").evaluateAll((rows) =>
    rows.map((row) =>
      [...row.children].filter((cell) => cell.getClientRects().length > 0).map((cell) => {
        const { left, right } = cell.getBoundingClientRect();
        return { left, right, text: cell.textContent };
      })
    )
  );

for (const choice of ["Measurements (all columns)", "Measurements (short)"]) {
  browserTest(
    `page shows date, location, characteristic and value within 375 pixels for ${choice}`,
    () =>
      onPage({}, async (page) => {
        await page.getByLabel(choice).check();
        await pressShow(page);
        await page.locator("#preview").waitFor();
        const sideways: number = await page.evaluate(`{
          const table = document.querySelector(".table");
          const { scrollWidth } = document.documentElement;
          Math.max(scrollWidth - innerWidth, table.scrollWidth - table.clientWidth);
        }`);
        assertEquals(sideways, 0);
        const rows = await visibleCells(page);
        assertEquals(rows.length, 20);
        for (const cells of rows) {
          assertEquals(cells.length, 4);
          assert(cells.every(({ left, right }) => left >= 0 && right <= 375));
        }
        const [date, location, characteristic, value] = rows[0]!;
        assertMatch(date!.text, /^\d{4}-\d{2}-\d{2}$/);
        assert(location!.text !== "" && characteristic!.text !== "");
        assertMatch(value!.text, /^([<>] )?-?\d/);
        await page.setViewportSize({ width: 1280, height: 800 });
        assert((await visibleCells(page))[0]!.length > 30);
      }, { context: { viewport: { width: 375, height: 812 } } }),
  );
}

for (const javaScriptEnabled of [true, false]) {
  const script = javaScriptEnabled ? "with" : "without";
  browserTest(
    `page has no active download when there are no rows, ${script} JavaScript`,
    () =>
      onPage({}, async (page) => {
        await page.getByLabel("Characteristic", { exact: true }).fill("ph");
        await pressShow(page);
        await page.getByText('did you mean "pH"?').waitFor();
        const downloads = page.getByRole("group", { name: "Downloads" });
        assertEquals(await downloads.getByRole("link").count(), 0);
        assertEquals(await downloads.getByRole("button").count(), 4);
        const change = (name: string) =>
          page.getByLabel("Characteristic", { exact: true }).fill(name);
        // A change of the form, and its undoing, must not enable the buttons.
        for (const name of ["pH", "ph"]) {
          await change(name);
          assertEquals(await downloads.locator(":enabled").count(), 0);
        }
        await page.getByText("There is nothing to download.").waitFor();
        await change("pH");
        await pressShow(page);
        await page.locator("#preview").waitFor();
        assert((await rowsOf(await clickAndDownload(page, "Download CSV"))).length > 0);
      }, { context: { javaScriptEnabled } }),
  );
}

browserTest("page works without JavaScript", () =>
  onPage({}, async (page) => {
    await page.locator("summary", { hasText: "Datasets" }).click();
    await page.getByLabel(/Forêt boréale/).check();
    await page.locator("select[name=region]").selectOption("British Columbia");
    await page.getByRole("button", { name: "Show" }).click();
    const count = await countOf(page);
    assert(count > 0);
    assertEquals((await rowsOf(await clickAndDownload(page, "Download CSV"))).length, count);
    await page.getByText("Réseau synthétique de l’Érable. 2020.").waitFor();
  }, { context: { javaScriptEnabled: false } }));

browserTest(
  "page shows data that contains a script, and does not run it",
  () =>
    onPage({}, async (page) => {
      await page.getByRole("radio", { name: "Datasets" }).check();
      await page.getByRole("button", { name: "Show" }).click();
      await page.locator("#results h2").waitFor();
      await page.locator("td", { hasText: '<script>alert("weir")</script>' }).first().waitFor();
      assertEquals(await page.locator("#results script").count(), 0);
    }),
);

browserTest("page sends a caller's key as a header, and stores it nowhere", () => {
  const keys: (string | null)[] = [];
  const { apiKey, fetch } = createSandbox({ hostileNames: true, requestsPerSecond: Infinity });
  const access = {
    access: "caller",
    fetch: (request: Request) => {
      keys.push(request.headers.get("x-api-key"));
      return fetch(request);
    },
  } as const;
  return onPage(access, async (page, root) => {
    await page.addInitScript("delete window.showSaveFilePicker");
    await page.reload();
    await page.getByLabel("Characteristic", { exact: true }).fill("pH");
    const show = page.getByRole("button", { name: "Show" });
    await show.click();
    await page.getByText("curl --fail --remove-on-error --header").waitFor();
    assertEquals(keys, []);

    await page.locator("#credential").fill("wrong");
    await show.click();
    await page.getByRole("alert").filter({ hasText: "check the API key" }).waitFor();

    await page.locator("#credential").fill(apiKey);
    await show.click();
    await page.locator("#preview").waitFor();
    const count = await countOf(page);
    const download = await clickAndDownload(page, "Download CSV");
    assertEquals(download.suggestedFilename(), "records.csv");
    assertEquals((await rowsOf(download)).length, count);
    await page.getByText(/^Complete: /).waitFor();

    assertEquals([...new Set(keys)], ["wrong", apiKey]);
    assertEquals(page.url(), root);
    const kept = await page.evaluate(
      "JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }])",
    );
    assertEquals(kept, '["",{},{}]');
    assertEquals((await page.content()).includes(`"${apiKey}"`), false);
  });
});

browserTest(
  "page signs links that work without a token when a token is entered",
  () =>
    onPage({ ...serversKey, access: "signed", signingSecret }, async (page, root) => {
      await page.getByLabel("Characteristic", { exact: true }).fill("pH");
      await page.getByRole("button", { name: "Show" }).click();
      await page.getByRole("alert").filter({ hasText: "token is required" }).waitFor();
      await page.locator("#credential").fill(token);
      await page.getByRole("button", { name: "Show" }).click();
      await page.locator("#preview").waitFor();
      await page.getByText("Anyone who has a link can use it").waitFor();
      await page.locator("summary", { hasText: "Datasets" }).click();
      assert(await page.getByLabel(/Forêt boréale/).isVisible());
      assertEquals(page.url(), root);
      const count = await countOf(page);
      assertEquals((await rowsOf(await clickAndDownload(page, "Download CSV"))).length, count);
    }),
);

browserTest(
  "page accepts a token without JavaScript",
  () =>
    onPage({ ...serversKey, access: "signed", signingSecret }, async (page, root) => {
      await page.locator("#credential").fill(token);
      await page.getByLabel("Characteristic", { exact: true }).fill("pH");
      await page.getByRole("button", { name: "Show" }).click();
      assertEquals(page.url(), `${root}#results-heading`);
      const count = await countOf(page);
      assertEquals((await rowsOf(await clickAndDownload(page, "Download CSV"))).length, count);
    }, { context: { javaScriptEnabled: false } }),
);

browserTest("browser reports a failed download when the connection breaks", () => {
  const { fetch } = createSandbox({ hostileNames: true, requestsPerSecond: Infinity });
  const broken = (request: Request) =>
    request.url.includes("skiptoken")
      ? Promise.resolve(Response.json({}, { status: 500 }))
      : fetch(request);
  return onPage({ fetch: broken }, async (page) => {
    await page.getByRole("button", { name: "Show" }).click();
    await page.locator("#results h2").waitFor();
    const download = await clickAndDownload(page, "Download CSV");
    assertEquals(await download.failure(), "canceled");
  });
});

for (
  const [name, colorScheme, width] of [["wide", "light", 1280], ["narrow", "dark", 360]] as const
) {
  browserTest(
    `page has no serious axe-core violation when it is ${name} and ${colorScheme}`,
    () =>
      onPage(
        { ...serversKey, access: "signed", signingSecret, synthetic: true },
        async (page) => {
          const check = async () => {
            await page.evaluate(axe.source);
            const { violations }: axe.AxeResults = await page.evaluate("axe.run()");
            const serious = violations.filter(({ impact }) =>
              impact === "serious" || impact === "critical"
            );
            assertEquals(serious.map(({ id, nodes }) => [id, nodes[0]?.html]), []);
            const overflow: number = await page.evaluate(
              "document.documentElement.scrollWidth - document.documentElement.clientWidth",
            );
            assertEquals(overflow, 0);
          };
          await check();
          await page.locator("#credential").fill(token);
          await page.locator("summary", { hasText: "Fields" }).click();
          await page.getByRole("button", { name: "Show" }).click();
          await page.locator("#preview").waitFor();
          await page.locator("summary", { hasText: "Datasets" }).click();
          await check();
          await page.getByLabel("From year").fill("soon");
          await page.getByText("Settings changed").waitFor();
          await check();
          await page.getByRole("button", { name: "Show" }).click();
          await page.getByRole("alert").waitFor();
          await check();
        },
        { context: { colorScheme, viewport: { width, height: 900 } } },
      ),
  );
}
