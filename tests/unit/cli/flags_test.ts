// The flags of common conditions become one filter.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { weir } from "../../helpers/run_weir.ts";

const CASES: readonly (readonly [flags: readonly string[], filter: string | null])[] = [
  [[], null],
  [["--doi=https://doi.org/10.25976/WEIR-aa00"], "DOI eq '10.25976/weir-aa00'"],
  [["--filter=DOI eq 'doi:10.25976/weir-aa00'"], "DOI eq '10.25976/weir-aa00'"],
  [["--doi=10.1/a=b", "--doi", "10.1/b"], "DOI in ('10.1/a=b','10.1/b')"],
  [["--characteristic=it's"], "CharacteristicName eq 'it''s'"],
  [["--characteristic", "help"], "CharacteristicName eq 'help'"],
  [
    ["--location", "1008 ", "--location=1001", "--region= hub.pacific"],
    "RegionId eq 'hub.pacific' and LocationId in (1008,1001)",
  ],
  [
    ["--filter=MonitoringLocationType eq 'Lake/Pond'", "--doi", "10.1/a"],
    "MonitoringLocationType eq 'Lake/Pond' and DOI eq '10.1/a'",
  ],
  [["--unchecked", "--filter=A eq 1 or B eq 2", "--doi=x"], "(A eq 1 or B eq 2) and DOI eq 'x'"],
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
