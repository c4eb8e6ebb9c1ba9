// A list is an error with a hint when it is too long for a URL, and a split could repeat rows.
import "../../helpers/no_permission.ts";
import { assertEquals, assertThrows } from "@std/assert";
import { eq, type Filter, isIn, type ResourceName, ValidationError } from "../../../mod.ts";
import { splitLongLists } from "../../../src/odata/long_lists.ts";

const numbers = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i);

const refused: [resource: ResourceName, filter: Filter<string>, hint: string][] = [
  [
    "Metadata",
    isIn("LocationId", numbers(1000, 30)),
    "the list of LocationId cannot be split, because one row of Metadata can match several of its " +
    "values: send several queries and keep each Id once, or use a list of Id, DOI, DatasetName",
  ],
  ["Locations", eq("Name", "x".repeat(100)), "use shorter values, or several queries"],
  ["Locations", isIn("Name", ["a", "x".repeat(100)]), "use shorter values, or several queries"],
];
for (
  const [resource, field] of [["Records", "RegionId"], ["Locations", "CharacteristicName"]] as const
) {
  Deno.test(`splitLongLists() splits no list of ${field}, because one row of ${resource} can match several of its values`, () => {
    const { clauses } = isIn(field, Array.from({ length: 20 }, (_, index) => `x.${index}`));
    const error = assertThrows(() => splitLongLists(resource, clauses, 100), ValidationError);
    assertEquals(error.hint.startsWith(`the list of ${field} cannot be split`), true);
  });
}

for (const [resource, filter, hint] of refused) {
  const [clause] = filter.clauses;
  const name = `${resource} has a long ${clause!.operator} of ${clause!.field}`;
  Deno.test(`splitLongLists() throws a ValidationError when ${name}`, () => {
    const split = () => splitLongLists(resource, filter.clauses, 100);
    const error = assertThrows(split, ValidationError);
    assertEquals([error.option, error.hint], ["filter", hint]);
    assertEquals(/^has \d{3,} bytes in the URL, more than 100$/.test(error.problem), true);
  });
}
