import type { Clause, Comparison, Literal } from "./clause.ts";
import { filterHint } from "./name_hints.ts";
import { type ResourceName, RESOURCES } from "./resources.ts";

/** A clause, and where its field stands in the filter, counted from 0. */
interface PlacedClause extends Clause {
  position: number;
}

/** A filter that is not of the service's grammar; the message names the position and the remedy. */
export class FilterSyntaxError extends SyntaxError {
  override readonly name = "FilterSyntaxError";
  /** @param position Where the fault is in the filter, counted from 0 */
  constructor(message: string, readonly position: number) {
    super(`${message} at character ${position + 1} of the filter`);
  }
}

interface Token {
  kind: "word" | "string" | "number" | "mark" | "end";
  text: string;
  position: number;
  spaced: boolean;
}

const COMPARISONS = new Set<string>(["eq", "ne", "lt", "lte", "gt", "gte"] satisfies Comparison[]);
const REMEDIES: Record<string, string> = {
  ge: '"gte"',
  le: '"lte"',
  or: 'one query for each side, or "in" for a list of values',
  not: '"ne"',
  "(": "no parentheses but around the list of an in",
  "=": '"eq"',
  "==": '"eq"',
  "!=": '"ne"',
  "<>": '"ne"',
  "<": '"lt"',
  "<=": '"lte"',
  ">": '"gt"',
  ">=": '"gte"',
  '"': "single quotes",
  "“": "single quotes",
  "‘": "single quotes",
};

/** What to write instead; a word of the grammar in capitals stands for the same in small letters. */
function remedyFor(text: string): string {
  const lower = text.toLowerCase();
  const isShouted = text !== lower && (COMPARISONS.has(lower) || /^(and|in|endswith)$/.test(lower));
  const known = Object.hasOwn(REMEDIES, lower) ? REMEDIES[lower] : undefined;
  const remedy = known ?? (isShouted ? `"${lower}"` : undefined);
  return remedy === undefined ? "" : ` (use ${remedy})`;
}

/**
 * Parses a filter of the service: clauses joined by `and`, each a comparison, an `in` list or
 * `endswith(field, 'text')`.
 *
 * Field names are not looked up: what can be filtered by depends on the resource.
 *
 * Source: water-quality-api, Query options.
 *
 * @param filter The filter text, decoded
 * @returns Its clauses in order, at least one
 * @throws {FilterSyntaxError} If the text is not of that grammar
 */
export function parseFilter(filter: string): PlacedClause[] {
  const tokens = tokenize(filter);
  let next = 0;
  const peek = () => tokens[next]!;
  const fail = (wanted: string, token = peek()): never => {
    const came = token.kind === "end" ? "the end" : `"${token.text}"`;
    throw new FilterSyntaxError(
      `Wanted ${wanted}, got ${came}${remedyFor(token.text)}`,
      token.position,
    );
  };
  const take = (wanted: string, fits: (token: Token) => boolean): Token => {
    const token = peek();
    if (!fits(token)) fail(wanted);
    next++;
    return token;
  };
  const mark = (text: string) => take(`"${text}"`, (t) => t.kind === "mark" && t.text === text);
  const literal = (): Literal => {
    const token = take(
      "a quoted text or a number",
      (t) => t.kind === "string" || t.kind === "number",
    );
    return token.kind === "string"
      ? { text: token.text.slice(1, -1).replaceAll("''", "'"), quoted: true }
      : { text: token.text, quoted: false };
  };
  const spacedLiteral = () => peek().spaced ? literal() : fail("a space");

  const clause = (): PlacedClause => {
    const field = take("a field name", (t) => t.kind === "word");
    if (field.text === "endswith" && peek().text === "(") {
      next++;
      const of = take("a field name", (t) => t.kind === "word");
      mark(",");
      const value = literal();
      mark(")");
      return { field: of.text, operator: "endswith", values: [value], position: of.position };
    }
    const operator = take(
      'one of the operators "eq", "ne", "lt", "lte", "gt", "gte", "in"',
      (t) => t.kind === "word" && t.spaced && (COMPARISONS.has(t.text) || t.text === "in"),
    ).text as Comparison | "in";
    const { position } = field;
    if (operator !== "in") {
      return { field: field.text, operator, values: [spacedLiteral()], position };
    }
    if (!peek().spaced) fail("a space");
    mark("(");
    const values = [literal()];
    while (peek().text === ",") {
      next++;
      values.push(literal());
    }
    mark(")");
    return { field: field.text, operator, values, position };
  };

  const clauses = [clause()];
  while (peek().kind !== "end") {
    take('"and"', (t) => t.kind === "word" && t.spaced && t.text === "and");
    if (!peek().spaced) fail("a space");
    clauses.push(clause());
  }
  return clauses;
}

const TOKEN =
  /(\s*)(?:([A-Za-z_]\w*)|('[^']*(?:''[^']*)*')|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|([(),]))/y;
const KINDS = ["word", "string", "number", "mark"] as const;

function tokenize(filter: string): Token[] {
  const tokens: Token[] = [];
  const end = filter.trimEnd().length;
  let position = 0;
  while (position < end) {
    TOKEN.lastIndex = position;
    const match = TOKEN.exec(filter);
    if (!match) {
      const at = position + /^\s*/.exec(filter.slice(position))![0].length;
      const [came] = /^(?:[=!<>]+|.)/su.exec(filter.slice(at))!;
      throw new FilterSyntaxError(
        came === "'"
          ? "Wanted a closing quote (a quote inside a text is written twice), got the end"
          : `Wanted a name, a quoted text or a number, got "${came}"${remedyFor(came)}`,
        at,
      );
    }
    const [, space, ...groups] = match;
    const found = groups.findIndex((group) => group !== undefined);
    const text = groups[found]!;
    const at = TOKEN.lastIndex - text.length;
    const previous = tokens.at(-1);
    if (previous?.kind === "number" && space === "" && found < 3) {
      throw new FilterSyntaxError(`Wanted a space after ${previous.text}, got "${text}"`, at);
    }
    tokens.push({ kind: KINDS[found]!, text, position: at, spaced: space !== "" });
    position = TOKEN.lastIndex;
  }
  tokens.push({ kind: "end", text: "", position: end, spaced: end < filter.length });
  return tokens;
}

/**
 * Returns the clauses of a filter that a resource can be filtered by.
 *
 * @param filter The filter as the service takes it, not encoded
 * @param canSkipCheck Whether the caller can pass `unchecked`, so that the message says so
 * @throws {FilterSyntaxError} If the filter is not in the service's grammar
 * @throws {TypeError} If the resource cannot be filtered by a name; the message has its position and
 *   what to write instead
 */
export function checkFilter(
  resource: ResourceName,
  filter: string,
  canSkipCheck = false,
): PlacedClause[] {
  const names: readonly string[] = RESOURCES[resource].filters;
  const clauses = parseFilter(filter);
  const wrong = clauses.find(({ field }) => !names.includes(field));
  if (wrong === undefined) return clauses;
  const { field, position } = wrong;
  throw new TypeError(
    `Cannot filter ${resource} by "${field}" at character ${position + 1} of the filter: ${
      filterHint(resource, field, canSkipCheck)
    }`,
  );
}
