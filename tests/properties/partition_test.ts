// Ranges for a split query, with random location Ids and counts.
// Tests `rangesOfAtMost()` directly: a query is split only above a million rows.
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { type Range, rangesOfAtMost } from "../../src/client/ranges.ts";

const contains = ({ from = -Infinity, below = Infinity }: Range, number: number) =>
  number >= from && number < below;
const numbers = fc.uniqueArray(fc.integer({ min: 0, max: 200 })).map((all) =>
  all.sort((a, b) => a - b)
);

Deno.test("rangesOfAtMost() puts each number into one range when counts are random", async () => {
  await fc.assert(
    fc.asyncProperty(
      numbers,
      fc.nat(500),
      fc.infiniteStream(fc.nat(300)),
      async (all, rows, randomCounts) => {
        const count = () => Promise.resolve(randomCounts.next().value!);
        const ranges = await rangesOfAtMost(50, all, rows, count);
        for (let number = -1; number <= 201; number++) {
          assertEquals(ranges.filter((range) => contains(range, number)).length, 1);
        }
      },
    ),
    { numRuns: 2_000, seed: 1 },
  );
});

Deno.test("rangesOfAtMost() returns ranges within the limit when they have several numbers", async () => {
  const locations = fc.uniqueArray(
    fc.record({ number: fc.nat(200), rows: fc.nat(120) }),
    { selector: ({ number }) => number },
  );
  await fc.assert(
    fc.asyncProperty(locations, async (locations) => {
      const all = locations.map(({ number }) => number).sort((a, b) => a - b);
      const within = (range: Range) => locations.filter(({ number }) => contains(range, number));
      const rowsOf = (range: Range) => within(range).reduce((sum, { rows }) => sum + rows, 0);
      const everything = { from: undefined, below: undefined };
      const count = (range: Range) => Promise.resolve(rowsOf(range));
      for (const range of await rangesOfAtMost(100, all, rowsOf(everything), count)) {
        assert(rowsOf(range) <= 100 || within(range).length === 1);
      }
    }),
    { numRuns: 2_000, seed: 1 },
  );
});
