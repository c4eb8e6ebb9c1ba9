// The page moves to its results after Show, and shows that they are loading.
import { assert, assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { createSandbox } from "../../../src/sandbox/service.ts";
import { waitFor } from "../wait_for.ts";
import { browserTest, onPage, pressShow, serversKey, token } from "./app_page.ts";

const PHONE = { width: 375, height: 667 };
const modes = {
  public: {},
  caller: { access: "caller" },
  token: { ...serversKey, access: "token" },
} as const;

const show = (page: Page) => page.getByRole("button", { name: "Show" });

/** Asserts that the heading of the results has the focus and is in view, at the top if it can be. */
async function assertAtResults(page: Page, heading: RegExp): Promise<void> {
  await page.locator("#results-heading").filter({ hasText: heading }).waitFor();
  const focused = "document.activeElement.id";
  await waitFor(
    async () => await page.evaluate(focused) === "results-heading",
    "the heading's focus",
  );
  const [top, bottom, scrolled, rest]: number[] = await page.evaluate(`{
    const { top, bottom } = document.querySelector("#results-heading").getBoundingClientRect();
    const rest = document.documentElement.scrollHeight - innerHeight - scrollY;
    [top, innerHeight - bottom, scrollY, rest];
  }`);
  assert(top! >= 0 && bottom! >= 0 && scrolled! > 0, `${top}, ${bottom}, ${scrolled}`);
  assert(top! < 100 || rest! < 1, `${top} from the top, ${rest} to scroll`);
}

/** Loading states that the page has shown since its next load: text, busy and disabled. */
class LoadingStates {
  readonly all: string[] = [];

  async follow(page: Page): Promise<void> {
    page.on("console", (message) => {
      if (message.type() === "info") this.all.push(message.text());
    });
    // While a navigation is pending, Chromium reports console messages but evaluates nothing.
    await page.addInitScript(`addEventListener("DOMContentLoaded", () => {
      const button = document.querySelector("[type=submit]");
      const status = document.querySelector("#form-status");
      const log = () => console.info(status.textContent + "," + button.ariaBusy, button.disabled);
      new MutationObserver(log).observe(status, { childList: true });
    })`);
    await page.reload();
  }

  /** Asserts that these were the states so far, in this order. */
  async are(...states: boolean[]): Promise<void> {
    const expected = states.map((isOn) => isOn ? "Loading…,true false" : ",false false");
    await waitFor(() => this.all.length >= expected.length, expected.join());
    assertEquals(this.all, expected);
  }
}

/** Delays responses while it is closed. */
class Latch {
  #isOpen = Promise.resolve();
  #open = (): void => {};
  /** Number of responses that were delayed since it was closed. */
  #delayed = 0;
  close(): void {
    this.#isOpen = new Promise((resolve) => this.#open = resolve);
    this.#delayed = 0;
  }
  open(): void {
    this.#open();
    this.#isOpen = Promise.resolve();
  }
  readonly hold = (): Promise<void> => {
    this.#delayed++;
    return this.#isOpen;
  };
  /** Waits until a response is delayed. */
  async delaysResponse(): Promise<void> {
    await waitFor(() => this.#delayed > 0, "a delayed response");
  }
}

for (const [access, options] of Object.entries(modes)) {
  for (const javaScriptEnabled of [true, false]) {
    // Without a script a caller cannot enter a key, so the page shows only the URLs.
    const heading = access === "caller" && !javaScriptEnabled ? /^Your download$/ : /measurements$/;
    const script = javaScriptEnabled ? "with" : "without";
    browserTest(
      `Show moves to the results, with ${access} access ${script} JavaScript`,
      () =>
        onPage(options, async (page) => {
          if (
            access !== "public" && (access !== "caller" || javaScriptEnabled)
          ) {
            await page.locator("#credential").fill(
              access === "caller" ? "sandbox" : token,
            );
          }
          await page.locator("summary", { hasText: "Fields" }).click();
          await page.locator("input[value=Id]:visible").first().check();
          await show(page).focus();
          await page.keyboard.press("Enter");
          await assertAtResults(page, heading);
          await page.keyboard.press("Tab");
          const isInside = "document.activeElement.closest('#results') !== null";
          assertEquals(await page.evaluate(isInside), true);
        }, { context: { javaScriptEnabled, viewport: PHONE } }),
    );
  }
}

for (const [access, options] of [["public", modes.public], ["token", modes.token]] as const) {
  for (const javaScriptEnabled of [true, false]) {
    const script = javaScriptEnabled ? "with" : "without";
    browserTest(
      `Show moves to the message when the form is invalid, with ${access} access ${script} JavaScript`,
      () =>
        onPage(options, async (page) => {
          if (access === "token") await page.locator("#credential").fill(token);
          await page.getByLabel("From year").fill("soon");
          await pressShow(page);
          await assertAtResults(page, /^No results$/);
          await page.getByRole("alert").getByText(
            "From year must be a year with four digits",
          ).waitFor();
          if (access === "token" && !javaScriptEnabled) {
            await page.locator("#credential").fill(token);
          }
          await page.getByLabel("From year").fill("2015");
          await pressShow(page);
          await assertAtResults(page, /measurements$/);
        }, { context: { javaScriptEnabled, viewport: PHONE } }),
    );
  }
}

for (const javaScriptEnabled of [true, false]) {
  const script = javaScriptEnabled ? "with" : "without";
  browserTest(
    `Show sends an unchanged form again after an error, ${script} JavaScript`,
    () => {
      const { fetch } = createSandbox({ hostileNames: true, requestsPerSecond: Infinity });
      let faults = 2;
      const options = {
        fetch: (request: Request) =>
          request.url.includes("/Records") && faults-- > 0
            ? Promise.resolve(Response.json({}, { status: 500 }))
            : fetch(request),
      };
      return onPage(options, async (page) => {
        await pressShow(page);
        await assertAtResults(page, /^No results$/);
        await page.evaluate("scrollTo(0, 0)");
        await Promise.all([page.waitForURL(/submission=2/), pressShow(page)]);
        await assertAtResults(page, /^No results$/);
        await Promise.all([page.waitForURL(/submission=3/), pressShow(page)]);
        await assertAtResults(page, /measurements$/);
        // Show requests the results again, even if they are already shown.
        await Promise.all([page.waitForURL(/submission=4/), pressShow(page)]);
        await assertAtResults(page, /measurements$/);
      }, { context: { javaScriptEnabled, viewport: PHONE } });
    },
  );
}

/** Returns a function that presses Show with the mouse without waiting for the navigation to end. */
async function showPresser(page: Page): Promise<() => void> {
  await show(page).scrollIntoViewIfNeeded();
  const { x, y } = (await show(page).boundingBox())!;
  return () => void page.mouse.click(x + 5, y + 5).catch(() => {});
}

browserTest("Show reports loading, and can be pressed again after Stop", () => {
  const latch = new Latch();
  const states = new LoadingStates();
  const sent: string[] = [];
  const onRequest = ({ searchParams }: URL) => {
    if (searchParams.get("characteristic") === "pH") sent.push("pH");
  };
  return onPage({}, async (page) => {
    await states.follow(page);
    await page.getByLabel("Characteristic", { exact: true }).fill("pH");
    const session = await page.context().newCDPSession(page);
    const press = await showPresser(page);
    latch.close();
    press();
    await states.are(true);
    await waitFor(() => sent.length === 1, "the request");
    await session.send("Page.stopLoading");
    await states.are(true, false);
    assertEquals(await page.getByLabel("Characteristic", { exact: true }).inputValue(), "pH");

    // A second press while the first one waits sends the form again.
    for (const times of [2, 3]) {
      press();
      await waitFor(() => sent.length === times, `request ${times}`);
      await states.are(true, false, true);
    }
    latch.open();
    await page.waitForURL(/characteristic=pH/);
    await assertAtResults(page, /measurements$/);
    await page.getByText("characteristic “pH”").waitFor();
    await states.are(true, false, true);
    assertEquals(await page.locator("#form-status").innerText(), "");
  }, { onRequest, hold: latch.hold, context: { viewport: PHONE } });
});

browserTest("Show stops reporting loading when the form changes after Stop", () => {
  const latch = new Latch();
  const states = new LoadingStates();
  return onPage({}, async (page) => {
    // Not every browser tells a script that the user pressed Stop.
    await page.addInitScript(
      "Object.defineProperty(globalThis, 'navigation', { value: undefined })",
    );
    await states.follow(page);
    const session = await page.context().newCDPSession(page);
    const press = await showPresser(page);
    latch.close();
    press();
    await states.are(true);
    // Before the browser has sent the request, it has nothing to stop.
    await latch.delaysResponse();
    await session.send("Page.stopLoading");
    // A locator would wait for the navigation that was stopped.
    await page.evaluate(`{
      const year = document.querySelector("[name=from]");
      year.value = "2015";
      year.dispatchEvent(new Event("input", { bubbles: true }));
    }`);
    await states.are(true, false);
    latch.open();
    await pressShow(page);
    await assertAtResults(page, /measurements$/);
    await page.getByText("years from 2015").waitFor();
  }, { hold: latch.hold, context: { viewport: PHONE } });
});

browserTest("Show stops reporting loading when the back/forward cache restores the page", () => {
  return onPage({}, async (page) => {
    await page.evaluate("globalThis.isSame = true");
    await pressShow(page);
    await assertAtResults(page, /measurements$/);
    await page.evaluate("history.back()");
    await page.locator("#results-heading").waitFor({ state: "detached" });
    assertEquals(await page.evaluate("globalThis.isSame"), true);
    assertEquals(await show(page).getAttribute("aria-busy"), "false");
    assertEquals(await page.locator("#form-status").innerText(), "");
    await pressShow(page);
    await assertAtResults(page, /measurements$/);
  }, { hasBackForwardCache: true, context: { viewport: PHONE } });
});

browserTest(
  "Show reports loading until a response or an error when a script sends the form",
  () => {
    const latch = new Latch();
    const states = new LoadingStates();
    let isBroken = false;
    const hold = async () => {
      await latch.hold();
      if (isBroken) throw new Error("error of the test server");
    };
    return onPage(modes.token, async (page) => {
      await states.follow(page);
      await page.locator("#credential").fill(token);
      latch.close();
      await pressShow(page);
      await states.are(true);
      isBroken = true;
      latch.open();
      await assertAtResults(page, /^No results$/);
      await page.getByRole("alert").getByText("Press Show to try again").waitFor();
      await states.are(true, false);

      isBroken = false;
      latch.close();
      await pressShow(page);
      await pressShow(page);
      await states.are(true, false, true);
      latch.open();
      await assertAtResults(page, /measurements$/);
      await states.are(true, false, true, false);
    }, { hold, context: { viewport: PHONE } });
  },
);
