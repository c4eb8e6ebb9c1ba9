// The command line adds the columns of --tidy, converts units, and reports what it left out.
import "../../helpers/no_permission.ts";
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { weir } from "../../helpers/run_weir.ts";

const DAYS = ["--from=2014-03-05", "--to=2014-06-01", "--exclude-quality-control"];
const QUERY = ["observations", "--sandbox", "--characteristic=Nitrate", ...DAYS];

Deno.test("weir adds the columns of --tidy, converts --unit, and reports the rows that it left out", async () => {
  const line = [...QUERY, "--tidy", "--unit=Nitrate=ug/L", "--select=LocationId"];
  const { code, output, errors } = await weir(line);
  const [header, first] = output.split("\n");
  assertEquals(code, 0);
  assertEquals(
    header,
    '"LocationId","value","unit","censoring","lower","upper","datetime_utc","is_quality_control"',
  );
  assertMatch(first!, /^\d+,\d+,ug\/L,none,\d+,\d+,(2014-[-:T\d]+Z)?,false$/);
  assertStringIncludes(errors.join("\n"), "265 rows left out: outside of --from and --to");
});

Deno.test("weir says that --count and url include whole years when --from is a day", async () => {
  const { code, output, errors } = await weir([...QUERY, "--count"]);
  assertEquals([code, output], [0, "346\n"]);
  assertMatch(errors[0]!, /whole years, .* can have fewer rows$/);
  const url = await weir(["url", "records", "--from=2020-05-15"]);
  assertStringIncludes(url.errors[0]!, "The URL selects whole years");
});

Deno.test("weir summary prints groups as CSV", async () => {
  const line = ["summary", "--sandbox", "--location=1008", "--by=characteristic"];
  const { code, output } = await weir(line);
  assertEquals(code, 0);
  assertStringIncludes(output, "\npH,45,2013,2021,None,,,44,0,0,0,1\n");
});
