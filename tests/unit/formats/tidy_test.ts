// Rows for analysis: the columns of `tidy` follow their rules, and other days and quality control are left out.
import "../../helpers/no_permission.ts";
import { assertEquals, assertThrows } from "@std/assert";
import { DataStream, type Progress, ValidationError } from "../../../mod.ts";
import { pageOf, upstream } from "../../helpers/upstream.ts";
import { createWriter, type FormatName } from "../../../src/formats/formats.ts";
import { writePage } from "../../../src/formats/page_writer.ts";

const FIELDS = [
  "ResultValue",
  "ResultUnit",
  "ResultDetectionCondition",
  "ResultDetectionQuantitationLimitMeasure",
  "ResultDetectionQuantitationLimitUnit",
  "ActivityStartDate",
  "ActivityStartTime",
  "ActivityStartTimeZone",
  "ActivityType",
];

/** The nine fields, and the seven columns. `tests/properties/tidy_test.ts` has the other combinations. */
const ROWS = `
97,%,,,,2020-01-01,15:30:00,,Field Msr/Obs|97,%,none,97,97,,false
0.012,mg/L,,,,2024-06-01,11:30:00,-06:00,Sample-Routine|0.012,mg/L,none,0.012,0.012,2024-06-01T17:30:00Z,false
,,Below Detection/Quantification Limit,0.05,mg/L,2024-11-03,01:30:00,-04:00,Sample-Other|0.05,mg/L,left,,0.05,2024-11-03T05:30:00Z,false
,,Above Detection/Quantification Limit,2419.6,MPN/100mL,2024-07-01,10:00:00,Z,|2419.6,MPN/100mL,right,2419.6,,2024-07-01T10:00:00Z,false
,,Not Reported,,,2024-07-01,10:00:00,-0700,Sample-Other|,,missing,,,2024-07-01T17:00:00Z,false
,,Not Detected,0.01,ug/L,,,,Sample-Other|0.01,ug/L,left,,0.01,,false
,,Trace,0.05,mg/L,,,,Quality Control Sample-Reagent Blank|,,unknown,,,,true
,mg/L,Below Detection/Quantification Limit,5,ug/L,2024-02-30,10:00:00,Z,Sample-Other|5,ug/L,left,,5,,false
7.2,None,Not Reported,,,,,,Quality Control-Calibration Check|7.2,None,unknown,,,,true
<0.05,mg/L,,,,,,,Sample-Positive Control|,,unknown,,,,true
1.5e-3,mg/L,,,,,,,|1.5e-3,mg/L,none,1.5e-3,1.5e-3,,false
`.trim().split("\n").map((line) => line.split("|") as [string, string]);

/** Local date, time and offset, and the time in UTC; none if it is not known. */
const TIMES = `
2024-06-01 12:00:00.005 -01:00 2024-06-01T13:00:00.005Z
2024-06-01 9:05 Z 2024-06-01T09:05:00Z
2024-06-01 12:00 UTC 2024-06-01T12:00:00Z
2024-06-01 12:00 GMT 2024-06-01T12:00:00Z
2024-06-01 12:00 utc 2024-06-01T12:00:00Z
2024-06-01 12:00 z 2024-06-01T12:00:00Z
2024-06-01 12:00 UTC-6
2024-06-01 12:00 UT
2024-06-01 12:00 AST
2024-06-01 12:00 +0530 2024-06-01T06:30:00Z
2024-06-01 12:00 +5:45 2024-06-01T06:15:00Z
2024-06-01 12:00 -12:00 2024-06-02T00:00:00Z
2024-06-01 12:00 +14:00 2024-05-31T22:00:00Z
2024-01-01 00:00 +00:01 2023-12-31T23:59:00Z
2024-02-28 23:00 -06:00 2024-02-29T05:00:00Z
1900-02-28 23:00 -06:00 1900-03-01T05:00:00Z
2000-02-28 23:00 -06:00 2000-02-29T05:00:00Z
9999-12-31 23:00 Z 9999-12-31T23:00:00Z
0000-01-01 00:00 Z 0000-01-01T00:00:00Z
9999-12-31 23:00 -06:00
0000-01-01 00:00 +01:00
2024-06-01 12:00 -12:01
2024-06-01 12:00 +14:01
2024-06-01 12:00 -06
2024-06-01 12:00 06:00
2024-06-01 12:00 -06:00Z
2024-06-01 12:00 −06:00
2024-06-01 12:60 Z
2024-06-01 12:00:60 Z
2024-06-01 12:0 Z
2024-06-01 12:00:00.1234 Z
2024-13-01 12:00 Z
2024-06-31 12:00 Z
2023-02-29 12:00 Z
1900-02-29 12:00 Z
2000-02-29 12:00 Z 2000-02-29T12:00:00Z
2024-05-31 12:00 Z 2024-05-31T12:00:00Z
2024-04-31 12:00 Z
2024-06-00 12:00 Z
2024-6-1 12:00 Z
`.trim().split("\n").map((line) => line.split(" "));

function quote(text: string): string {
  return JSON.stringify(text);
}

function escapeAll(text: string): string {
  const codes = [...text].map((character) => character.charCodeAt(0).toString(16));
  return `"${codes.map((code) => `\\u${code.padStart(4, "0")}`).join("")}"`;
}

function convert(format: FormatName, rows: readonly string[]): string {
  const writer = createWriter(format, {
    resource: "Observations",
    select: ["Id"],
    csv: format === "csv" ? { header: false, eol: "\n" } : undefined,
    rules: { tidy: true },
  });
  const page = new TextEncoder().encode(`{"value":[${rows.join()}]}`);
  return new TextDecoder().decode(writePage(writer, page));
}

