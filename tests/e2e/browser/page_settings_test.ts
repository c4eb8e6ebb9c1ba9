// The page blocks results and links that do not match its form.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Page } from "playwright-core";
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

const PHONE = { width: 375, height: 667 };
const DESKTOP = { width: 1280, height: 800 };
const CHANGED = "Settings changed: press Show to update.";

const characteristic = (page: Page) => page.getByLabel("Characteristic", { exact: true });
const results = (page: Page) => page.locator("#settings");
const status = (page: Page) => page.locator("#form-status");
const linksOf = (page: Page): Promise<string[]> =>
  page.locator("#results a[href]").evaluateAll((links) =>
    links.map((link) => link.getAttribute("href")!)
  );

/** Asserts that the results can be neither opened nor read nor copied. */
async function assertBlocked(page: Page): Promise<void> {
  await status(page).getByText(CHANGED, { exact: true }).waitFor();
  await page.getByText("The form no longer matches these results").waitFor();
  assertEquals(await linksOf(page), []);
  const isOpen = "Array.from(document.querySelectorAll('#results > *'), (part) => " +
    "part.inert ? '' : part.id || part.className).filter(Boolean).join()";
  assertEquals(await page.evaluate(isOpen), "results-heading,notice,download-status");
  assertEquals(await page.locator("#results button:enabled").count(), 0);
}

/** Asserts that the results can be used. */
async function assertUsable(page: Page, links: string[]): Promise<void> {
  assertEquals(await status(page).innerText(), "");
  assertEquals(
    await page.getByText("The form no longer matches these results").isVisible(),
    false,
  );
  assertEquals(await linksOf(page), links);
  assertEquals(await page.locator("#results [inert], #results button:disabled").count(), 0);
}

interface Change {
  name: string;
  make(page: Page): Promise<unknown>;
  undo(page: Page): Promise<unknown>;
}
const filled = (label: string): Change => ({
  name: label,
  make: (page) => page.getByLabel(label, { exact: true }).fill("7"),
  undo: (page) => page.getByLabel(label, { exact: true }).fill(""),
});
const checked = (name: string, list: string, value: string): Change => ({
  name,
  make: async (page) => {
    const summary = page.locator("summary", { hasText: list });
    if (!await page.locator(`input[value="${value}"]:visible`).count()) {
      await summary.click();
    }
    await page.locator(`input[value="${value}"]:visible`).check();
  },
  undo: (page) => page.locator(`input[value="${value}"]:visible`).uncheck(),
});
const changes: Change[] = [
  {
    name: "endpoint",
    make: (page) => page.getByLabel("Measurements (short)").check(),
    undo: (page) => page.getByLabel("Measurements (all columns)").check(),
  },
  checked("dataset", "Datasets", "10.25976/weir-bb00"),
  {
    name: "region",
    make: (page) => page.getByLabel("Region").selectOption("Alberta"),
    undo: (page) => page.getByLabel("Region").selectOption("Everywhere"),
  },
  {
    name: "characteristic",
    make: (page) => characteristic(page).fill("Nitrate"),
    undo: (page) => characteristic(page).fill(" pH "),
  },
  ...["From year", "To year", "West", "East", "South", "North"].map(filled),
  checked("field", "Fields", "Id"),
];
browserTest(
  "page blocks its results until a change of a setting is undone",
  () =>
    onPage({}, async (page) => {
      await characteristic(page).fill("pH");
      await pressShow(page);
      await results(page).waitFor();
      const links = await linksOf(page);
      assertEquals(links.filter((link) => link.includes("pH")).length, 4);
      assert(links.length > 4); // citations
      for (const { make, undo } of changes) {
        await make(page);
        await assertBlocked(page);
        await undo(page);
        await assertUsable(page, links);
      }
    }, { context: { viewport: PHONE } }),
);

