// The chart shows each value at its date, limits as limits, and locations by colour and shape. Medians and the middle half
// of years or months are only as exact as limits allow.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { chart, repeat, row, ticksOf } from "./drawings.ts";

/** Returns the points or medians with shapes: those of a group, except limits, have its shape. */
const pointsOf = (html: string, kind = "points") =>
  [...html.matchAll(
    new RegExp(`class="chart-${kind}[^>]*marker-start="url\\(#(none\\d)\\)">(.*?)</g>`, "g"),
  )].flatMap(([, shape, lines]) =>
    [...lines!.matchAll(/<line x1="([\d.]+)%" y1="(\d+)"(?: marker-start="url\(#(\w+)\)")?\/>/g)]
      .map(([, x, y, limit]) => ({ shape: limit ?? shape, x: Number(x), y: Number(y) }))
  );

Deno.test("drawChart() links to the other scale and to other series with their numbers", async () => {
  const html = await chart([
    ...repeat(3, (i) => row(String(10 ** i))),
    row("1", { ResultSampleFraction: "Dissolved" }),
    row("7", {
      CharacteristicName: "pH",
      unit: "None",
      ResultSampleFraction: "",
      MethodSpeciation: "",
    }),
  ]);
  assertStringIncludes(html, "mg/L as N, total fraction, log scale");
  assertStringIncludes(html, '<a href="/?scale=linear&amp;lang=en">Linear</a>');
  assertStringIncludes(html, 'Nitrate%7Cmg%2FL%7CDissolved%7Cas+N&amp;lang=en">Dissolved (1)</a>');
  assertStringIncludes(html, 'pH%7CNone%7C%7C&amp;lang=en">pH (1)</a>');
  assertEquals(ticksOf(await chart([row("1"), row("100")], "scale=linear"))[0], "0");
  assertEquals((await chart([row("0"), row("100")], "scale=log")).includes(">Linear<"), false);
});

Deno.test("drawChart() places values by date and size, and limits hollow with a tail", async () => {
  const html = await chart([
    row("1", { ActivityStartDate: "2020-01-01" }),
    row("5", { ActivityStartDate: "2021-12-31" }),
    row("2", { ActivityStartDate: "2021-01-01", censoring: "left" }),
    row("3", { ActivityStartDate: "2021-01-01", censoring: "right" }),
  ]);
  const [first, left, right, last] = pointsOf(html);
  assertEquals([first, left, right, last].map((point) => point!.shape), [
    "none0",
    "left0",
    "right0",
    "none0",
  ]);
  assertEquals(first!.x, 0);
  // 366 days of 731.
  assertEquals(left!.x, 50.1);
  assert(last!.x > 99.8 && last!.x < 100);
  assert(first!.y > left!.y && left!.y > right!.y && right!.y > last!.y);
  for (const text of ["below the limit", "above the limit"]) assertStringIncludes(html, text);
  // A tail points down or up.
  assertStringIncludes(html, '<path class="chart-left" d="M0 4v8');
  assertStringIncludes(html, '<path class="chart-right" d="M0-4v-8');
  assertStringIncludes(html, 'aria-label="Chart of Nitrate: 4 results, 2020–2021.');
});

Deno.test("drawChart() places values by date when a year is below 100", async () => {
  const rows = ["0019-01-01", "0020-01-01"].map((date) => row("1", { ActivityStartDate: date }));
  const points = pointsOf(await chart(rows));
  assertEquals(points.map(({ x }) => Math.round(x)), [0, 50]);
});

Deno.test("drawChart() gives six locations a colour and a shape, and merges the others", async () => {
  const rows = repeat(
    8,
    (i) =>
      repeat(
        9 - i,
        (j) =>
          row(String(j + 1), { LocationId: String(i), ActivityStartDate: `2020-0${j + 1}-01` }),
      ),
  ).flat();
  const html = await chart(rows);
  const legend = /<ul class="chart-legend">.*?<\/ul>/.exec(html)![0].replace(/<[^>]*>/g, " ")
    .replace(/\s+/g, " ").trim();
  assertEquals(
    legend,
    "Lake 0 9 Lake 1 8 Lake 2 7 Lake 3 6 Lake 4 5 Lake 5 4 2 other locations 5 " +
      "median of a year, and the middle half of its results",
  );
  // The grey points are below the coloured ones, and the location with most points below the others.
  const shapes = pointsOf(html).map(({ shape }) => shape);
  const expected = [[6, 5], [0, 9], [1, 8], [2, 7], [3, 6], [4, 5], [5, 4]] as const;
  assertEquals(shapes, expected.flatMap(([index, n]) => repeat(n, () => `none${index}`)));
});

/** Returns results of a year; `<` and `>` are limits. */
const year = (year: number, ...values: string[]) =>
  values.map((text) =>
    row(text.replace(/[<>]/, ""), {
      ActivityStartDate: `${year}-05-05`,
      censoring: text.startsWith("<") ? "left" : text.startsWith(">") ? "right" : "none",
    })
  );
