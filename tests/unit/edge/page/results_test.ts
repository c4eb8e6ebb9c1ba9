// The results state what they are and how many, or why there are none.
import "../../../helpers/no_permission.ts";
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { overSandbox } from "../../../helpers/edge.ts";
import { elementOf, get, headingOf, textOf } from "./pages.ts";

const facts: [query: string, fact: string][] = [
  ["from=2015", "since 2015"],
  ["to=2016&lang=fr", "jusqu’en 2016"],
  ["from=2015&to=2016", "2015–2016"],
  ["from=2015&to=2015", "2015"],
  ["west=-141&south=42&east=-52&north=80.5", "box on the map -141 to -52, 42 to 80.5"],
];
for (const [query, fact] of facts) {
  Deno.test(`GET / states "${fact}" when the form has ${query}`, async () => {
    const { app } = overSandbox({ records: 300 });
    const html = await get(app, `/?${query}`);
    assertMatch(elementOf(html, 'class="facts"'), new RegExp(`, ${fact}\\.`));
    assertMatch(elementOf(html, 'class="fold"'), new RegExp(`${fact} `));
  });
}

Deno.test("GET / has the number of measurements at each of several names", async () => {
  const { app, stats } = overSandbox({ hostileNames: false });
  const query = "/?characteristic=ph&characteristic=TN&where=PEI";
  assertMatch(
    elementOf(await get(app, query), 'class="facts"'),
    /^pH \(180\), Total Nitrogen, mixed forms \(no measurements\), \d+ locations/,
  );
  assertEquals(stats.requests, 3);
  assertMatch(
    elementOf(await get(app, `${query}&lang=fr`), 'class="facts"'),
    /^pH \(180\), Azote total, formes mixtes \(aucune mesure\), /,
  );
  assertMatch(
    elementOf(
      await get(app, "/?characteristic=physical&characteristic=Nutrients"),
      'class="facts"',
    ),
    /^Physical \(\d,\d{3} of the first 10,000\), Nutrients \(/,
  );
});

Deno.test("GET / states that data is synthetic, and that a large count is an estimate", async () => {
  const { app } = overSandbox({ records: 1_200_000 }, { synthetic: true });
  const html = await get(app, "/");
  assertStringIncludes(html, "the values are generated, not measured");
  assertEquals(headingOf(html), "About 1,200,000 measurements");
  assertStringIncludes(html, ">synthetic-canada-all-years.csv<");
  assertStringIncludes(textOf(html), "Excel shows at most 1,048,575 rows");
});

Deno.test("GET / has a sentence instead of a chart when the result has more rows than one request returns", async () => {
  const { app } = overSandbox({ records: 12_000 });
  const html = await get(app, "/?from=2012");
  assertMatch(textOf(html), /11,\d{3} results: choose a location or years to see a chart\./);
  assertStringIncludes(html, "data-fragment");
  const years = await get(app, "/years?from=2012");
  assertStringIncludes(years, "DataStream: Records");
  assertStringIncludes(years, 'class="fragment"');
  assertEquals((await get(app, "/?from=2012")).includes("data-fragment"), false);
});

Deno.test("GET / asks only for years when one location has more rows than a chart", async () => {
  const { app } = overSandbox({ hostileNames: false });
  const sentences = { en: "results: choose years to see a chart.", fr: "choisissez des années" };
  for (const [language, sentence] of Object.entries(sentences)) {
    const html = await get(app, `/?location=1001&lang=${language}`);
    assertStringIncludes(elementOf(html, 'class="card chart-card"'), sentence);
  }
});

Deno.test("GET / explains an empty result, with the next step", async () => {
  const { app, stats } = overSandbox();
  const path = "/?characteristic=pH&from=1800&to=1801";
  const html = await get(app, path);
  const reasons = elementOf(html, 'class="info reasons"');
  assertStringIncludes(reasons, "No measurement has this filter: years 1800–1801.");
  assertStringIncludes(html, 'href="/?characteristic=pH&amp;lang=en">Show all years</a>');
  const { requests } = stats;
  await get(app, path);
  assertEquals(stats.requests, requests); // the explanation is cached too
});

Deno.test("GET /years says that no measurement has a year, with a link back to the selection, when it is empty", async () => {
  const { app } = overSandbox({ records: 3 });
  const html = await get(app, "/years?to=1801");
  assertStringIncludes(html, "This selection has no measurement with a year. Remove a filter");
  assertStringIncludes(html, 'href="/?to=1801&amp;lang=en">Back to the selection</a>');
});
