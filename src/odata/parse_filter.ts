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
  // A quote that begins no string explains errors before it, too.
  const unclosed = tokens.findIndex(({ text }) => text === "'");
  const reader: TokenReader = { filter, tokens, next: Math.max(0, unclosed) };
  if (unclosed >= 0) fail(reader, "a closing quote", "double a single quote inside a string: ''");
  const clauses = [parseClause(reader, allowsEmptyLists)];
  while (peek(reader).kind !== "end") {
    take(reader, '"and"', ({ text, isPrecededBySpace }) => text === "and" && isPrecededBySpace);
    if (peek(reader).kind === "end") fail(reader, "a condition", 'remove the last "and"');
    requireSpace(reader);
    clauses.push(parseClause(reader, allowsEmptyLists));
  }
  return clauses;
}

function parseClause(reader: TokenReader, allowsEmptyLists: boolean): ParsedClause {
  const { text: field, index } = takeField(reader);
  if (field === "endswith" && peek(reader).text === "(") {
    reader.next++;
    const argument = takeField(reader);
    takePunctuation(reader, ",");
    const values = [takeLiteral(reader)];
    takePunctuation(reader, ")");
    return { field: argument.text, operator: "endswith", values, index: argument.index };
  }
  const operator = take(
    reader,
    `one of the operators "${OPERATORS.join('", "')}"`,
    ({ text, isPrecededBySpace }) => OPERATORS.includes(text) && isPrecededBySpace,
    fieldHint(field, peek(reader)),
  ).text as Comparison | "in";
  requireSpace(reader);
  const hint = isStartDate(field) ? DAY_HINT : "";
  if (operator !== "in") return { field, operator, values: [takeLiteral(reader, hint)], index };
  takePunctuation(reader, "(");
  const isEmpty = allowsEmptyLists && peek(reader).text === ")";
  const values = isEmpty ? [] : [takeLiteral(reader)];
  while (!isEmpty && peek(reader).text === ",") {
    reader.next++;
    values.push(takeLiteral(reader));
  }
  takePunctuation(reader, ")");
  return { field, operator, values, index };
}

interface TokenReader {
  readonly filter: string;
  /** The last one is the end. */
  readonly tokens: readonly Token[];
  /** Index of the next token. */
  next: number;
}

function peek({ tokens, next }: TokenReader): Token {
  return tokens[next]!;
}

function take(
  reader: TokenReader,
  expected: string,
  isExpected: (token: Token) => boolean,
  hint?: string,
): Token {
  const token = peek(reader);
  if (!isExpected(token)) fail(reader, expected, hint);
  reader.next++;
  return token;
}

function takeField(reader: TokenReader): Token {
  return take(reader, "a field name", ({ kind }) => kind === "word");
}

function takePunctuation(reader: TokenReader, mark: string): void {
  take(reader, `"${mark}"`, ({ kind, text }) => kind === "punctuation" && text === mark);
}

/** @param hint Hint for characters after a number */
function takeLiteral(reader: TokenReader, hint = ""): Literal {
  const { kind: found, text: word } = peek(reader);
  const { kind, text } = take(
    reader,
    "a quoted string or a number",
    ({ kind }) => kind === "string" || kind === "number",
    found === "word" && word !== "null" ? `write '${word}'` : undefined,
  );
  if (kind === "string") return { text: text.slice(1, -1).replaceAll("''", "'"), quoted: true };
  // `5and` and `5x` would otherwise be read as two tokens.
  const { kind: following, isPrecededBySpace } = peek(reader);
  if (!isPrecededBySpace && !["end", "punctuation"].includes(following)) {
    fail(reader, `a space after ${text}`, hint);
  }
  return { text, quoted: false };
}

function requireSpace(reader: TokenReader): void {
  if (!peek(reader).isPrecededBySpace) fail(reader, "a space");
}

function fail(
  reader: TokenReader,
  expected: string,
  hint = operatorHint(peek(reader).text),
): never {
  const { kind, text, index } = peek(reader);
  const at = `at character ${index + 1}`;
  const isEnd = kind === "end" || text === "'";
  let problem = `must have ${expected} ${at}, got ${isEnd ? "the end" : `"${text}"`}`;
  if (kind === "unknown" && !isEnd) {
    const meant = /[=!<>]/.test(text) ? "an operator" : "a name, a quoted string or a number";
    problem = `has "${text}" ${at}, which is not ${meant}`;
  }
  throw suggestUnchecked(invalidOption("filter", problem, reader.filter, hint), !hint);
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

export const OPERATORS: readonly string[] = ["eq", "ne", "lt", "lte", "gt", "gte", "in"];

/** Hint for a field that only looks like one: a function, or an operator. `undefined` if it can be one. */
function fieldHint(field: string, { text, kind }: Token): string | undefined {
  const name = field.toLowerCase();
  if (text === "(" && ["contains", "startswith", "substringof"].includes(name)) {
    return 'use "in" with full names, which "weir values FIELD --search TEXT" finds';
  }
  if (name === "not" && (kind === "word" || text === "(")) return 'use "ne" in place of "not"';
  return isStartDate(field) && REPLACEMENTS.has(text) ? DAY_HINT : undefined;
}

export const DAY_HINT = "use {from} and {to}, which take days";

export function isStartDate(field: string): boolean {
  return /^(?:Activity)?(?:Start)?Date$/i.test(field);
}

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
