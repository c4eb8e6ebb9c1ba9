// The page in Chromium: keyboard, no script, states, access modes and accessibility.
import { assert, assertEquals, assertMatch } from "@std/assert";
import axe from "axe-core";
import { clickAndDownload, countOf, pageTest, pressShow, sandbox } from "./app_page.ts";

const TP = "Total Phosphorus, mixed forms";

pageTest("page works with the keyboard only, and keeps the state in the address", async (page) => {
  await page.locator("#what").focus();
  await page.keyboard.type("oxyg");
  await page.locator("#suggestions [role=option]").first().waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Escape");
  assertEquals(await page.locator("#suggestions").isVisible(), false);
  await page.locator("#what").fill("");
  await page.keyboard.type("DO");
  await page.locator("#suggestions [aria-selected=true]").waitFor();
  await page.keyboard.press("Enter");
  await page.locator(".chip", { hasText: "Dissolved oxygen (DO)" }).waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.type("Manitoba");
  await page.keyboard.press("Tab");
  await page.keyboard.type("2016");
  await page.keyboard.press("Enter");
  await page.locator("#count:focus").waitFor();
  const url = new URL(page.url());
  assertEquals(url.pathname, "/");
  assertEquals(
    [...url.searchParams].map((pair) => pair.join("=")),
    ["characteristic=Dissolved oxygen (DO)", "where=Manitoba", "from=2016", "lang=en"],
  );
  const count = await countOf(page);
  await page.reload();
  assertEquals(await countOf(page), count);
  // A chip is removed with the space bar, and the language link keeps the selection.
  await page.getByRole("link", { name: "Français" }).press("Enter");
  await page.locator("html[lang=fr]").waitFor();
  await page.locator(".language:focus").waitFor();
  assertEquals(await countOf(page), count);
  await page.locator(".chip input").focus();
  await page.keyboard.press("Space");
  await page.getByText("Le formulaire a changé.").waitFor();
  assertEquals(await page.locator(".chip").count(), 0);
  await page.locator("#what:focus").waitFor();
  await page.goBack();
  await page.goBack();
  await page.locator("html[lang=en]").waitFor();
});

for (const javaScriptEnabled of [true, false]) {
  pageTest(`page works when javaScriptEnabled is ${javaScriptEnabled}`, async (page) => {
    await page.locator("#what").fill("pH");
    await page.locator("#where").fill("British Columbia");
    await pressShow(page);
    const count = await countOf(page);
    assert(count > 0);
    // The style sheet shows the number of columns of the chosen file.
    await page.getByText("18 main columns").waitFor();
    await page.locator("[name=tidy][type=checkbox]").uncheck();
    await page.getByText("14 main columns").waitFor();
    await page.locator(".tools").getByLabel("Python").check();
    await page.getByRole("button", { name: "Download for Python" }).waitFor();
    assertEquals((await clickAndDownload(page)).rows, count);
    // A characteristic is removed, and another one added.
    await page.locator(".chip").click();
    await page.locator("#what").fill("Nitrate");
    await pressShow(page);
    assertMatch((await page.locator(".chip").allInnerTexts()).join(), /^Nitrate\s×$/);
    await page.locator(".map a[href*='view=']").first().click();
    await page.waitForURL(/view=/);
    assert(await countOf(page) > 0);
  }, { context: { javaScriptEnabled } });
}

pageTest("page blocks the download of a changed form until the change is undone", async (page) => {
  const button = page.locator(".take .download");
  const notice = page.getByText("The form has changed.");
  await page.locator("#where").fill("Alberta");
  await notice.waitFor();
  assertEquals(await button.isDisabled(), true);
  await page.getByText("Show the data of the changed form first.").waitFor();
  await page.locator("#where").fill("");
  await notice.waitFor({ state: "hidden" });
  assertEquals(await button.isDisabled(), false);
  // A name that is typed is a change only when the focus leaves its field.
  await page.locator("#what").pressSequentially("phos");
  assertEquals(await notice.isVisible(), false);
  await page.locator("#where").focus();
  await notice.waitFor();
  await pressShow(page);
  assertEquals(await notice.isVisible(), false);
});

