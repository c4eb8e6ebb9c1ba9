import { suggestUnchecked } from "../errors.ts";
import { invalidOption } from "../validation.ts";
import type { Clause, Comparison, Literal } from "./clause.ts";

export interface ParsedClause extends Clause {
  index: number;
}

/**
 * Field names are not checked, because they depend on the resource.
 * Source: DataStream Public API, "URL Parameters", `$filter`.
 *
 * @param allowsEmptyLists Whether `in ()` is valid, as `isIn()` formats an empty list
 */
export function parseFilter(filter: string, allowsEmptyLists = false): ParsedClause[] {
  const tokens = tokenize(filter);
  /** A quote that begins no string; it explains errors before it, too. */
  const unclosed = tokens.findIndex(({ text }) => text === "'");
  let next = Math.max(0, unclosed);
  const peek = () => tokens[next]!;
  const fail = (expected: string, hint = operatorHint(peek().text)): never => {
    const { kind, text, index } = peek();
    const at = `at character ${index + 1}`;
    const isEnd = kind === "end" || text === "'";
    let problem = `must have ${expected} ${at}, got ${isEnd ? "the end" : `"${text}"`}`;
    if (kind === "unknown" && !isEnd) {
      const meant = /[=!<>]/.test(text) ? "an operator" : "a name, a quoted string or a number";
      problem = `has "${text}" ${at}, which is not ${meant}`;
    }
    const error = invalidOption("filter", problem, filter, hint);
    throw suggestUnchecked(error, !hint);
  };
  const take = (expected: string, isExpected: (token: Token) => boolean, hint?: string): Token => {
    const token = peek();
    if (!isExpected(token)) fail(expected, hint);
    next++;
    return token;
  };
  const takePunctuation = (mark: string) =>
    take(`"${mark}"`, ({ kind, text }) => kind === "punctuation" && text === mark);
  const takeField = () => take("a field name", ({ kind }) => kind === "word");
  const takeLiteral = (): Literal => {
    const { kind: found, text: word } = peek();
    const { kind, text } = take(
      "a quoted string or a number",
      ({ kind }) => kind === "string" || kind === "number",
      found === "word" && word !== "null" ? `write '${word}'` : undefined,
    );
    if (kind === "string") return { text: text.slice(1, -1).replaceAll("''", "'"), quoted: true };
    // `5and` and `5x` would otherwise be read as two tokens.
    const { kind: following, isPrecededBySpace } = peek();
    if (!isPrecededBySpace && !["end", "punctuation"].includes(following)) {
      fail(`a space after ${text}`, "");
    }
    return { text, quoted: false };
  };
  const requireSpace = () => {
    if (!peek().isPrecededBySpace) fail("a space");
  };

  const parseClause = (): ParsedClause => {
    const { text: field, index } = takeField();
    if (field === "endswith" && peek().text === "(") {
      next++;
      const argument = takeField();
      takePunctuation(",");
      const values = [takeLiteral()];
      takePunctuation(")");
      return { field: argument.text, operator: "endswith", values, index: argument.index };
    }
    const operator = take(
      `one of the operators "${OPERATORS.join('", "')}"`,
      ({ text, isPrecededBySpace }) => OPERATORS.includes(text) && isPrecededBySpace,
    ).text as Comparison | "in";
    requireSpace();
    if (operator !== "in") return { field, operator, values: [takeLiteral()], index };
    takePunctuation("(");
    const isEmpty = allowsEmptyLists && peek().text === ")";
    const values = isEmpty ? [] : [takeLiteral()];
    while (!isEmpty && peek().text === ",") {
      next++;
      values.push(takeLiteral());
    }
    takePunctuation(")");
    return { field, operator, values, index };
  };

  if (unclosed >= 0) fail("a closing quote", "double a single quote inside a string: ''");
  const clauses = [parseClause()];
  while (peek().kind !== "end") {
    take('"and"', ({ text, isPrecededBySpace }) => text === "and" && isPrecededBySpace);
    if (peek().kind === "end") fail("a condition", 'remove the last "and"');
    requireSpace();
    clauses.push(parseClause());
  }
  return clauses;
}

interface Token {
  kind: "word" | "string" | "number" | "punctuation" | "unknown" | "end";
  text: string;
  index: number;
  isPrecededBySpace: boolean;
}

/** The names of the groups after `space` are kinds of tokens. */
const TOKEN_PATTERN =
  /(?<space>\s*)(?:(?<word>[A-Za-z_]\w*)|(?<string>'[^']*(?:''[^']*)*')|(?<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?<punctuation>[(),])|(?<unknown>[=!<>]+|.))/suy;

function tokenize(filter: string): Token[] {
  const tokens: Token[] = [];
  const end = filter.trimEnd().length;
  TOKEN_PATTERN.lastIndex = 0;
  while (TOKEN_PATTERN.lastIndex < end) {
    const { index, groups } = TOKEN_PATTERN.exec(filter)!;
    const { space, ...kinds } = groups!;
    const [kind, text] = Object.entries(kinds).find(([, text]) => text !== undefined)!;
    tokens.push({
      kind: kind as Token["kind"],
      text,
      index: index + space!.length,
      isPrecededBySpace: space !== "",
    });
  }
  tokens.push({ kind: "end", text: "", index: end, isPrecededBySpace: end < filter.length });
  return tokens;
}

const OPERATORS: readonly string[] = ["eq", "ne", "lt", "lte", "gt", "gte", "in"];

/** Operators that the service does not support. */
const REPLACEMENTS = new Map<string, Comparison>([
  ["ge", "gte"],
  ["le", "lte"],
  ["not", "ne"],
  ["=", "eq"],
  ["==", "eq"],
  ["!=", "ne"],
  ["<>", "ne"],
  ["<", "lt"],
  ["<=", "lte"],
  [">", "gt"],
  [">=", "gte"],
]);

function operatorHint(token: string): string {
  const lower = token.toLowerCase();
  if (lower === "or") return 'send one query for each side, or use "in" with a list of values';
  if (token === "(") return 'use parentheses only for the list of "in"';
  if (/["“”‘’]/.test(token)) return "use single quotes";
  const isKeyword = [...OPERATORS, "and", "endswith"].includes(lower);
  const replacement = REPLACEMENTS.get(lower) ?? (isKeyword && lower !== token ? lower : "");
  return replacement && `use "${replacement}"`;
}