const tableOf = (html: string) => {
  const table = /<tbody>.*<\/tbody>/.exec(html)![0];
  return [...table.matchAll(/<tr>(.*?)<\/tr>/g)].map(([, cells]) =>
    [...cells!.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/g)].map(([, text]) => text!.trim())
  );
};
const pathOf = (html: string, name: string) =>
  new RegExp(`class="chart-${name}" d="([^"]*)"`).exec(
    /<svg viewBox.*?<\/svg>/.exec(html)![0],
  )![1]!;
/** Years whose results have medians that limits leave open in each way. */
const CENSORED = [
  ...year(2018, "1.0", "2.50", "<0.5"),
  ...year(2019, "1", "2", "<3"),
  ...year(2021, ">1", "2", "3"),
  ...year(2022, ">1", "2", "<3"),
  ...year(2023, "<1", "<1", "2"),
  ...year(2024, "1", ">2", ">2"),
];

Deno.test("drawChart() has a table by year, with quartiles only as exact as limits allow", async () => {
  assertEquals(tableOf(await chart(CENSORED)), [
    ["2018", "3", "1", "&lt; 0.5", "&lt; 0.5", "1.0", "2.50", "2.50"],
    ["2019", "3", "1", "1", "≤ 1", "≤ 2", "&lt; 3", "&lt; 3"],
    ["2021", "3", "0", "&gt; 1", "&gt; 1", "≥ 2", "≥ 3", "3"],
    ["2022", "3", "1", "&gt; 1", "–", "–", "–", "&lt; 3"],
    ["2023", "3", "2", "&lt; 1", "&lt; 1", "&lt; 1", "2", "2"],
    ["2024", "3", "0", "1", "1", "&gt; 2", "&gt; 2", "&gt; 2"],
  ]);
  assertEquals(tableOf(await chart([...year(2018, "1", "2"), ...year(2020, "3")], "by=month")), [
    ["May", "3", "0", "1", "1", "2", "3", "3"],
  ]);
});

Deno.test("drawChart() draws exact medians solid, open ones as limits, and unknown ones not", async () => {
  const html = await chart(CENSORED);
  const shapes = pointsOf(html, "medians").map(({ shape }) => shape);
  assertEquals(shapes, ["none0", "left0", "right0", "left0", "right0"]);
  // The line has no exact neighbours, and no year has four results.
  assertEquals([pathOf(html, "line"), pathOf(html, "band")], ["M71 190", ""]);
});

Deno.test("drawChart() joins medians of consecutive years, with a band from four results on", async () => {
  const html = await chart([
    ...year(2016, "1", "2", "3", "4"),
    ...year(2017, "2", "3", "<1", "4"),
    ...year(2018, "1", "2", "3"),
    ...year(2020, "1"),
  ]);
  assertEquals(pathOf(html, "line"), "M100 111L300 111L500 145M900 213");
  // The lower quartile of 2017 can be anywhere below its limit.
  assertEquals(pathOf(html, "band"), "M50 44L100 44L300 44L350 44L350 280L300 280L100 179L50 179z");
  const x = pointsOf(await chart(year(2018, "1"), "by=month"), "medians").map(({ x }) => x);
  assertEquals(x, [37.5]);
});

Deno.test("drawChart() says from which median to which the results went, and claims no trend", async () => {
  const answer = async (query: string, ...rows: Parameters<typeof row>[1][]) => {
    const html = await chart(rows.map((more) => row(more!.value!, more)), query);
    return /<p class="chart-answer">(.*?)<\/p>/.exec(html)![1];
  };
  const years = (first: number, count: number, more = {}) =>
    repeat(count, (i) => ({ value: `${i + 1}`, ActivityStartDate: `${first + i}-05-05`, ...more }));
  const below = years(2000, 5, { censoring: "left" });
  assertEquals(
    await answer("", ...below, ...years(2005, 5, { LocationId: "2" })),
    "The median of 2 locations together went from below 3 mg/L as N in 2000–2004 (5 results) to 3 mg/L as N in " +
      "2005–2009 (5 results). Two medians are compared, without a test of significance.",
  );
  assertEquals(
    await answer("lang=fr", ...years(2000, 4), ...years(2009, 2)),
    "La médiane est passée de 2,5 mg/L comme N en 2000–2004 (4 résultats) à 1,5 mg/L comme N en 2006–2010 " +
      "(2 résultats). 5 années n’ont aucun résultat : aucune tendance n’est affirmée.",
  );
  assertEquals(
    await answer("", ...years(2000, 1)),
    "The median is 1 mg/L as N in 2000 (1 result). Fewer than ten years: no change is computed.",
  );
});

Deno.test("drawChart() has at most 12 labels of years, and months when there is one year", async () => {
  const labelsOf = async (...dates: string[]) => {
    const html = await chart(dates.map((date) => row("1", { ActivityStartDate: date })));
    const [times] = /class="chart-times".*?<\/g>/.exec(html)!;
    return [...times.matchAll(/>([^<]+)<\/text>/g)].map(([, text]) => text);
  };
  const years = ["1990", "1995", "2000", "2005", "2010", "2015", "2020"];
  assertEquals(await labelsOf("1990-05-05", "2024-05-05"), years);
  const months = await labelsOf("2020-05-05");
  assertEquals([months.length, months[0]], [12, "Jan 2020"]);
});
