// A box of the command line becomes a filter that the service takes.
import "../../helpers/no_permission.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { weir } from "../../helpers/run_weir.ts";

Deno.test("weir url --bbox writes the filter of a box", async () => {
  const { output } = await weir(["url", "locations", "--bbox=-170.25, .5,+5, 47. "]);
  assertEquals(
    new URL(output.trim()).searchParams.get("$filter"),
    "Longitude gt '-170.25' and Longitude lt '5' and Latitude gt '0.5' and Latitude lt '47'",
  );
});

for (const box of ["1,2,3", "1,2,3,4,5", "1,2,,4", "1,2,x5,4", "1,2,--5,4", "1,2,5e1,4"]) {
  Deno.test(`weir url --bbox names the form of a box when it is "${box}"`, async () => {
    const { errors } = await weir(["url", "locations", `--bbox=${box}`]);
    assertStringIncludes(errors[0]!, "--bbox must be west,south,east,north");
  });
}
