// Each field has a meaning and a type, as the compiler checks. `data_page_test.ts` in `tests/unit/project` compares their meanings with
// docs/data.md.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { meaningOf, valueTypeOf } from "../../../src/odata/field_meanings.ts";

Deno.test("meaningOf() and valueTypeOf() return undefined when a field is unknown", () => {
  for (const field of ["constructor", "NewDate"]) {
    assertEquals(meaningOf("Records", field), undefined);
    assertEquals(valueTypeOf("Records", field), undefined);
  }
});
