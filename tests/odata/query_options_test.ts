import { assertEquals, assertThrows } from "@std/assert";
import { toSystemQueryOptions } from "../../src/odata/query_options.ts";

Deno.test("toSystemQueryOptions() names the options as OData does", () => {
  const options = { select: ["Id", "DOI"], filter: "DOI eq 'x'", top: 5 };
  assertEquals(toSystemQueryOptions("Records", options, "Id:9"), {
    $select: "Id,DOI",
    $filter: "DOI eq 'x'",
    $top: 5,
    $skiptoken: "Id:9",
  });
});

Deno.test("toSystemQueryOptions() asks for the largest pages, and leaves the rest out", () => {
  assertEquals(toSystemQueryOptions("Records", {}), {
    $select: undefined,
    $filter: undefined,
    $top: 10_000,
    $skiptoken: undefined,
  });
});

Deno.test("toSystemQueryOptions() refuses a field that the resource lacks, and names it", () => {
  const select = ["Id", "LocationId"];
  assertThrows(() => toSystemQueryOptions("Records", { select }), TypeError, '"LocationId"');
  assertEquals(toSystemQueryOptions("Observations", { select }).$select, "Id,LocationId");
});

for (const top of [0, -1, 1.5, 10_001, NaN, Infinity]) {
  Deno.test(`toSystemQueryOptions() refuses pages of ${top}`, () => {
    assertThrows(() => toSystemQueryOptions("Records", { top }), RangeError, "1 to 10000");
  });
}
