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
const WITH_LIMIT = ["Below Detection/Quantification Limit", "Above Detection/Quantification Limit"];

type Test = (row: Row) => boolean;

/** Rules, each with the rows that it is about. */
const RULES: Record<string, readonly [applies: Test, holds: Test]> = {
  "has either a value with a unit or a detection condition": [
    () => true,
    (row) =>
      row.ResultDetectionCondition === null
        ? row.ResultValue !== null && row.ResultUnit !== null
        : row.ResultValue === null,
  ],
  "has a limit's type, value and unit if it is above or below the limit": [
    (row) => isIn(WITH_LIMIT, row.ResultDetectionCondition),
    (row) => LIMIT_FIELDS.every((field) => row[field] !== null && row[field] !== 0),
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
