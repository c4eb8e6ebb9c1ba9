// Filters of common conditions, through the flags of the command line.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { weir } from "../../helpers/run_weir.ts";

const CASES: readonly [flags: readonly string[], filter: string | null][] = [
  [[], null],
  [["--doi=10.1/a"], "DOI eq '10.1/a'"],
  [["--doi=10.1/a", "--doi=10.1/b"], "DOI in ('10.1/a','10.1/b')"],
  [["--doi=https://doi.org/10.25976/WEIR-aa00"], "DOI eq '10.25976/weir-aa00'"],
  [["--filter=DOI eq 'doi:10.25976/weir-aa00'"], "DOI eq '10.25976/weir-aa00'"],
  [["--region=admin.4.ca.bc"], "RegionId eq 'admin.4.ca.bc'"],
  [["--characteristic=it's"], "CharacteristicName eq 'it''s'"],
  [["--from=2015"], "ActivityStartYear gte 2015"],
  [["--to=2020"], "ActivityStartYear lte 2020"],
  [
    [
      "--characteristic=pH",
      "--characteristic=Lead",
      "--region=hub.pacific",
      "--doi=x",
      "--from=1999",
      "--to=2001",
    ],
    "DOI eq 'x' and RegionId eq 'hub.pacific' and CharacteristicName in ('pH','Lead') and " +
    "ActivityStartYear gte 1999 and ActivityStartYear lte 2001",
  ],
];

for (const [flags, filter] of CASES) {
  Deno.test(`weir url prints a URL with ${filter} when the flags are ${flags}`, async () => {
    const { code, output, errors } = await weir(["url", "records", ...flags]);
    assertEquals([code, errors], [0, []]);
    assertEquals(new URL(output.trim()).searchParams.get("$filter"), filter);
  });
}
