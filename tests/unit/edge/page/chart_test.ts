// The chart shows each value at its date, limits as limits, and locations by colour and shape.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { chart, repeat, row, ticksOf } from "./drawings.ts";

/** Returns the points with shapes: those of a group, except limits, have its shape. */
const pointsOf = (html: string) =>
  [...html.matchAll(/marker-start="url\(#(none\d)\)">(.*?)<\/g>/g)].flatMap(([, shape, lines]) =>
    [...lines!.matchAll(/<line x1="([\d.]+)%" y1="(\d+)"(?: marker-start="url\(#(\w+)\)")?\/>/g)]
      .map(([, x, y, limit]) => ({ shape: limit ?? shape, x: Number(x), y: Number(y) }))
  );

Deno.test("drawChart() links to the other scale and to other series with their numbers", async () => {
  const html = await chart([
    ...repeat(3, (i) => row(String(10 ** i))),
    row("1", { ResultSampleFraction: "Dissolved" }),
  ]);
  assertStringIncludes(html, "mg/L as N, total fraction, log scale");
  assertStringIncludes(html, '<a href="/?scale=linear&amp;lang=en">Linear</a>');
  assertStringIncludes(html, 'Nitrate%7Cmg%2FL%7CDissolved%7Cas+N&amp;lang=en">Dissolved (1)</a>');
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
    "Lake 0 9 Lake 1 8 Lake 2 7 Lake 3 6 Lake 4 5 Lake 5 4 2 other locations 5",
  );
  // The grey points are below the coloured ones.
  const shapes = pointsOf(html).map(({ shape }) => shape);
  const expected = [[6, 5], [5, 4], [4, 5], [3, 6], [2, 7], [1, 8], [0, 9]] as const;
  assertEquals(shapes, expected.flatMap(([index, n]) => repeat(n, () => `none${index}`)));
});

Deno.test("drawChart() has a table by year, with the median only as exact as limits allow", async () => {
  const year = (year: number, ...values: string[]) =>
    values.map((text) =>
      row(text.replace(/[<>]/, ""), {
        ActivityStartDate: `${year}-05-05`,
        censoring: text.startsWith("<") ? "left" : text.startsWith(">") ? "right" : "none",
      })
    );
  const html = await chart([
    ...year(2018, "1.0", "2.50", "<0.5"),
    ...year(2019, "1", "2", "<3"),
    ...year(2021, ">1", "2", "3"),
    ...year(2022, ">1", "2", "<3"),
  ]);
  const table = /<tbody>.*<\/tbody>/.exec(html)![0];
  const rows = [...table.matchAll(/<tr>(.*?)<\/tr>/g)].map(([, cells]) =>
    [...cells!.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/g)].map(([, text]) => text!.trim())
  );
  assertEquals(rows, [
    ["2018", "3", "1", "&lt; 0.5", "1.0", "2.50"],
    ["2019", "3", "1", "1", "≤2", "&lt; 3"],
    ["2021", "3", "0", "&gt; 1", "≥2", "3"],
    ["2022", "3", "1", "&gt; 1", "–", "&lt; 3"],
  ]);
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
