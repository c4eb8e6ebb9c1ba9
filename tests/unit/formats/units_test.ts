// Units are converted exactly, and only within a dimension; rows with other units keep theirs and are counted.
import "../../helpers/no_permission.ts";
import { assertEquals, assertThrows } from "@std/assert";
import { DataStream, type Progress, ValidationError } from "../../../mod.ts";
import { pageOf, upstream } from "../../helpers/upstream.ts";

type Row = readonly [characteristic: string, value: string, unit: string, form?: string];

/** Returns value and unit of each row after a conversion, and the notes of the query. */
async function convert(rows: readonly Row[], units: Record<string, string>) {
  const objects = rows.map(([name, value, unit, form = null], index) =>
    `{"Id":${index},"CharacteristicName":"${name}","ResultValue":${value},"ResultUnit":"${unit}",` +
    `"MethodSpeciation":${form && `"${form}"`}}`
  );
  const { options } = upstream(pageOf(`{"value":[${objects.join()}]}`));
  let notes: Progress["notes"];
  const onProgress = (progress: Progress) => void (notes = progress.notes);
  const query = new DataStream(options).records({ select: "Id", tidy: true, units, onProgress });
  const csv = await new Response(query.csv({ header: false, eol: "\n" })).text();
  const lines = csv.trimEnd().split("\n");
  return { values: lines.map((line) => line.split(",").slice(1, 3).join(" ")), notes };
}

/** What 1 of each unit is in the first unit of its dimension. */
const ONES: Record<string, Record<string, string>> = {
  "ug/L": {
    "pg/L": "0.000001",
    "ng/L": "0.001",
    "pg/mL": "0.001",
    "ug/m3": "0.001",
    "ng/mL": "1",
    "mg/m3": "1",
    "mg/L": "1000",
    "g/L": "1000000",
    "mg/mL": "1000000",
  },
  "ug/kg": { "ng/g": "1", "mg/kg": "1000", "ug/g": "1000", "mg/g": "1000000", "kg/t": "1000000" },
  "umol/L": { "mmol/L": "1000", "Mole/L": "1000000" },
  mm: { cm: "10", in: "25.4", ft: "304.8", m: "1000" },
  "uS/cm": { "umho/cm": "1", "uS/m": "0.01", "mS/cm": "1000", "S/m": "10000" },
};

for (const [first, others] of Object.entries(ONES)) {
  Deno.test(`records() convert every unit of the dimension of ${first} exactly`, async () => {
    const rows = Object.keys(others).map((unit): Row => ["X", "1", unit]);
    const expected = Object.values(others).map((value) => `${value} ${first}`);
    assertEquals((await convert(rows, { X: first })).values, expected);
  });
}

Deno.test("records() convert units, count the others, and list forms and fractions when units are set", async () => {
  const rows: Row[] = [
    ["Nitrate", "0.0041", "mg/L", "as N"],
    ["Nitrate", "5.0", "µg/l"],
    ["Nitrate", "2e-3", "mg/L"],
    ["Nitrate", "1", "mg/kg"],
    ["Depth", "1", "in"],
    ["Temperature, water", "32.1", "deg F"],
    ["pH", "7.10", "None"],
  ];
  const units = { Nitrate: "ug/L", Depth: "m", "Temperature, water": "deg C" };
  assertEquals(await convert(rows, units), {
    values: [
      "4.1 ug/L",
      "5.0 ug/L",
      "2 ug/L",
      "1 mg/kg",
      "0.0254 m",
      "0.0555555555555556 deg C",
      "7.10 None",
    ],
    notes: {
      otherUnit: 1,
      forms: { Nitrate: ["as N", ""], Depth: [""], "Temperature, water": [""] },
      fractions: { Nitrate: [""], Depth: [""], "Temperature, water": [""] },
    },
  });
});

Deno.test("records() throw a ValidationError when a unit is unknown, or a value has no zero", () => {
  for (const [name, unit] of [["Nitrate", "NTU"], ["Temperature difference", "deg C"]] as const) {
    const make = () => new DataStream().records({ tidy: true, units: { [name]: unit } });
    assertEquals(assertThrows(make, ValidationError).option, "units");
  }
});
