// A box of the command line becomes a filter that the service takes.
import "../../helpers/no_permission.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { weir } from "../../helpers/run_weir.ts";

/** Returns the filter that a box of the command line gives, or the error. */
async function filterOf(bbox: string): Promise<string> {
  const { code, output, errors } = await weir(["url", "locations", `--bbox=${bbox}`]);
  return code === 0 ? new URL(output.trim()).searchParams.get("$filter")! : errors.join();
}

const SIDES = { "5": 5, " -63.25 ": -63.25, "+5": 5, "5.": 5, ".5": 0.5 };
for (const [text, degrees] of Object.entries(SIDES)) {
  Deno.test(`weir url --bbox reads ${degrees} when the east is "${text}"`, async () => {
    assertEquals(
      await filterOf(`-170, 46,${text},47.5`),
      `Longitude gt '-170' and Longitude lt '${degrees}' and Latitude gt '46' and Latitude lt '47.5'`,
    );
  });
}

const INVALID = ["1,2,3", "1,2,3,4,5", "x,2,3,4", "1,2,,4", "1,2,x5,4", "1,2,--5,4", "1,2,5e1,4"];
for (const text of INVALID) {
  Deno.test(`weir url --bbox names the form of a box when it is "${text}"`, async () => {
    assertStringIncludes(await filterOf(text), "--bbox must be west,south,east,north");
  });
}
