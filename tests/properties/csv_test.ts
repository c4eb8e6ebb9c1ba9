import { assertEquals } from "@std/assert";
import { stringify } from "@std/csv/stringify";
import fc from "fast-check";
import { csvFromPages } from "../../src/output/csv_rows.ts";
import { readCsv } from "../helpers/rfc4180.ts";

const runs = { numRuns: 5_000, seed: 1 };
const columns = ["a", "b", "c"];

const text = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.array(fc.constantFrom("\r", "\n", ",", '"', "x", " ", "é", "🦆")).map((parts) =>
    parts.join("")
  ),
);
const value = fc.oneof(text, fc.constant(null), fc.integer(), fc.double({ noNaN: true }));
const row = fc.record({ a: value, b: value, c: value }, { requiredKeys: [] });
const pages = fc.array(fc.array(row, { maxLength: 4 }), { maxLength: 4 });

async function csvOf(given: object[][]): Promise<string> {
  return await new Response(
    csvFromPages(ReadableStream.from(given), { columns, open: false, url: "" }),
  ).text();
}

Deno.test("csvFromPages() is read back to the cells, whatever is in them", async () => {
  await fc.assert(
    fc.asyncProperty(pages, async (given) => {
      const [header, ...rows] = readCsv(await csvOf(given));
      assertEquals(header, columns);
      const cells = given.flat().map((row: Record<string, unknown>) =>
        columns.map((name) => String(row[name] ?? ""))
      );
      assertEquals(rows, cells);
    }),
    runs,
  );
});

Deno.test("csvFromPages() gives the bytes of @std/csv wherever that is right CSV", async () => {
  await fc.assert(
    fc.asyncProperty(pages, async (given) => {
      const cells = given.flat().map((row: Record<string, unknown>) =>
        columns.map((name) => row[name])
      );
      fc.pre(!cells.flat().some((cell) => typeof cell === "string" && cell.includes("\r")));
      assertEquals(await csvOf(given), stringify([columns, ...cells]));
    }),
    runs,
  );
});
