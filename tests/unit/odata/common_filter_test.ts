import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { commonFilter, type CommonFilterValues } from "../../../src/odata/filter.ts";
import { parseFilter } from "../../../src/odata/parse_filter.ts";

const CASES: readonly [conditions: CommonFilterValues, filter: string | undefined][] = [
  [{}, undefined],
  [{ dois: [], regions: [], characteristics: [] }, undefined],
  [{ dois: ["10.1/a"] }, "DOI eq '10.1/a'"],
  [{ dois: ["10.1/a", "10.1/b"] }, "DOI in ('10.1/a','10.1/b')"],
  [{ regions: ["admin.4.ca.bc"] }, "RegionId eq 'admin.4.ca.bc'"],
  [{ characteristics: ["it's"] }, "CharacteristicName eq 'it''s'"],
  [{ from: 0 }, "ActivityStartYear gte 0"],
  [{ to: 2020 }, "ActivityStartYear lte 2020"],
  [
    { characteristics: ["pH", "Lead"], regions: ["hub.pacific"], dois: ["x"], from: 1, to: 2 },
    "DOI eq 'x' and RegionId eq 'hub.pacific' and CharacteristicName in ('pH','Lead') and " +
    "ActivityStartYear gte 1 and ActivityStartYear lte 2",
  ],
];

for (const [conditions, filter] of CASES) {
  Deno.test(`commonFilter() gives ${filter} when the conditions are ${JSON.stringify(conditions)}`, () => {
    assertEquals(commonFilter(conditions), filter);
    if (filter !== undefined) parseFilter(filter);
  });
}
