// A series has comparable measurements only.
import "../../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { selectSeries, seriesOf } from "../../../../edge/page/series.ts";
import { repeat, row } from "./drawings.ts";

Deno.test("selectSeries() returns the values of one characteristic, unit, fraction and form: those with most values", () => {
  const rows = [
    row("1", { MethodSpeciation: "as NO3" }),
    ...repeat(3, () => row("2")),
    ...repeat(2, () => row("3", { ResultSampleFraction: "Dissolved" })),
    ...repeat(3, () => row("4", { CharacteristicName: "Iron", ActivityStartDate: "" })),
    row("", { censoring: "unknown", unit: "" }),
    row("5", { is_quality_control: "true" }),
    row("5", { is_quality_control: "true", CharacteristicName: "Iron" }),
  ];
  const series = selectSeries(rows)!;
  assertEquals(series.rows.map(({ value }) => value), ["2", "2", "2"]);
  assertEquals([series.withoutLimit, series.controls], [1, 1]);
  assertEquals(series.alternatives.map(({ example, rows }) => [seriesOf(example), rows.length]), [
    ["Nitrate|mg/L|Dissolved|as N", 2],
    ["Nitrate|mg/L|Total|as NO3", 1],
  ]);
  const wanted = selectSeries(rows, "Nitrate|mg/L|Total|as NO3")!;
  assertEquals(wanted.rows.map(({ value }) => value), ["1"]);
  assertEquals(selectSeries([row("", { censoring: "missing" })]), undefined);
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
