// The table shows the newest measurements with the digits of the service.
import "../../../helpers/no_permission.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Measurement } from "../../../../edge/page/series.ts";
import { measurementsTable } from "../../../../edge/page/table.ts";
import { contentOf, repeat, row } from "./drawings.ts";

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
  assertEquals(rows[0]!.at(-1), `${"𝛅".repeat(120)}…`);
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
