import { ValidationError } from "../errors.ts";
import type { Clause, Comparison, Literal } from "./clause.ts";

/** A clause, and where its field begins in the filter. */
export interface ParsedClause extends Clause {
  /** Index of the first character of the field. */
  index: number;
}

/**
 * Parses a filter: clauses joined with `and`, each a comparison, an `in` list or
 * `endswith(field, 'text')`. Field names are not checked, because they depend on the resource.
 *
 * Source: DataStream Public API, "URL Parameters", `$filter`.
 *
 * @param filter The filter, not URL-encoded
 * @param options `canBeUnchecked`: whether an error may suggest the option `unchecked`. It does so only
 *   without a hint, because a hint corrects the filter; without one, the service may support the syntax.
 *   `allowsEmptyLists`: whether `in ()` is valid, as `isIn()` formats an empty list. Defaults false
 * @returns The clauses in order, at least one
 * @throws {ValidationError} If the filter has a syntax error; the message has its position
 */
export function parseFilter(
  filter: string,
  { canBeUnchecked = false, allowsEmptyLists = false }: ParseOptions = {},
): ParsedClause[] {
  const syntaxError: SyntaxErrorFactory = (index, start, end, hint) =>
    new ValidationError("filter", `${start} at character ${index + 1}${end}`, {
      received: filter,
      hint,
      canBeUnchecked: canBeUnchecked && !hint,
    });
  const tokens = tokenize(filter, syntaxError);
  let next = 0;
  const peek = () => tokens[next]!;
  const fail = (expected: string, hint = operatorHint(peek().text)): never => {
    const { kind, text, index } = peek();
    const got = kind === "end" ? "the end" : `"${text}"`;
    throw syntaxError(index, `must have ${expected}`, `, got ${got}`, hint);
  };
  const take = (expected: string, isExpected: (token: Token) => boolean): Token => {
    const token = peek();
    if (!isExpected(token)) fail(expected);
    next++;
    return token;
  };
  const takePunctuation = (text: string) =>
    take(`"${text}"`, (token) => token.kind === "punctuation" && token.text === text);
  const takeField = () => take("a field name", ({ kind }) => kind === "word");
  const takeLiteral = (): Literal => {
    const { kind, text } = peek();
    if (kind !== "string" && kind !== "number") {
      const isString = kind === "word" && text !== "null";
      fail("a quoted string or a number", isString ? `write '${text}'` : undefined);
    }
    next++;
    return kind === "string"
      ? { text: text.slice(1, -1).replaceAll("''", "'"), quoted: true }
      : { text, quoted: false };
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

  const clauses = [parseClause()];
  while (peek().kind !== "end") {
    take('"and"', ({ text, isPrecededBySpace }) => text === "and" && isPrecededBySpace);
    if (peek().kind === "end") fail("a condition", 'remove the last "and"');
    requireSpace();
    clauses.push(parseClause());
  }
  return clauses;
}

/** Options of `parseFilter()`. */
interface ParseOptions {
  canBeUnchecked?: boolean;
  allowsEmptyLists?: boolean;
}

interface Token {
  kind: "word" | "string" | "number" | "punctuation" | "end";
  text: string;
  /** Index of the first character in the filter. */
  index: number;
  isPrecededBySpace: boolean;
}

/**
 * White space and a token. The names of the groups after `space` are kinds of tokens; an `unknown` one is
 * an error.
 */
const TOKEN_PATTERN =
  /(?<space>\s*)(?:(?<word>[A-Za-z_]\w*)|(?<string>'[^']*(?:''[^']*)*')|(?<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?<punctuation>[(),])|(?<unknown>[=!<>]+|.))/suy;

/** Creates an error whose problem is `<start> at character <number><end>`. */
type SyntaxErrorFactory = (
  index: number,
  start: string,
  end: string,
  hint?: string,
) => ValidationError;

function tokenize(filter: string, syntaxError: SyntaxErrorFactory): Token[] {
  const tokens: Token[] = [];
  const end = filter.trimEnd().length;
  let scanned = 0;
  while (scanned < end) {
    TOKEN_PATTERN.lastIndex = scanned;
    const { space, ...groups } = TOKEN_PATTERN.exec(filter)!.groups!;
    const [kind, text] = Object.entries(groups).find(([, text]) => text !== undefined)!;
    const index = scanned + space!.length;
    if (kind === "unknown") throw unknownTokenError(index, text, syntaxError);
    const previous = tokens.at(-1);
    // `5and` and `5x` would otherwise be read as two tokens.
    if (previous?.kind === "number" && space === "" && kind !== "punctuation") {
      const expected = `must have a space after ${previous.text}`;
      throw syntaxError(index, expected, `, got "${text}"`);
    }
    tokens.push({ kind: kind as Token["kind"], text, index, isPrecededBySpace: space !== "" });
    scanned = TOKEN_PATTERN.lastIndex;
  }
  tokens.push({ kind: "end", text: "", index: end, isPrecededBySpace: end < filter.length });
  return tokens;
}

function unknownTokenError(
  index: number,
  text: string,
  syntaxError: SyntaxErrorFactory,
): ValidationError {
  // `TOKEN_PATTERN` accepts each string that has a closing quote.
  if (text === "'") {
    const hint = "double a single quote inside a string: ''";
    return syntaxError(index, "must have a closing quote", ", got the end", hint);
  }
  const expected = /[=!<>]/.test(text) ? "an operator" : "a name, a quoted string or a number";
  return syntaxError(
    index,
    `has "${text}"`,
    `, which is not ${expected}`,
    operatorHint(text),
  );
}

// The service deviates from OData here: `lte` and `gte` instead of `le` and `ge`.
const OPERATORS: readonly string[] = [
  "eq",
  "ne",
  "lt",
  "lte",
  "gt",
  "gte",
  "in",
] satisfies (Comparison | "in")[];

/** Operators of OData and other languages that the service does not support, and their replacements. */
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

/** Returns what to write instead of a token, or an empty string if no replacement is known. */
function operatorHint(token: string): string {
  const lower = token.toLowerCase();
  if (lower === "or") return 'send one query for each side, or use "in" with a list of values';
  if (token === "(") return 'use parentheses only for the list of "in"';
  if (/["“”‘’]/.test(token)) return "use single quotes";
  const isKeyword = [...OPERATORS, "and", "endswith"].includes(lower);
  const replacement = REPLACEMENTS.get(lower) ?? (isKeyword && lower !== token ? lower : "");
  return replacement && `use "${replacement}"`;
}
