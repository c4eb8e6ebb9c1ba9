import "../../helpers/no_permission.ts";
import { assertEquals, assertThrows } from "@std/assert";
import { FilterSyntaxError, parseFilter } from "../../../src/odata/parse_filter.ts";

const quoted = (text: string) => ({ text, quoted: true });
const bare = (text: string) => ({ text, quoted: false });

for (const operator of ["eq", "ne", "lt", "lte", "gt", "gte"] as const) {
  Deno.test(`parseFilter() reads ${operator}`, () => {
    assertEquals(parseFilter(`ActivityStartYear ${operator} 2015`), [
      { field: "ActivityStartYear", operator, values: [bare("2015")], position: 0 },
    ]);
  });
}

Deno.test("parseFilter() reads clauses joined by and, with their positions", () => {
  assertEquals(parseFilter("DOI eq '10.25976/a' and LocationId in (1, '2',-3.5e2)"), [
    { field: "DOI", operator: "eq", values: [quoted("10.25976/a")], position: 0 },
    {
      field: "LocationId",
      operator: "in",
      values: [bare("1"), quoted("2"), bare("-3.5e2")],
      position: 24,
    },
  ]);
});

Deno.test("parseFilter() reads endswith, spaced or not", () => {
  const clause = { field: "DOI", operator: "endswith" as const, values: [quoted("aa00")] };
  assertEquals(parseFilter("endswith(DOI,'aa00')"), [{ ...clause, position: 9 }]);
  assertEquals(parseFilter(" endswith( DOI , 'aa00' ) "), [{ ...clause, position: 11 }]);
});

Deno.test("parseFilter() reads two quotes inside a text as one", () => {
  const [clause] = parseFilter("Name eq 'l''eau and ''d''''or'''");
  assertEquals(clause?.values, [quoted("l'eau and 'd''or'")]);
});

Deno.test("parseFilter() takes a field named like a word of the grammar", () => {
  assertEquals(parseFilter("endswith eq 'in'")[0]?.field, "endswith");
});

const faults: [filter: string, message: string, position: number][] = [
  ["", "Wanted a field name, got the end", 0],
  ["  ", "Wanted a field name, got the end", 0],
  ["DOI", "got the end", 3],
  ["DOI ge 'x'", 'got "ge" (use "gte")', 4],
  ["DOI le 'x'", 'got "le" (use "lte")', 4],
  ["DOI constructor 'x'", 'got "constructor" at', 4],
  ["DOI EQ 'x'", 'got "EQ" (use "eq")', 4],
  ["DOI eq 'x' AND Name eq 'y'", 'got "AND" (use "and")', 11],
  ["ActivityStartYear >= 2015", 'got ">=" (use "gte")', 18],
  ["DOI == 'x'", 'got "==" (use "eq")', 4],
  ['DOI eq "x"', 'got """ (use single quotes)', 7],
  ["DOI eq", "Wanted a space", 6],
  ["DOI eq ", "Wanted a quoted text or a number, got the end", 6],
  ["DOI eq x", 'Wanted a quoted text or a number, got "x"', 7],
  ["DOI eq'x'", "Wanted a space", 6],
  ["DOI eq 'x", "Wanted a closing quote", 7],
  ["DOI eq 'x'y'", "Wanted a closing quote (a quote inside a text is written twice)", 11],
  ["DOI eq 'x' or DOI eq 'y'", 'got "or" (use one query for each side', 11],
  ["not DOI eq 'x'", 'got "DOI"', 4],
  ["DOI eq 'x' DOI eq 'y'", 'Wanted "and", got "DOI"', 11],
  ["DOI eq 'x' and", "Wanted a space", 14],
  ["DOI eq 'x'and DOI eq 'y'", 'Wanted "and", got "and"', 10],
  ["DOI in ()", "Wanted a quoted text or a number", 8],
  ["DOI in ('x'", 'Wanted ")"', 11],
  ["DOI in ('x',)", "Wanted a quoted text or a number", 12],
  ["DOI in 'x'", 'Wanted "("', 7],
  ["DOI in('x')", "Wanted a space", 6],
  ["endswith(DOI 'x')", 'Wanted ","', 13],
  ["endswith(DOI, 'x'", 'Wanted ")"', 17],
  ["(DOI eq 'x')", 'Wanted a field name, got "(" (use no parentheses', 0],
  ["Latitude gt 1.", "Wanted a name, a quoted text or a number", 13],
  ["Latitude gt 1and DOI eq 'x'", "Wanted a space after 1", 13],
  ["DOI eq 5x", "Wanted a space after 5", 8],
  ["DOI eq null", 'got "null"', 7],
  ["DOI = 'x'", 'Wanted a name, a quoted text or a number, got "=" (use "eq")', 4],
  ["DOI eq “x”", 'got "“"', 7],
  ["🌊 eq 'x'", 'got "🌊"', 0],
];
for (const [filter, message, position] of faults) {
  Deno.test(`parseFilter() refuses ${JSON.stringify(filter)}`, () => {
    const error = assertThrows(() => parseFilter(filter), FilterSyntaxError, message);
    assertEquals(error.position, position);
    assertEquals(error.message.endsWith(` at character ${position + 1} of the filter`), true);
  });
}
