// The chart, the bars and the table show each value at its date and with its digits, and limits as limits.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { drawBars } from "../../../../edge/page/bars.ts";
import { drawChart } from "../../../../edge/page/chart.ts";
import {
  formatSeries,
  type Measurement,
  parseSeries,
  selectSeries,
} from "../../../../edge/page/series.ts";
import { readForm } from "../../../../edge/page/form.ts";
import type { LocationInfo } from "../../../../edge/page/load.ts";
import { measurementsTable } from "../../../../edge/page/table.ts";

const row = (value: string, more: Record<string, string> = {}): Measurement => ({
  LocationId: "1",
  ActivityStartDate: "2020-06-01",
  CharacteristicName: "Nitrate",
  ResultSampleFraction: "Total",
  MethodSpeciation: "as N",
  ActivityMediaName: "Surface Water",
  value,
  unit: "mg/L",
  censoring: "none",
  ...more,
});
const repeat = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index));

Deno.test("selectSeries() returns the values of one characteristic, unit, fraction and form: those with most values", () => {
  const rows = [
    row("1", { MethodSpeciation: "as NO3" }),
    ...repeat(3, () => row("2")),
    ...repeat(2, () => row("3", { ResultSampleFraction: "Dissolved" })),
    ...repeat(3, () => row("4", { CharacteristicName: "Iron", ActivityStartDate: "" })),
    row("", { censoring: "unknown", unit: "" }),
  ];
  const series = selectSeries(rows)!;
  assertEquals(series.rows.map(({ value }) => value), ["2", "2", "2"]);
  assertEquals(series.withoutLimit, 1);
  assertEquals(series.alternatives.map((other) => [formatSeries(other), other.results]), [
    ["Nitrate|mg/L|Dissolved|as N", 2],
    ["Nitrate|mg/L|Total|as NO3", 1],
  ]);
  const wanted = selectSeries(rows, parseSeries("Nitrate|mg/L|Total|as NO3"))!;
  assertEquals(wanted.rows.map(({ value }) => value), ["1"]);
  assertEquals(selectSeries([row("", { censoring: "missing" })]), undefined);
});

const list: LocationInfo[] = repeat(8, (i) => ({
  id: String(i),
  name: `Lake ${i}`,
  doi: "",
  type: "",
  position: { latitude: 50, longitude: -97 },
}));

/** Returns the content of a page: its form from a query, its rows and the names of locations. */
const contentOf = (rows: readonly Measurement[], query = "") => ({
  form: readForm(new URLSearchParams(query), query.includes("lang=fr") ? "fr" : "en"),
  path: "/",
  results: {
    rows,
    count: rows.length,
    isComplete: true,
    locations: { list, missing: 0 },
  },
});

const chart = async (rows: readonly Measurement[], query?: string) =>
  String(await drawChart(contentOf(rows, query))).replace(/\s+/g, " ");
const ticksOf = (html: string) =>
  [.../class="chart-axis".*?<\/svg>/.exec(html)![0].matchAll(/>([^<]+)<\/text>/g)]
    .map(([, text]) => text!.trim());
/** Returns the points with shapes: those of a group, except limits, have its shape. */
const pointsOf = (html: string) =>
  [...html.matchAll(/marker-start="url\(#(none\d)\)">(.*?)<\/g>/g)].flatMap(([, shape, lines]) =>
    [...lines!.matchAll(/<line x1="([\d.]+)%" y1="(\d+)"(?: marker-start="url\(#(\w+)\)")?\/>/g)]
      .map(([, x, y, limit]) => ({ shape: limit ?? shape, x: Number(x), y: Number(y) }))
  );

const scales: [low: string, high: string, ticks: string[]][] = [
  ["1", "51", ["1", "2", "5", "10", "20", "50", "100"]],
  ["1", "49", ["0", "10", "20", "30", "40", "50"]],
  ["6.8", "8.6", ["6.5", "7", "7.5", "8", "8.5", "9"]],
  ["0", "900", ["0", "200", "400", "600", "800", "1,000"]],
  ["7", "7", ["6", "8"]],
  ["1e-9", "1", ["1E-10", "1E-8", "1E-6", "0.0001", "0.01", "1"]],
  // The logarithm of the first number rounds up to -1.
  ["0.09999999999999999", "20", ["0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10", "20"]],
  ["-9e299", "1e-299", ["-1E300", "-8E299", "-6E299", "-4E299", "-2E299", "0"]],
  // Closer ticks would have equal labels.
  ["1e12", "1000000000001", ["1E12", "1.00002E12"]],
];
for (const [low, high, ticks] of scales) {
  Deno.test(`drawChart() has the ticks ${ticks.join(", ")} when values are from ${low} to ${high}`, async () => {
    const html = await chart([row(low), row(high)]);
    assertEquals(ticksOf(html), ticks);
    assertEquals(/NaN|Infinity/.test(html), false);
  });
}

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