function objectOf(cells: readonly string[], spell: typeof quote): string {
  return `{"Id":1,${FIELDS.map((field, index) => `"${field}":${spell(cells[index]!)}`).join()}}`;
}

for (const spell of [quote, escapeAll]) {
  Deno.test(`csv() adds the columns of the rules when tidy is true and texts are spelled by ${spell.name}()`, () => {
    const rows = ROWS.map(([cells]) => objectOf(cells.split(","), spell));
    const expected = ROWS.map(([, columns]) => `1,${columns}\n`).join("");
    assertEquals(convert("csv", rows), expected);
    const timed = TIMES.map(([date, time, zone]) =>
      objectOf(["", "", "", "", "", date!, time!, zone!, ""], spell)
    );
    const times = TIMES.map(([, , , utc = ""]) => `1,,,missing,,,${utc},false\n`).join("");
    assertEquals(convert("csv", timed), times);
  });
}

Deno.test("ndjson() adds the columns of each row of the rules when tidy is true", () => {
  const rows = ROWS.map(([cells]) => objectOf(cells.split(","), quote));
  const expected = ROWS.map(([, columns], index) => {
    const [value, unit, censoring, lower, upper, time, isControl] = columns.split(",");
    return `${rows[index]!.slice(0, -1)},"value":${value || null},` +
      `"unit":${unit ? quote(unit) : null},"censoring":"${censoring}","lower":${lower || null},` +
      `"upper":${upper || null},"datetime_utc":${time ? quote(time) : null},` +
      `"is_quality_control":${isControl}}\n`;
  });
  assertEquals(convert("ndjson", rows), expected.join(""));
});

Deno.test("csv() quotes the time when tidy is true and the separator is a colon", async () => {
  const row = objectOf(["1", "", "", "", "", "2024-06-01", "12:00", "Z", ""], quote);
  const { options } = upstream(pageOf(`{"value":[${row}]}`));
  const query = new DataStream(options).observations({ select: "Id", tidy: true });
  const csv = await new Response(query.csv({ separator: ":", eol: "\n" })).text();
  assertEquals(csv.split("\n")[1], '1:1::none:1:1:"2024-06-01T12:00:00Z":false');
});

const DAYS = [
  ...["2024-05-14", "2024-05-15", null, "2024-05-16", "2024-05-17", "2024-05-16"],
  ...["15/05/2024", "2024-05", "2024-05-15T10:00", "2024-05-32", "unknown", " "],
];
const DATED = DAYS.map((day, index) =>
  `{"Id":${index + 1},"ActivityStartDate":${day && quote(day)},` +
  `"ActivityType":"${index === 3 ? "Quality Control Sample-Field Blank" : "Sample-Routine"}"}`
);
const FILTERED = { from: "2024-05-15", to: "2024-05-16", excludeQualityControl: true } as const;

for (const format of ["csv", undefined] as const) {
  Deno.test(`records() leaves out rows of other days and of quality control ${format ? `in ${format}` : "in toArray()"}`, async () => {
    const { options, requests } = upstream(pageOf(`{"value":[${DATED.join()}]}`));
    let notes: Progress["notes"];
    const query = new DataStream(options).records({
      ...FILTERED,
      select: "Id",
      onProgress: (progress) => notes = progress.notes,
    });
    const text = format === undefined
      ? JSON.stringify(await query.toArray())
      : await new Response(query.bytes(format)).text();
    assertEquals([...text.matchAll(/\d+/g)].map(String), ["2", "6"]);
    assertEquals(notes, { outsideDays: 2, withoutDate: 2, unreadableDate: 5, qualityControl: 1 });
    const url = new URL(requests[0]!.url);
    assertEquals(
      url.searchParams.get("$filter"),
      "ActivityStartYear gte 2024 and ActivityStartYear lte 2024",
    );
    assertEquals(url.searchParams.get("$select"), "Id,ActivityStartDate,ActivityType");
  });
}

Deno.test("records() sends a clause for a year once when the filter has it, too", () => {
  const filter = "ActivityStartYear gte 2024";
  const url = new URL(new DataStream().records({ ...FILTERED, filter }).url);
  assertEquals(url.searchParams.get("$filter"), `${filter} and ActivityStartYear lte 2024`);
});

Deno.test("records() applies the limit after the filters by day and quality control", async () => {
  const { options, requests } = upstream(pageOf(`{"value":[${DATED.join()}]}`));
  const query = new DataStream(options).records({ ...FILTERED, limit: 1 });
  assertEquals((await query.toArray()).map(({ Id }) => Id), [2]);
  assertEquals(requests.length, 1);
});

Deno.test("records() throws a ValidationError when days are wrong or units lack tidy, and tidy() for Locations", () => {
  const wrong: [options: object, message: string][] = [
    [{ from: "2024-02-30" }, "from"],
    [{ to: "2024" }, "to"],
    [{ from: "2024-05-02", to: "2024-05-01" }, "2024-05-02"],
    [{ units: { Nitrate: "mg/L" } }, "tidy"],
  ];
  for (const [options, message] of wrong) {
    assertThrows(() => new DataStream().records(options), ValidationError, message);
  }
  // @ts-expect-error -- locations have no results
  assertThrows(() => new DataStream().locations({ tidy: true }), ValidationError, "Locations");
});
