// Each field has a label and a type. `data_page_test.ts` in `tests/unit/project` compares their meanings with
// docs/data.md.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { labelOf, meaningOf, valueTypeOf } from "../../../src/odata/field_meanings.ts";

Deno.test("labelOf() makes words of a field", () => {
  assertEquals(
    ["ResultDetectionCondition", "DOI", "ResultAnalyticalMethodID", "Id"].map(labelOf),
    ["Result detection condition", "DOI", "Result analytical method ID", "Id"],
  );
});

Deno.test("meaningOf() and valueTypeOf() return undefined when a field is unknown", () => {
  for (const field of ["constructor", "NewDate"]) {
    assertEquals(meaningOf("Records", field), undefined);
    assertEquals(valueTypeOf("Records", field), undefined);
  }
});