Deno.test("selectSeries() leaves out dates and values that are malformed", () => {
  const rows = [
    ...["2020-13-45", "2020-1-5", "soon", ""].map((date) => row("1", { ActivityStartDate: date })),
    ...["1,5", "<0.05", " ", "1e999", "-1e308", "5e-324"].map((value) => row(value)),
    row("1.5e-3"),
  ];
  const { rows: drawn, withoutLimit } = selectSeries(rows)!;
  assertEquals(drawn.map(({ value }) => value), ["1.5e-3"]);
  assertEquals(withoutLimit, 6);
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
  const shapes = new Set(pointsOf(html).map(({ shape }) => shape));
  assertEquals([...shapes].sort(), [0, 1, 2, 3, 4, 5].map((index) => `none${index}`));
  // Steps from dot to dot: two in January, two in February and one in March.
  assertStringIncludes(html, 'class="chart-dots" d="M0 0m0 253h0m0 0h0m85 -27h0m0 0h0m79 -27h0"');
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

Deno.test("drawBars() has one bar per year with results", async () => {
  const years = [{ year: 2018, results: 50 }, { year: 2021, results: 190 }];
  const html = String(await drawBars(years, "en"));
  const heights = [...html.matchAll(/<rect[^>]* height="([\d.]+)"/g)];
  assertEquals(heights.map(([, height]) => height), ["17", "63"]);
  assertStringIncludes(html, ">200</text>");
  assertStringIncludes(html, 'aria-label="2018: 50; 2021: 190"');
  assertEquals(String(await drawBars([], "en")), "");
});

const table = async (rows: readonly Measurement[], query?: string) => {
  const html = String(await measurementsTable(contentOf(rows, query)));
  const cellsOf = (html: string, name: string) =>
    [...html.matchAll(new RegExp(`<${name}\\b[^>]*>(.*?)</${name}>`, "gs"))].map(([, text]) =>
      text!.replace(/<span class="details">.*?<\/span>|<[^>]*>/gs, "")
    );
  const [, ...bodyRows] = html.matchAll(/<tr role="row">(.*?)<\/tr>/gs);
  return {
    heading: cellsOf(html, "h2")[0]!.trim(),
    columns: cellsOf(html, "th"),
    rows: bodyRows.map(([, row]) => cellsOf(row!, "td")),
  };
};

Deno.test("measurementsTable() shows the newest 20 rows, and moves constant columns into the heading", async () => {
  const rows = repeat(30, (i) =>
    row("1", {
      ActivityStartDate: `2020-01-${String(i + 1).padStart(2, "0")}`,
      ActivityDepthHeightMeasure: i % 2 ? "-0.50" : "",
      ActivityDepthHeightUnit: "m",
      ResultAnalyticalMethodID: "EPA 353.2",
    }));
  const { heading, columns, rows: shown } = await table(rows);
  assertEquals(heading, "Measurements Nitrate, as N, Surface Water, Total, method EPA 353.2");
  assertEquals(columns, ["Date", "Location", "Value", "Unit", "Sample"]);
  assertEquals(shown.length, 20);
  assertEquals(shown[0], ["2020-01-30", "Lake 1", "1", "mg/L", "0.50 m"]);
  const { results, ...rest } = contentOf(rows);
  const partial = { ...rest, results: { ...results, count: 30_000, isComplete: false } };
  const html = String(await measurementsTable(partial));
  assertStringIncludes(html, "the newest 20 of the first 30 rows,");
});

Deno.test("measurementsTable() names characteristic, form and medium in each row when they differ", async () => {
  const { MethodSpeciation: _, ...withoutForm } = row("7.1");
  const { columns, rows } = await table([
    row("1"),
    {
      ...withoutForm,
      CharacteristicName: "pH",
      unit: "None",
      ResultSampleFraction: "",
      ActivityMediaName: "Groundwater",
      ActivityStartDate: "2019-01-01",
    },
  ]);
  assertEquals(columns.join(), "Date,Location,Characteristic,Value,Unit,Fraction,Sample");
  assertEquals(rows.map((cells) => cells.join()), [
    "2020-06-01,Lake 1,Nitrate,1\u2008\u2007,mg/L as N,Total,Surface Water",
    "2019-01-01,Lake 1,pH,7.1,,,Groundwater",
  ]);
});

Deno.test("measurementsTable() cuts a long text between two characters", async () => {
  const long = row("1", { ResultAnalyticalMethodName: "𝛅".repeat(200) });
  const { rows } = await table([long, row("2")]);
  assertEquals(rows[0]!.at(-1), `${"𝛅".repeat(117)}…`);
});

Deno.test("measurementsTable() keeps the digits of the service, aligned at the decimal point", async () => {
  const values = ["7.10", "0.0050", "12"];
  const { rows } = await table([
    ...values.map((value) => row(value)),
    row("0.005", { censoring: "left" }),
    row("2419.6", { censoring: "right" }),
    row("", { censoring: "unknown", ResultDetectionCondition: "Not Detected" }),
  ]);
  assertEquals(rows.map(([, , value]) => value), [
    "7.10\u2007\u2007",
    "0.0050",
    "12\u2008\u2007\u2007\u2007\u2007",
    "&lt; 0.005\u2007",
    "&gt; 2419.6\u2007\u2007\u2007",
    "not detected",
  ]);
  // No unit.
  assertEquals(rows.at(-1), ["2020-06-01", "Lake 1", "not detected"]);
  const notDetected = row("", { ResultDetectionCondition: "Not Detected" });
  const french = await table([row("7.10"), notDetected], "lang=fr");
  assertEquals(french.rows.map(([, , value]) => value), ["7,10", "non détecté"]);
  // The schema has French names of fractions and forms.
  assertEquals(french.heading, "Mesures Nitrate, comme N, Eau de surface, Totale");
});