const modes = {
  public: {},
  caller: { access: "caller" },
  token: { ...serversKey, access: "token" },
  signed: { ...serversKey, access: "signed", signingSecret },
} as const;
for (const [access, options] of Object.entries(modes)) {
  browserTest(
    `page blocks its results when a setting changes with ${access} access`,
    () =>
      onPage(options, async (page) => {
        if (access !== "public") {
          await page.locator("#credential").fill(
            access === "caller" ? "sandbox" : token,
          );
        }
        await characteristic(page).fill("pH");
        await pressShow(page);
        await page.locator("#preview").waitFor();
        const links = await linksOf(page);
        await characteristic(page).fill("Nitrate");
        await assertBlocked(page);
        await characteristic(page).fill("pH");
        await assertUsable(page, links);
        // The credential is not a setting of the results.
        if (access !== "public") await page.locator("#credential").press("End");
        await assertUsable(page, links);
        if (access === "signed") {
          await page.getByLabel("Links are valid for").selectOption("a year");
          await assertBlocked(page);
          await page.getByLabel("Links are valid for").selectOption("a week");
          await assertUsable(page, links);
        }
        await characteristic(page).fill("Nitrate");
        await page.getByLabel("From year").fill("2020");
        await pressShow(page);
        await page.getByText("years from 2020").waitFor();
        const shown = await linksOf(page);
        await assertUsable(page, shown);
        assertEquals(shown.filter((link) => link.includes("pH")), []);
      }),
  );
}

browserTest(
  "page ignores keyboard, mouse and copying when results are blocked",
  () => {
    const downloads: string[] = [];
    const onRequest = ({ pathname }: URL) => {
      if (pathname.includes(".")) downloads.push(pathname);
    };
    return onPage({}, async (page) => {
      await pressShow(page);
      await results(page).waitFor();
      const button = page.getByText("Download CSV", { exact: true });
      assertEquals(await page.getByRole("button", { name: /^Copy/ }).count(), 5);
      const copied = "getSelection().selectAllChildren(document.body), getSelection().toString()";
      assertStringIncludes(await page.evaluate(copied), "curl --fail");
      await page.evaluate("getSelection().removeAllRanges()");
      await page.getByLabel("Region").selectOption("Alberta");
      await assertBlocked(page);
      downloads.length = 0;

      await button.scrollIntoViewIfNeeded();
      const { x, y, width, height } = (await button.boundingBox())!;
      for (const button of ["left", "middle"] as const) {
        await page.mouse.click(x + width / 2, y + height / 2, { button });
      }
      await page.evaluate(
        "document.querySelectorAll('#results a').forEach((link) => link.click())",
      );
      await page.getByRole("link", { name: "Clear" }).focus();
      await page.keyboard.press("Tab");
      const focused = await page.evaluate(
        "document.activeElement.closest('footer, main').localName",
      );
      assertEquals(focused, "footer");
      await page.keyboard.press("Control+a");
      assertEquals(
        (await page.evaluate("getSelection().toString()") as string).includes(
          "curl",
        ),
        false,
      );
      assertEquals(page.context().pages().length, 1);
      assertEquals(downloads, []);
    }, { context: { viewport: DESKTOP }, onRequest });
  },
);

for (const javaScriptEnabled of [true, false]) {
  const script = javaScriptEnabled ? "with" : "without";
  browserTest(
    `page has the form of its results when the browser goes back or reloads, ${script} JavaScript`,
    () =>
      onPage({}, async (page) => {
        await characteristic(page).fill("pH");
        await pressShow(page);
        await results(page).getByText("“pH”").waitFor();
        const links = await linksOf(page);
        const edit = async () => {
          await characteristic(page).fill("Nitrate");
          await page.getByLabel("Measurements (short)").check();
          await page.getByLabel("Region").selectOption("Alberta");
        };
        const assertShown = async () => {
          await results(page).getByText(
            "Measurements (all columns); characteristic “pH”; all fields.",
          ).waitFor();
          assertEquals(await characteristic(page).inputValue(), "pH");
          assertEquals(await page.getByLabel("Region").inputValue(), "");
          assert(await page.getByLabel("Measurements (all columns)").isChecked());
          await assertUsable(page, links);
        };
        await edit();
        await pressShow(page);
        await results(page).getByText("“Nitrate”").waitFor();
        await page.goBack();
        await assertShown();
        await edit();
        await page.reload();
        await assertShown();
      }, { context: { javaScriptEnabled } }),
  );
}

