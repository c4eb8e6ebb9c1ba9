// Filters of the documented grammar are read; each other one is an error with its position and a hint.
// Calls `parseFilter()` directly: a query does not show clauses and positions.
import "../../helpers/no_permission.ts";
import { assertEquals, assertThrows } from "@std/assert";
import { ValidationError } from "../../../mod.ts";
import { parseFilter } from "../../../src/odata/parse_filter.ts";

const quoted = (text: string) => ({ text, quoted: true });
const bare = (text: string) => ({ text, quoted: false });

Deno.test("parseFilter() returns clauses and their indexes when they are joined with and", () => {
  assertEquals(parseFilter("DOI eq '10.25976/a' and LocationId in (1, '2',-3.5e2)"), [
    { field: "DOI", operator: "eq", values: [quoted("10.25976/a")], index: 0 },
    {
      field: "LocationId",
      operator: "in",
      values: [bare("1"), quoted("2"), bare("-3.5e2")],
      index: 24,
    },
  ]);
});

Deno.test("parseFilter() reads endswith when it has spaces or none", () => {
  const clause = { field: "DOI", operator: "endswith" as const, values: [quoted("aa00")] };
  assertEquals(parseFilter("endswith(DOI,'aa00')"), [{ ...clause, index: 9 }]);
  assertEquals(parseFilter(" endswith( DOI , 'aa00' ) "), [{ ...clause, index: 11 }]);
});

Deno.test("parseFilter() reads a doubled quote as one when it is inside a string", () => {
  const [clause] = parseFilter("Name eq 'l''eau and ''d''''or'''");
  assertEquals(clause?.values, [quoted("l'eau and 'd''or'")]);
});

Deno.test("parseFilter() reads a field when its name is a keyword", () => {
  assertEquals(parseFilter("endswith eq 'in'")[0]?.field, "endswith");
});

const LITERAL = "a quoted string or a number";
const OPERATOR = 'one of the operators "eq", "ne", "lt", "lte", "gt", "gte", "in"';
const CLOSING = "double a single quote inside a string: ''";
const SINGLE = "use single quotes";

const faults: [filter: string, expected: string, at: number, got: string, hint?: string][] = [
  ["", "a field name", 1, "the end"],
  ["DOI", OPERATOR, 4, "the end"],
  ["DOI ge 'x'", OPERATOR, 5, '"ge"', 'use "gte"'],
  ["DOI constructor 'x'", OPERATOR, 5, '"constructor"'],
  ["DOI EQ 'x'", OPERATOR, 5, '"EQ"', 'use "eq"'],
  ["DOI eq 'x' AND Name eq 'y'", '"and"', 12, '"AND"', 'use "and"'],
  ["DOI eq", "a space", 7, "the end"],
  ["DOI eq ", LITERAL, 7, "the end"],
  ["DOI eq x", LITERAL, 8, '"x"', "write 'x'"],
  ["DOI in (x, 'y')", LITERAL, 9, '"x"', "write 'x'"],
  ["DOI eq (1)", LITERAL, 8, '"("', 'use parentheses only for the list of "in"'],
  ["DOI eq'x'", "a space", 7, "\"'x'\""],
  ["DOI eq 'x", "a closing quote", 8, "the end", CLOSING],
  ["DOI eq 'x'y'", "a closing quote", 12, "the end", CLOSING],
  [
    "DOI eq 'x' or DOI eq 'y'",
    '"and"',
    12,
    '"or"',
    'send one query for each side, or use "in" with a list of values',
  ],
  ["not DOI eq 'x'", OPERATOR, 5, '"DOI"'],
  ["DOI eq 'x' DOI eq 'y'", '"and"', 12, '"DOI"'],
  ["DOI eq 'x' and", "a condition", 15, "the end", 'remove the last "and"'],
  ["DOI eq 'x'and DOI eq 'y'", '"and"', 11, '"and"'],
  ["DOI like 'x'", OPERATOR, 5, '"like"'],
  ["DOI not 'x'", OPERATOR, 5, '"not"', 'use "ne"'],
  ["DOI in ()", LITERAL, 9, '")"'],
  ["DOI in ('x'", '")"', 12, "the end"],
  ["DOI in ('x',)", LITERAL, 13, '")"'],
  ["DOI in 'x'", '"("', 8, "\"'x'\""],
  ["DOI in('x')", "a space", 7, '"("', 'use parentheses only for the list of "in"'],
  ["endswith(DOI 'x')", '","', 14, "\"'x'\""],
  ["endswith(DOI, 'x'", '")"', 18, "the end"],
  ["(DOI eq 'x')", "a field name", 1, '"("', 'use parentheses only for the list of "in"'],
  ["Latitude gt 1and DOI eq 'x'", "a space after 1", 14, '"and"'],
  ["DOI eq 5x", "a space after 5", 9, '"x"'],
  ["DOI eq null", LITERAL, 8, '"null"'],
];
for (const [filter, expected, at, got, hint = ""] of faults) {
  Deno.test(`parseFilter() throws a ValidationError when the filter is ${JSON.stringify(filter)}`, () => {
    const error = assertThrows(() => parseFilter(filter), ValidationError);
    assertEquals([error.option, error.received, error.hint], ["filter", filter, hint]);
    assertEquals(error.problem, `must have ${expected} at character ${at}, got ${got}`);
  });
}

const symbols: [filter: string, symbol: string, at: number, hint: string][] = [
  ["ActivityStartYear >= 2015", ">=", 19, 'use "gte"'],
  ["DOI == 'x'", "==", 5, 'use "eq"'],
  ["DOI != 'x'", "!=", 5, 'use "ne"'],
  ["DOI < 'x'", "<", 5, 'use "lt"'],
  ["DOI <= 'x'", "<=", 5, 'use "lte"'],
  ["DOI > 'x'", ">", 5, 'use "gt"'],
  ["DOI = 'x'", "=", 5, 'use "eq"'],
  ["DOI ! 'x'", "!", 5, ""],
];
for (const [filter, symbol, at, hint] of symbols) {
  Deno.test(`parseFilter() throws a ValidationError when the filter is ${JSON.stringify(filter)}`, () => {
    const error = assertThrows(() => parseFilter(filter), ValidationError);
    assertEquals(error.problem, `has "${symbol}" at character ${at}, which is not an operator`);
    assertEquals([error.option, error.received, error.hint], ["filter", filter, hint]);
  });
}

const unknownTokens: [filter: string, token: string, at: number, hint: string][] = [
  ['DOI eq "x"', '"', 8, SINGLE],
  ["Latitude gt 1.", ".", 14, ""],
  ["DOI eq “x”", "“", 8, SINGLE],
  ["DOI eq ’x’", "’", 8, SINGLE],
  ["🌊 eq 'x'", "🌊", 1, ""],
];
for (const [filter, token, at, hint] of unknownTokens) {
  Deno.test(`parseFilter() throws a ValidationError when the filter is ${JSON.stringify(filter)}`, () => {
    const error = assertThrows(() => parseFilter(filter), ValidationError);
    const expected = "a name, a quoted string or a number";
    assertEquals(error.problem, `has "${token}" at character ${at}, which is not ${expected}`);
    assertEquals([error.option, error.received, error.hint], ["filter", filter, hint]);
  });
}
