// Random filters are parsed into their clauses, or are errors with a position. Tests `parseFilter()` directly: its
// clauses are not visible in a query.
import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import type { Clause } from "../../src/odata/clause.ts";
import { ValidationError } from "../../mod.ts";
import { parseFilter } from "../../src/odata/parse_filter.ts";

const runs = { numRuns: 2_000, seed: 1 };

const field = fc.stringMatching(/^[A-Za-z_]\w{0,12}$/);
const literal = fc.oneof(
  fc.string({ unit: "grapheme" }).map((text) => ({ text, quoted: true })),
  fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }))
    .map((value) => ({ text: String(value), quoted: false })),
);
const clause = fc.oneof(
  fc.record({
    field,
    operator: fc.constantFrom("eq", "ne", "lt", "lte", "gt", "gte"),
    values: fc.tuple(literal),
  }),
  fc.record({ field, operator: fc.constant("in"), values: fc.array(literal, { minLength: 1 }) }),
  fc.record({ field, operator: fc.constant("endswith"), values: fc.tuple(literal) }),
);
const space = fc.constantFrom(" ", "  ", "\t", "\n");

function write(clauses: Pick<Clause, "field" | "operator" | "values">[], gap: string): string {
  const literalText = ({ text, quoted }: Clause["values"][number]) =>
    quoted ? `'${text.replaceAll("'", "''")}'` : text;
  return clauses.map(({ field, operator, values }) => {
    const texts = values.map(literalText);
    if (operator === "endswith") return `endswith(${field}, ${texts[0]})`;
    const right = operator === "in" ? `(${texts.join(`,${gap}`)})` : texts[0];
    return [field, operator, right].join(gap);
  }).join(`${gap}and${gap}`);
}

Deno.test("parseFilter() returns the clauses of a filter when it follows the grammar", () => {
  fc.assert(
    fc.property(fc.array(clause, { minLength: 1, maxLength: 5 }), space, (clauses, gap) => {
      const written = write(clauses as Clause[], gap);
      const read = parseFilter(written);
      assertEquals(read.map(({ index: _, ...rest }) => rest), clauses as unknown);
      for (const { index, field } of read) {
        assertEquals(written.slice(index, index + field.length), field);
      }
    }),
    runs,
  );
});

Deno.test("parseFilter() returns clauses or throws an error with a position when the text is random", () => {
  const word = fc.constantFrom("DOI", "eq", "in", "and", "(", ")", ",", "'a'", "'", "5", "-", " ");
  const text = fc.oneof(fc.string(), fc.array(word).map((words) => words.join("")));
  fc.assert(
    fc.property(text, (filter) => {
      try {
        parseFilter(filter);
      } catch {
        const error = assertThrows(() => parseFilter(filter), ValidationError);
        const at = Number(/ at character (\d+),? /.exec(error.problem)?.[1]);
        assertEquals(at >= 1 && at <= filter.length + 1, true);
      }
    }),
    runs,
  );
});
