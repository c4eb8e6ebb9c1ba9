// Long lists are split into groups that cover each combination once. Tests `splitLongLists()` directly: a query shows
// only the requests for its units.
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { and, DataStream, type Filter, isIn, ne } from "../../mod.ts";
import { type SplitFilter, splitLongLists } from "../../src/odata/long_lists.ts";

const client = new DataStream();

/** Lists of fields with one value per record, one of a field with several, and a clause without a list. */
const filter = fc.tuple(
  fc.array(fc.nat(2_000_000), { minLength: 1, maxLength: 400 }),
  fc.array(fc.string({ unit: "grapheme", maxLength: 20 }), { minLength: 1, maxLength: 120 }),
  fc.array(fc.integer({ min: 1900, max: 2030 }), { minLength: 1, maxLength: 60 }),
  fc.array(fc.constantFrom("hub.pacific", "hub.atlantic", "admin.4.ca.pe"), { minLength: 1 }),
  fc.string({ unit: "grapheme", maxLength: 10 }),
).chain(([ids, names, years, regions, type]) =>
  fc.shuffledSubarray<Filter>([
    isIn("LocationId", ids),
    isIn("CharacteristicName", names),
    isIn("ActivityStartYear", years),
    isIn("RegionId", regions),
    ne("MonitoringLocationType", type),
  ]).map((parts) => and(...parts))
);

function sentLength(clauses: SplitFilter["shared"]): number {
  if (clauses.length === 0) return 0;
  const sent = client.records({ filter: and({ clauses } as Filter) }).url;
  return /%24filter=([^&]*)/.exec(sent)![1]!.length;
}

Deno.test("splitLongLists() covers each combination of values once, in groups that fit", () => {
  fc.assert(
    fc.property(filter, fc.integer({ min: 100, max: 6_000 }), ({ clauses }, room) => {
      const split = splitLongLists("Records", clauses, room);
      if (split === undefined) return;
      const { shared, groups } = split;
      assertEquals(splitLongLists("Records", clauses, room), split);
      const lists = clauses.filter((clause) => !shared.includes(clause));
      const combinations = groups.map((group) => {
        assert(sentLength([...shared, ...group]) <= room);
        assertEquals(group.map(({ field }) => field), lists.map(({ field }) => field));
        return group.reduce((product, { values }) => product * values.length, 1);
      });
      const all = lists.reduce((product, { values }) => product * values.length, 1);
      assertEquals(combinations.reduce((sum, count) => sum + count, 0), all);
      // The parts of each list are its values in order, so no combination is in two groups.
      lists.forEach(({ values }, index) => {
        const parts = [...new Set(groups.map((group) => group[index]!))];
        assertEquals(parts.flatMap((part) => part.values), [...values]);
        const others = groups.length / parts.length;
        for (const part of parts) {
          assertEquals(groups.filter((group) => group[index] === part).length, others);
        }
      });
    }),
    { numRuns: 1_000, seed: 1 },
  );
});
