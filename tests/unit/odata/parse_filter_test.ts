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

Deno.test("parseFilter() reads endswith with spaces or none, and a field of this name", () => {
  const clause = { field: "DOI", operator: "endswith" as const, values: [quoted("aa00")] };
  assertEquals(parseFilter("endswith(DOI,'aa00')"), [{ ...clause, index: 9 }]);
  assertEquals(parseFilter(" endswith( DOI , 'aa00' ) "), [{ ...clause, index: 11 }]);
  assertEquals(parseFilter("endswith eq 'l''eau'")[0]!.values, [quoted("l'eau")]);
});

const FIELD = "a field name";
const LITERAL = "a quoted string or a number";
const OPERATOR = 'one of the operators "eq", "ne", "lt", "lte", "gt", "gte", "in"';
const CLOSING = "double a single quote inside a string: ''";
const TOKEN = `a name, ${LITERAL}`;
const SINGLE = "use single quotes";
const NOT = 'use "ne" in place of "not"';
const NAMES = 'use "in" with full names, which "weir values FIELD --search TEXT" finds';
const DAYS = "use {from} and {to}, which take days";
const LISTS = 'use parentheses only for the list of "in"';
const NO_OR = 'send one query for each side, or use "in" with a list of values';

/** Filters that lack something, with its name, the character where it should be, and what is there. */
const FAULTS: readonly [
  filter: string,
  expected: string,
  at: number,
  got: string,
  hint?: string,
][] = [
  ["", FIELD, 1, "the end"],
  ["DOI", OPERATOR, 4, "the end"],
  ["DOI ge 'x'", OPERATOR, 5, '"ge"', 'use "gte"'],
  ["DOI constructor 'x'", OPERATOR, 5, '"constructor"'],
  ["DOI EQ 'x'", OPERATOR, 5, '"EQ"', 'use "eq"'],
  ["DOI not 'x'", OPERATOR, 5, '"not"', 'use "ne"'],
  ["not DOI eq 'x'", OPERATOR, 5, '"DOI"', NOT],
  ["not(DOI eq 'x')", OPERATOR, 4, '"("', NOT],
  ["not contains(DOI,'x')", OPERATOR, 5, '"contains"', NOT],
  ["contains(DOI,'x')", OPERATOR, 9, '"("', NAMES],
  ["startsWith(DOI,'x')", OPERATOR, 11, '"("', NAMES],
  ["ActivityStartDate ge 2024-05-15", OPERATOR, 19, '"ge"', DAYS],
  ["ActivityStartDate eq 2024-05-15", "a space after 2024", 26, '"-05"', DAYS],
  ["DOI eq", "a space", 7, "the end"],
  ["DOI eq'x'", "a space", 7, "\"'x'\""],
  ["DOI in('x')", "a space", 7, '"("', LISTS],
  ["DOI eq ", LITERAL, 7, "the end"],
  ["DOI eq x", LITERAL, 8, '"x"', "write 'x'"],
  ["DOI eq null", LITERAL, 8, '"null"'],
  ["DOI eq (1)", LITERAL, 8, '"("', LISTS],
  ["DOI in ()", LITERAL, 9, '")"'],
  ["DOI in ('x',)", LITERAL, 13, '")"'],
  ["DOI in ('x'", '")"', 12, "the end"],
  ["DOI in 'x'", '"("', 8, "\"'x'\""],
  ["(DOI eq 'x')", FIELD, 1, '"("', LISTS],
  ["endswith(DOI 'x')", '","', 14, "\"'x'\""],
  ["endswith(DOI, 'x'", '")"', 18, "the end"],
  ["DOI eq 'x", "a closing quote", 8, "the end", CLOSING],
  ["'x", "a closing quote", 1, "the end", CLOSING],
  ["DOI eq 'x'y'", "a closing quote", 12, "the end", CLOSING],
  ["DOI eq 'x' AND Name eq 'y'", '"and"', 12, '"AND"', 'use "and"'],
  ["DOI eq 'x' or DOI eq 'y'", '"and"', 12, '"or"', NO_OR],
  ["DOI eq 'x' DOI eq 'y'", '"and"', 12, '"DOI"'],
  ["DOI eq 'x'and DOI eq 'y'", '"and"', 11, '"and"'],
  ["DOI eq 'x' and", "a condition", 15, "the end", 'remove the last "and"'],
  ["Latitude gt 1and DOI eq 'x'", "a space after 1", 14, '"and"'],
  ["DOI eq 5x", "a space after 5", 9, '"x"'],
];

/** Filters with a text that is no token, its character, and what it should be. */
const UNKNOWN: readonly [
  filter: string,
  token: string,
  at: number,
  meant: string,
  hint?: string,
][] = [
  ["ActivityStartYear >= 2015", ">=", 19, "an operator", 'use "gte"'],
  ["ActivityStartDate >= 2015", ">=", 19, "an operator", DAYS],
  ["DOI == 'x'", "==", 5, "an operator", 'use "eq"'],
  ["DOI != 'x'", "!=", 5, "an operator", 'use "ne"'],
  ["DOI < 'x'", "<", 5, "an operator", 'use "lt"'],
  ["DOI <= 'x'", "<=", 5, "an operator", 'use "lte"'],
  ["DOI > 'x'", ">", 5, "an operator", 'use "gt"'],
  ["DOI = 'x'", "=", 5, "an operator", 'use "eq"'],
  ["DOI ! 'x'", "!", 5, "an operator"],
  ['DOI eq "x"', '"', 8, TOKEN, SINGLE],
  ["DOI eq “x”", "“", 8, TOKEN, SINGLE],
  ["DOI eq ’x’", "’", 8, TOKEN, SINGLE],
  ["Latitude gt 1.", ".", 14, TOKEN],
  ["🌊 eq 'x'", "🌊", 1, TOKEN],
];

const ERRORS = [
  ...FAULTS.map(([filter, expected, at, got, hint = ""]) =>
    [filter, `must have ${expected} at character ${at}, got ${got}`, hint] as const
  ),
  ...UNKNOWN.map(([filter, token, at, meant, hint = ""]) =>
    [filter, `has "${token}" at character ${at}, which is not ${meant}`, hint] as const
  ),
];
for (const [filter, problem, hint] of ERRORS) {
  Deno.test(`parseFilter() throws a ValidationError when the filter is ${JSON.stringify(filter)}`, () => {
    const error = assertThrows(() => parseFilter(filter), ValidationError);
    assertEquals([error.option, error.received], ["filter", filter]);
    assertEquals([error.problem, error.hint], [problem, hint]);
  });
}
