// Boxes become filters that the service takes, and the page suggests its regions.
import "../../helpers/no_permission.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { overSandbox } from "../../helpers/edge.ts";
import { weir } from "../../helpers/run_weir.ts";

const DEGREES: readonly [text: string, degrees: number | undefined][] = [
  ["5", 5],
  [" -63.25 ", -63.25],
  ["+5", 5],
  ["5.", 5],
  [".5", 0.5],
  ["1800", undefined],
  ["", undefined],
  ["x5", undefined],
  ["--5", undefined],
  ["5e1", undefined],
  ["5,0", undefined],
];

/** Returns the filter that a box of the command line gives, or the error. */
async function filterOf(bbox: string): Promise<string> {
  const { code, output, errors } = await weir(["url", "locations", `--bbox=${bbox}`]);
  return code === 0 ? new URL(output.trim()).searchParams.get("$filter")! : errors.join();
}

for (const [text, degrees] of DEGREES) {
  Deno.test(`weir url --bbox reads ${degrees} when the east is "${text}"`, async () => {
    const filter = await filterOf(`-170,46,${text},47.5`);
    const expected = degrees === undefined
      ? "--bbox must be west,south,east,north"
      : `Longitude lt '${degrees}' and`;
    assertStringIncludes(filter, expected);
  });
}

Deno.test("weir url --bbox reads four sides, and rejects fewer or more", async () => {
  assertEquals(
    await filterOf("-64, 46,-62,47.5"),
    "Longitude gt '-64' and Longitude lt '-62' and Latitude gt '46' and Latitude lt '47.5'",
  );
  for (const text of ["1,2,3", "1,2,3,4,5", "1,2,3,x", "x,2,3,4", "1,x,3,4", "1,2,x,4"]) {
    assertStringIncludes(await filterOf(text), "--bbox must be west,south,east,north");
  }
});

Deno.test("GET / suggests the documented regions", async () => {
  const html = await (await overSandbox().app.request("/?lang=en")).text();
  const [, places = ""] = /<datalist id="places">(.*?)<\/datalist>/s.exec(html) ?? [];
  const names = [...places.matchAll(/<option value="([^"]*)"/g)].map(([, name]) => name);
  assertEquals(names.slice(0, 18), [
    ...["Atlantic", "Great Lakes", "Lake Winnipeg", "Mackenzie", "Pacific"].map((name) =>
      `${name} (basin)`
    ),
    ...["Alberta", "British Columbia", "Manitoba", "New Brunswick", "Newfoundland and Labrador"],
    ...["Nova Scotia", "Northwest Territories", "Nunavut", "Ontario", "Prince Edward Island"],
    ...["Quebec", "Saskatchewan", "Yukon"],
  ]);
});
