import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { parseBox, parseDegrees } from "../../../src/odata/bounding_box.ts";
import { REGIONS } from "../../../src/odata/regions.ts";

const DEGREES: readonly [text: string, degrees: number | undefined][] = [
  ["5", 5],
  [" -63.25 ", -63.25],
  ["+5", 5],
  ["5.", 5],
  [".5", 0.5],
  ["180", 180],
  ["1800", undefined],
  ["", undefined],
  [".", undefined],
  ["-", undefined],
  ["x5", undefined],
  ["5x", undefined],
  ["--5", undefined],
  ["5e1", undefined],
  ["5,0", undefined],
  ["x.5", undefined],
];

for (const [text, degrees] of DEGREES) {
  Deno.test(`parseDegrees() gives ${degrees} when the text is "${text}"`, () => {
    assertEquals(parseDegrees(text), degrees);
  });
}

Deno.test("parseBox() gives four sides, or undefined when there are fewer or more", () => {
  assertEquals(parseBox("-64, 46,-62,47.5"), { west: -64, south: 46, east: -62, north: 47.5 });
  for (const text of ["", "1,2,3", "1,2,3,4,5", "1,2,3,x", "x,2,3,4", "1,x,3,4", "1,2,x,4"]) {
    assertEquals(parseBox(text), undefined);
  }
});

Deno.test("REGIONS has the documented names when its groups are listed", () => {
  assertEquals(REGIONS.map(([label, regions]) => [label, Object.values(regions).join(", ")]), [
    ["Hubs", "Atlantic, Great Lakes, Lake Winnipeg, Mackenzie, Pacific"],
    [
      "Provinces and territories",
      "Alberta, British Columbia, Manitoba, New Brunswick, Newfoundland and Labrador, " +
      "Nova Scotia, Northwest Territories, Nunavut, Ontario, Prince Edward Island, Quebec, " +
      "Saskatchewan, Yukon",
    ],
  ]);
});
