// Checks every record of a sandbox against the rules of DataStream's schema, which is based
// on the Water Quality Exchange (WQX). The source and date are in the fixture.
import "../../helpers/no_permission.ts";
import { assert, assertEquals } from "@std/assert";
import wqx from "../../fixtures/wqx_values.json" with { type: "json" };
import { sandboxRequests } from "../../helpers/sandbox.ts";

type Row = Record<string, unknown>;

const ALLOWED: Record<string, readonly string[]> = wqx.values;
const { rows } = sandboxRequests({ records: 10_000, hostileNames: false });

const isIn = (list: readonly string[], value: unknown) => list.includes(value as string);
const LIMIT_FIELDS = ["Type", "Measure", "Unit"].map((end) =>
  `ResultDetectionQuantitationLimit${end}`
);
const WITHOUT_LIMIT = ["Not Detected", "Detected Not Quantified"];
const WITH_LIMIT = ["Below Detection/Quantification Limit", "Above Detection/Quantification Limit"];
/** Media whose depth is below the surface. */
const SUBMERGED = ["Surface Water", "Ocean Water", "Surface Water Sediment"];

type Test = (row: Row) => boolean;
const always: Test = () => true;

/** Rules, each with the rows that it is about. */
const RULES: Record<string, readonly [applies: Test, holds: Test]> = {
  "has either a value or a detection condition": [
    always,
    (row) => (row.ResultValue === null) !== (row.ResultDetectionCondition === null),
  ],
  "has a unit if it has a value": [
    (row) => row.ResultValue !== null,
    (row) => row.ResultUnit !== null,
  ],
  "has a value type": [always, (row) => row.ResultValueType !== null],
  "has no detection limit if it is not detected or not quantified": [
    (row) => isIn(WITHOUT_LIMIT, row.ResultDetectionCondition),
    (row) => LIMIT_FIELDS.every((field) => row[field] === null),
  ],
  "has a limit's type, value and unit if it is above or below the limit": [
    (row) => isIn(WITH_LIMIT, row.ResultDetectionCondition),
    (row) => LIMIT_FIELDS.every((field) => row[field] !== null && row[field] !== 0),
  ],
  "has a negative depth in surface water, ocean water and sediment": [
    (row) => isIn(SUBMERGED, row.ActivityMediaName) && row.ActivityDepthHeightMeasure !== null,
    (row) => Number(row.ActivityDepthHeightMeasure) < 0,
  ],
  "has no activity depth if its result is a depth": [
    (row) => isIn(wqx.depthCharacteristics, row.CharacteristicName),
    (row) => row.ActivityDepthHeightMeasure === null && row.ActivityDepthHeightUnit === null,
  ],
  "has a time of analysis if it has the time's zone, and a date if it has a time": [
    (row) => row.AnalysisStartTimeZone !== null || row.AnalysisStartTime !== null,
    (row) => row.AnalysisStartTime !== null && row.AnalysisStartDate !== null,
  ],
  "has a start time if it is part of a continuous time series": [
    (row) => row.ActivityType === "Field Msr/Obs-Continuous Time Series",
    (row) => row.ActivityStartTime !== null,
  ],
  "has a laboratory and a method if it is a sample": [
    (row) => String(row.ActivityType).startsWith("Sample"),
    (row) => row.LaboratoryName !== null && row.ResultAnalyticalMethodName !== null,
  ],
  "is no sample if it is of pH": [
    (row) => row.CharacteristicName === "pH",
    (row) => !/^(Quality Control )?Sample-/.test(String(row.ActivityType)),
  ],
  "has a method speciation if it is of a nutrient": [
    (row) => isIn(wqx.nutrients, row.CharacteristicName),
    (row) => row.MethodSpeciation !== null,
  ],
  "has a fraction for nutrients if it is of a nutrient in water": [
    (row) =>
      isIn(wqx.nutrients, row.CharacteristicName) && row.ActivityMediaName === "Surface Water",
    (row) => isIn(wqx.nutrientFractions, row.ResultSampleFraction),
  ],
};

const all = await rows("Records");

for (const [name, [applies, holds]] of Object.entries(RULES)) {
  Deno.test(`createSandbox() returns valid records, each of which ${name}`, () => {
    const concerned = all.filter(applies);
    assert(concerned.length > 0, "no row tests the rule");
    assertEquals(concerned.filter((row) => !holds(row)).slice(0, 1), []);
  });
}

Deno.test("createSandbox() returns only allowed values when a field of Records is coded", () => {
  let coded = 0;
  for (const field of Object.keys(all[0]!)) {
    const allowed = ALLOWED[field.replace(/^MonitoringLocation(?=Horizontal|Vertical)/, "")];
    if (allowed === undefined) continue;
    const found = new Set(all.map((row) => row[field]).filter((value) => value !== null));
    assert(found.size > 0, `${field} is null in every row`);
    assertEquals([...found].filter((value) => !isIn(allowed, value)), [], field);
    coded++;
  }
  assert(coded >= 14, `${coded} coded fields`);
});