pageTest("page keeps what the user typed while results were loading", async (page) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  await page.route("/?*", async (route) => {
    await released;
    await route.continue();
  });
  await page.locator("#where").fill("Alberta");
  await page.locator(".show").click();
  await page.locator(".show[aria-busy=true]").waitFor();
  await page.locator("#where").fill("Manitoba");
  release();
  await page.getByText("The form has changed.").waitFor();
  await page.locator(".show:not([aria-busy=true])").waitFor();
  assertEquals(await page.locator("#where").inputValue(), "Manitoba");
  assertMatch(page.url(), /where=Alberta/);
  assertEquals(await page.locator(".take .download").isDisabled(), true);
});

let failure: Response | undefined;

pageTest(
  "page tries again when the service does not answer, and explains a failed download",
  async (page) => {
    await page.locator("#where").fill("Alberta");
    failure = Response.json({}, { status: 503, headers: { "retry-after": "2" } });
    await pressShow(page);
    await page.getByText("The service did not answer. Trying again in").waitFor();
    failure = undefined;
    await page.locator("#count").waitFor();
    assert(await countOf(page) > 0);
    // A download that fails before its first row shows the form and the reason.
    failure = Response.json({}, { status: 504 });
    await page.locator(".take .download").click();
    await page.getByRole("alert").getByText("The service did not answer.").waitFor();
    assertEquals(await page.locator("#where").inputValue(), "Alberta");
    failure = undefined;
    await page.getByRole("link", { name: "Try again" }).click();
    await page.locator("#count").waitFor();
    assertMatch(page.url(), /\/\?where=Alberta/);
  },
  { fetch: (request) => Promise.resolve(failure?.clone() ?? sandbox.fetch(request)) },
);

pageTest("page filters by the box that is drawn on the map", async (page) => {
  const before = await countOf(page);
  await page.locator(".map-draw").click();
  const { x, y, width, height } = (await page.locator(".map").boundingBox())!;
  await page.mouse.move(x + width * 0.1, y + height * 0.6);
  await page.mouse.down();
  await page.mouse.move(x + width * 0.5, y + height * 0.9, { steps: 4 });
  await page.mouse.up();
  await page.waitForURL(/west=/);
  const count = await countOf(page);
  assert(count > 0 && count < before);
  const { searchParams } = new URL(page.url());
  const sides = ["west", "south", "east", "north"];
  const [west, south, east, north] = sides.map((side) => Number(searchParams.get(side)));
  assert(-150 < west! && west! < east! && east! < -80);
  assert(35 < south! && south! < north! && north! < 65);
  await page.locator(".clear").click();
  await page.waitForURL((url) => !url.search.includes("west"));
  assertEquals(await countOf(page), before);
});

pageTest("page keeps its view when the columns or the language change", async (page) => {
  const view = { view: "-63.6,45.4,640", scale: "log", more: "1" };
  await page.goto(`/?${new URLSearchParams({ characteristic: "pH", ...view })}`);
  await page.locator(".tools").getByLabel("Python").check();
  const assertShown = (others: Record<string, string>) => {
    const { searchParams } = new URL(page.url());
    const expected = { characteristic: "pH", tool: "python", ...view, ...others };
    assertEquals(Object.fromEntries(searchParams), expected);
  };
  await page.getByRole("link", { name: "Français" }).click();
  await page.locator("html[lang=fr]").waitFor();
  assertShown({ lang: "fr" });
  await page.locator("[name=columns][value=all]").check();
  await page.waitForURL(/columns=all/);
  assertShown({ lang: "fr", columns: "all" });
  await page.locator("[name=columns][value=all]:focus").waitFor();
  await page.locator("[name=tidy][type=checkbox]").uncheck();
  await page.waitForURL(/tidy=0/);
  assertShown({ lang: "fr", columns: "all", tidy: "0" });
});

