// A list is an error with a hint when it is too long for a URL, and a split could repeat rows.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { eq, type Filter, isIn, type ResourceName } from "../../../mod.ts";
import { splitLongLists, tooLongError } from "../../../src/odata/long_lists.ts";

const texts = Array.from({ length: 30 }, (_, index) => `x.${1000 + index}`);
const OTHER_VALUES = "use shorter values, or several queries";

const refused: [resource: ResourceName, filter: Filter<string>, hint: string][] = [
  [
    "Metadata",
    isIn("LocationId", texts.map((text) => Number(text.slice(2)))),
    "the list of LocationId cannot be split, because one row of Metadata can match several of its " +
    "values: send several queries and keep each Id once, or use a list of Id, DOI, DatasetName",
  ],
  ["Records", isIn("RegionId", texts), "the list of RegionId cannot be split"],
  [
    "Locations",
    isIn("CharacteristicName", texts),
    "the list of CharacteristicName cannot be split",
  ],
  ["Locations", eq("Name", "x".repeat(100)), OTHER_VALUES],
  ["Locations", isIn("Name", ["a", "x".repeat(100)]), OTHER_VALUES],
];
for (const [resource, { clauses }, hint] of refused) {
  const name = `${resource} has a long ${clauses[0]!.operator} of ${clauses[0]!.field}`;
  Deno.test(`splitLongLists() returns undefined, and there is a hint, when ${name}`, () => {
    assertEquals(splitLongLists(resource, clauses, 100), undefined);
    const error = tooLongError(resource, clauses, 100);
    assertEquals([error.option, error.hint.slice(0, hint.length)], ["filter", hint]);
    assertEquals(/^has \d{3,} bytes in the URL, more than 100$/.test(error.problem), true);
  });
}