browserTest(
  "page blocks its results when the back/forward cache restores an edited form",
  () =>
    onPage({}, async (page) => {
      await characteristic(page).fill("pH");
      await pressShow(page);
      await results(page).getByText("“pH”").waitFor();
      await page.evaluate("globalThis.isSame = true");
      const links = await linksOf(page);
      await characteristic(page).fill("Nitrate");
      await pressShow(page);
      await results(page).getByText("“Nitrate”").waitFor();
      await page.evaluate("history.back()");
      await results(page).getByText("“pH”").waitFor();
      assertEquals(await page.evaluate("globalThis.isSame"), true);
      assertEquals(await characteristic(page).inputValue(), "Nitrate");
      await assertBlocked(page);
      await characteristic(page).fill("pH");
      await assertUsable(page, links);
      await page.evaluate("history.forward()");
      await results(page).getByText("“Nitrate”").waitFor();
      await assertUsable(page, await linksOf(page));
    }, { hasBackForwardCache: true }),
);

browserTest(
  "page blocks its results when a browser restores values after the script ran",
  () =>
    onPage({}, async (page) => {
      await pressShow(page);
      await results(page).waitFor();
      await page.evaluate(`{
      document.querySelector("[name=characteristic]").value = "Nitrate";
      dispatchEvent(new PageTransitionEvent("pageshow"));
    }`);
      await assertBlocked(page);
    }),
);

browserTest(
  "page blocks results that arrive after the form changed, and does not move the focus",
  () => {
    let release = () => {};
    let isHeld = Promise.resolve();
    const onHeld = async (page: Page) => {
      await page.locator("#credential").fill(token);
      await pressShow(page);
      await page.locator("#preview").waitFor();
      isHeld = new Promise((resolve) => release = resolve);
      await characteristic(page).fill("pH");
      await characteristic(page).press("Enter");
      await status(page).getByText("Loading…").waitFor();
      await characteristic(page).fill("Nitrate");
      release();
      await results(page).getByText("“pH”").waitFor();
      await assertBlocked(page);
      const name = await page.evaluate("document.activeElement.name");
      assertEquals(name, "characteristic");
      await characteristic(page).fill("pH");
      await assertUsable(page, await linksOf(page));
    };
    return onPage(modes.token, onHeld, { hold: () => isHeld });
  },
);

browserTest(
  "page allows its results when the list of datasets replaces the text field",
  () =>
    onPage(modes.token, async (page) => {
      await page.locator("#credential").fill(token);
      const datasets = "10.25976/weir-cc00 , 10.25976/weir-bb00,10.25976/weir-bb00";
      await page.getByLabel("DOIs, separated by commas").fill(datasets);
      await pressShow(page);
      await page.locator("#preview").waitFor();
      await page.getByLabel(/Forêt boréale/).waitFor();
      await assertUsable(page, await linksOf(page));
      await page.getByLabel(/Forêt boréale/).uncheck();
      await assertBlocked(page);
    }),
);

browserTest(
  "page states the settings of its links when the form changes without JavaScript",
  () =>
    onPage({}, async (page) => {
      await characteristic(page).fill("pH");
      await page.getByLabel("From year").fill("2015");
      await pressShow(page);
      await characteristic(page).fill("Nitrate");
      const text =
        "Measurements (all columns); characteristic “pH”; years from 2015; all fields. " +
        "If you change the form, press Show to update them.";
      await page.getByText(text).waitFor();
      const group = page.getByRole("group", { name: "Downloads" });
      assertEquals(await group.getAttribute("aria-describedby"), "settings");
      const rows = await rowsOf(await clickAndDownload(page, "Download CSV"));
      assert(rows.every((row) => row.includes("pH")));
      assertEquals(rows.length, await countOf(page));
    }, { context: { javaScriptEnabled: false, viewport: PHONE } }),
);