pageTest("page copies its link, the code and coordinates", async (page) => {
  await page.goto("/?characteristic=pH");
  const copied = () => page.evaluate("navigator.clipboard.readText()");
  await page.locator(".heading .copy-link").click();
  await page.getByText("Copied").waitFor();
  assertMatch(await copied() as string, /\/\?characteristic=pH&lang=en$/);
  await page.locator(".tabs label", { hasText: "curl" }).click();
  await page.locator(".code .copy").click();
  await page.locator(".code").getByText("Copied").waitFor();
  assertMatch(await copied() as string, /^curl --fail/);
  await page.goto("/?location=1001&characteristic=pH");
  await page.locator(".map-frame .copy").click();
  await page.locator(".map-frame").getByText("Copied").waitFor();
  assertMatch(await copied() as string, /^53\.\d{5}, -114\.\d{5}$/);
}, { context: { permissions: ["clipboard-read", "clipboard-write"] } });

pageTest(
  "page shows location, date and value of the point or median under the pointer",
  async (page) => {
    await page.goto("/?characteristic=Nitrate&where=Nova+Scotia");
    await page.locator(".chart-plot").scrollIntoViewIfNeeded();
    const plot = (await page.locator(".chart-plot").boundingBox())!;
    const value = "(?:< )?[\\d.]+";
    for (
      const [kind, text] of [
        ["points", `, \\d{4}-\\d\\d-\\d\\d, ${value} mg/L as N`],
        [
          "medians",
          `, \\d{4}, median ${value} mg/L as N, middle half ${value} to ${value}, \\d+ results?`,
        ],
      ] as const
    ) {
      const point = page.locator(`.chart-${kind} > line`).last();
      const x = plot.x + plot.width * parseFloat((await point.getAttribute("x1"))!) / 100;
      const y = plot.y + Number(await point.getAttribute("y1"));
      await page.mouse.move(x, y);
      await page.locator(".chart-value", { hasText: kind === "points" ? /-/ : "median" }).waitFor();
      assertMatch(await page.locator(".chart-value").innerText(), new RegExp(`^.+${text}$`));
    }
  },
);

pageTest("page loads the bars of years after the rest", async (page) => {
  await page.locator("#results .fragment svg").waitFor();
  await page.reload();
  assertEquals(await page.locator("[data-fragment]").count(), 0);
});

const keys: (string | null)[] = [];
const recordKey = (request: Request) => {
  keys.push(request.headers.get("x-api-key"));
  return sandbox.fetch(request);
};

pageTest("page sends a caller's key in no address, and stores it nowhere", async (page) => {
  await page.locator("#what").fill("pH");
  await page.locator("#where").fill("Manitoba");
  await pressShow(page);
  await page.getByText("An API key is required").waitFor();
  assertEquals(keys, []);
  await page.locator("#credential").fill("wrong");
  await pressShow(page);
  await page.getByRole("alert").filter({ hasText: "DataStream has rejected the API key" })
    .waitFor();
  await page.locator("#credential").fill(sandbox.apiKey);
  await pressShow(page);
  const file = { name: "ph-manitoba-all-years.csv", rows: await countOf(page) };
  assertEquals(await clickAndDownload(page), file);
  assertEquals([...new Set(keys)], ["wrong", sandbox.apiKey]);
  const kept = await page.evaluate(
    "JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }])",
  );
  assertEquals(kept, '["",{},{}]');
  assertEquals((await page.content()).includes(`"${sandbox.apiKey}"`), false);
  assertEquals(page.url().includes(sandbox.apiKey), false);

  await page.goto("/datasets/10.25976/weir-aa00");
  await page.locator("#credential").fill(sandbox.apiKey);
  await page.locator(".show").click();
  await page.locator(".abstract").waitFor();
  assertEquals(new URL(page.url()).pathname, "/datasets/10.25976/weir-aa00");
}, { access: "caller", fetch: recordKey });

