import { ValidationError } from "../errors.ts";
import { isNearMatch } from "../validation.ts";
import type { Clause, Comparison, Literal } from "./clause.ts";
import { filterHint } from "./name_hints.ts";
import { type ResourceName, RESOURCES } from "./resources.ts";

/**
 * Checks that a resource can be filtered by each field of a filter.
 *
 * @param filter The filter, for the error
 * @param canBeUnchecked Whether the error may suggest the option `unchecked`. It does not if a name of
 *   the resource is a near match
 * @throws {ValidationError} If it cannot
 */
export function requireFilterFields(
  resource: ResourceName,
  filter: string,
  clauses: readonly ParsedClause[],
  canBeUnchecked: boolean,
): void {
  const names: readonly string[] = RESOURCES[resource].filters;
  const unknown = clauses.find(({ field }) => !names.includes(field));
  if (unknown === undefined) return;
  const { field, position } = unknown;
  const hint = filterHint(resource, field);
  throw new ValidationError(
    "filter",
    `uses "${field}" at character ${position + 1}, which is not a filter field of ${resource}`,
    { received: filter, hint, canBeUnchecked: canBeUnchecked && !isNearMatch(hint) },
  );
}

/** A clause and the index of its field in the filter. */
export interface ParsedClause extends Clause {
  position: number;
}

/**
 * Parses a filter: clauses joined with `and`, each a comparison, an `in` list or
 * `endswith(field, 'text')`. Field names are not checked, because they depend on the resource.
 *
 * Source: DataStream Public API, "URL Parameters", `$filter`.
 *
 * @param filter The filter, not URL-encoded
 * @returns The clauses in order, at least one
 * @throws {ValidationError} If the filter has a syntax error; the message has its position
 */
export function parseFilter(filter: string): ParsedClause[] {
  const tokens = tokenize(filter);
  let next = 0;
  const peek = () => tokens[next]!;
  const fail = (expected: string): never => {
    const { kind, text, position } = peek();
    const got = kind === "end" ? "the end" : `"${text}"`;
    throw syntaxError(filter, position, expected, got, hintFor(text));
  };
  const take = (expected: string, fits: (token: Token) => boolean): Token => {
    const token = peek();
    if (!fits(token)) fail(expected);
    next++;
    return token;
  };
  const takeMark = (text: string) => take(`"${text}"`, (t) => t.kind === "mark" && t.text === text);
  const takeField = () => take("a field name", (t) => t.kind === "word");
  const takeLiteral = (): Literal => {
    const { kind, text } = take(
      "a quoted string or a number",
      (t) => t.kind === "string" || t.kind === "number",
    );
    return kind === "string"
      ? { text: text.slice(1, -1).replaceAll("''", "'"), quoted: true }
      : { text, quoted: false };
  };
  const requireSpace = () => peek().spaced || fail("a space");

  const parseClause = (): ParsedClause => {
    const { text: field, position } = takeField();
    if (field === "endswith" && peek().text === "(") {
      next++;
      const argument = takeField();
      takeMark(",");
      const values = [takeLiteral()];
      takeMark(")");
      return { field: argument.text, operator: "endswith", values, position: argument.position };
    }
    const operator = take(
      'one of the operators "eq", "ne", "lt", "lte", "gt", "gte", "in"',
      (t) => t.kind === "word" && t.spaced && (COMPARISONS.has(t.text) || t.text === "in"),
    ).text as Comparison | "in";
    requireSpace();
    if (operator !== "in") return { field, operator, values: [takeLiteral()], position };
    takeMark("(");
    const values = [takeLiteral()];
    while (peek().text === ",") {
      next++;
      values.push(takeLiteral());
    }
    takeMark(")");
    return { field, operator, values, position };
  };

  const clauses = [parseClause()];
  while (peek().kind !== "end") {
    take('"and"', (t) => t.kind === "word" && t.spaced && t.text === "and");
    requireSpace();
    clauses.push(parseClause());
  }
  return clauses;
}

interface Token {
  kind: "word" | "string" | "number" | "mark" | "end";
  text: string;
  /** Index in the filter. */
  position: number;
  /** Whether white space precedes it. */
  spaced: boolean;
}

const TOKEN_PATTERN =
  /(\s*)(?:([A-Za-z_]\w*)|('[^']*(?:''[^']*)*')|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|([(),]))/y;
/** Kinds of the groups of `TOKEN_PATTERN`, after the white space. */
const KINDS = ["word", "string", "number", "mark"] as const;

function tokenize(filter: string): Token[] {
  const tokens: Token[] = [];
  const end = filter.trimEnd().length;
  let position = 0;
  while (position < end) {
    TOKEN_PATTERN.lastIndex = position;
    const match = TOKEN_PATTERN.exec(filter);
    if (!match) throw tokenError(filter, position);
    const [, space, ...groups] = match;
    const kind = KINDS[groups.findIndex((group) => group !== undefined)]!;
    const text = match[0].slice(space!.length);
    const start = TOKEN_PATTERN.lastIndex - text.length;
    const previous = tokens.at(-1);
    if (previous?.kind === "number" && space === "" && kind !== "mark") {
      throw syntaxError(filter, start, `a space after ${previous.text}`, `"${text}"`);
    }
    tokens.push({ kind, text, position: start, spaced: space !== "" });
    position = TOKEN_PATTERN.lastIndex;
  }
  tokens.push({ kind: "end", text: "", position: end, spaced: end < filter.length });
  return tokens;
}

function tokenError(filter: string, from: number): ValidationError {
  const position = from + /^\s*/.exec(filter.slice(from))![0].length;
  const [text] = /^(?:[=!<>]+|.)/su.exec(filter.slice(position))!;
  if (text === "'") {
    const hint = "write a quote inside a string twice";
    return syntaxError(filter, position, "a closing quote", "the end", hint);
  }
  const expected = "a name, a quoted string or a number";
  return syntaxError(filter, position, expected, `"${text}"`, hintFor(text));
}

function syntaxError(
  filter: string,
  position: number,
  expected: string,
  got: string,
  hint = "",
): ValidationError {
  const problem = `must have ${expected} at character ${position + 1}, got ${got}`;
  return new ValidationError("filter", problem, { received: filter, hint });
}

const COMPARISONS = new Set<string>(["eq", "ne", "lt", "lte", "gt", "gte"] satisfies Comparison[]);

/** Hints for words and characters of other query languages. */
const TOKEN_HINTS: Record<string, string> = {
  ge: 'use "gte"',
  le: 'use "lte"',
  or: 'send one query for each side, or use "in" with a list of values',
  not: 'use "ne"',
  "(": 'use parentheses only for the list of "in"',
  "=": 'use "eq"',
  "==": 'use "eq"',
  "!=": 'use "ne"',
  "<>": 'use "ne"',
  "<": 'use "lt"',
  "<=": 'use "lte"',
  ">": 'use "gt"',
  ">=": 'use "gte"',
  '"': "use single quotes",
  "“": "use single quotes",
  "‘": "use single quotes",
};

/** Returns what to write instead of a token, or an empty string if nothing is known. */
function hintFor(token: string): string {
  const lower = token.toLowerCase();
  if (Object.hasOwn(TOKEN_HINTS, lower)) return TOKEN_HINTS[lower]!;
  const isKeyword = COMPARISONS.has(lower) || /^(and|in|endswith)$/.test(lower);
  return token !== lower && isKeyword ? `use "${lower}"` : "";
}