pageTest("page shows data that contains a script, and does not run it", async (page) => {
  await page.goto("/datasets");
  await page.getByText('<script>alert("weir")</script>').first().waitFor();
  assertEquals(await page.locator("main script").count(), 0);
});

pageTest("page folds the form on a phone, and has no sideways scrolling", async (page) => {
  const paths = [
    "/",
    `/?characteristic=${TP}&where=Manitoba`,
    `/?characteristic=${"a".repeat(400)}&where=${"b".repeat(400)}`,
    "/datasets/10.25976/weir-aa00",
  ];
  for (const path of paths) {
    await page.goto(path);
    const sideways = await page.evaluate(
      "document.documentElement.scrollWidth - document.documentElement.clientWidth",
    );
    assertEquals(sideways, 0, path);
  }
  await page.goto(`/?characteristic=${TP}&where=Manitoba`);
  assertEquals(await page.locator("#query").isVisible(), false);
  const bar = page.locator(".download-bar");
  assertEquals(await page.locator("#count").isVisible(), true);
  await page.locator(".cite").scrollIntoViewIfNeeded();
  await bar.waitFor();
  assertMatch(await bar.innerText(), /^\d+ rows, [\d.]+ kB, about 2 s\s+Download$/);
  // The card of a location is below the map, and the list of locations comes between the map and the chart.
  await page.goto("/?location=1001&selected=1001&view=-114,53,3");
  const boxOf = async (selector: string) => (await page.locator(selector).boundingBox())!;
  const map = await boxOf(".map");
  for (const selector of [".map-legend", ".map-card"]) {
    assert((await boxOf(selector)).y >= map.y + map.height, selector);
  }
  await page.goto("/?characteristic=Nutrients&where=Nova+Scotia");
  const tops = [".map-frame", ".places", ".chart-card", ".take"].map(async (selector) =>
    (await boxOf(selector)).y
  );
  const order = await Promise.all(tops);
  assertEquals(order, order.toSorted((a, b) => a - b));
  // A link that is not there any more leads to the results.
  await page.locator(".places tbody a").last().click();
  await page.locator("#count:focus").waitFor();
  assertEquals(await page.locator("#count").isVisible(), true);
  assert(await page.evaluate("scrollY") as number < 300);
  await page.getByRole("link", { name: "Change" }).click();
  await page.locator("#what:focus").waitFor();
  await page.emulateMedia({ media: "print" });
  for (const selector of ["#query", ".take", "nav", ".download-bar"]) {
    assertEquals(await page.locator(selector).first().isVisible(), false, selector);
  }
  assertEquals(await page.locator("#count").isVisible(), true);
}, { context: { viewport: { width: 375, height: 812 } } });

const screens = [
  "/",
  `/?characteristic=${TP}&where=Manitoba`,
  `/?characteristic=${TP}&location=1001&by=month&map=page`,
  "/?characteristic=phosphorous&from=1800",
  "/?from=soon",
  "/?characteristic=Metals&where=NS&sort=years",
  "/?characteristic=phosphorous&where=Atlantis",
  "/?location=1001&selected=1001&from=2015",
  "/datasets",
  "/datasets/10.25976/weir-bb00",
  "/fields",
];
for (
  const [colorScheme, width, language] of [["light", 1280, "en"], ["dark", 375, "fr"]] as const
) {
  pageTest(
    `pages have no axe-core violation when ${colorScheme}, ${width} wide, in ${language}`,
    async (page) => {
      for (const path of screens) {
        await page.goto(`${path}${path.includes("?") ? "&" : "?"}lang=${language}`);
        if (path === "/") {
          await page.locator("#what").pressSequentially("phos");
          await page.locator("#suggestions [role=option]").first().waitFor();
        }
        await page.evaluate(axe.source);
        const { violations }: axe.AxeResults = await page.evaluate("axe.run()");
        assertEquals(violations.map(({ id, nodes }) => [id, nodes[0]?.html]), [], path);
      }
    },
    { synthetic: true, context: { colorScheme, viewport: { width, height: 900 } } },
  );
}
