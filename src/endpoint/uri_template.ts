import { parseTemplate as parseUriTemplate } from "url-template";

/** So many entries are kept, of keys so long at most. */
const ENTRIES = 200;
const LONGEST_KEY = 2_000;

/**
 * A memory for what is made from the same text again and again. It is bounded, as texts may come
 * from outside: past the bound the oldest entry goes.
 */
export class BoundedCache<T> {
  readonly #entries = new Map<string, T>();
  readonly #make: (key: string) => T;

  /** @param make Makes what is not there; what it throws is not kept */
  constructor(make: (key: string) => T) {
    this.#make = make;
  }

  /** What belongs to the key, made or remembered; it is shared, so it must not be changed. */
  get(key: string): T {
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const made = this.#make(key);
    if (key.length > LONGEST_KEY) return made;
    if (this.#entries.size >= ENTRIES) this.#entries.delete(this.#entries.keys().next().value!);
    this.#entries.set(key, made);
    return made;
  }
}

/** A parsed template: literal text, encoded already, and expressions. */
export interface Template {
  parts: readonly (string | Expression)[];
  /** The names of its variables. */
  names: ReadonlySet<string>;
  /** Whether a name occurs more than once. */
  hasRepeats: boolean;
  /** Whether it begins with a scheme and a host of its own. */
  full: boolean;
  /** How long that is where it is spelled out and an expression follows at once. */
  hostEnd: number | undefined;
}

const FULL_URL = /^[a-z][a-z\d+.-]*:\/\/(?:[^/?#{}]|\{[^{}]*\})*/i;
/** An expression, the end of the path, or a `:name`. */
const MARK = /\{([^{}]*)\}|[?#]|(?<![A-Za-z0-9_}]):([A-Za-z_]\w*)/g;

const templates = new BoundedCache(read);

/**
 * Parses a URI template (RFC 6570), with `:name` placeholders in the path as well.
 *
 * @param text The template; what is not an expression is encoded where a URI needs it
 * @returns Its parts and variable names, shared between calls
 * @throws {SyntaxError} If it is malformed; the message names the position and the expression
 */
export function parseTemplate(text: string): Template {
  return templates.get(text);
}

function read(text: string): Template {
  checkExpressions(text);
  const parts: (string | Expression)[] = [];
  const names = new Set<string>();
  const authority = FULL_URL.exec(text)?.[0].length;
  let inPath = true;
  let hasRepeats = false;
  let end = 0;
  for (const match of text.matchAll(MARK)) {
    const [mark, inner, colonName] = match;
    if (mark === "?" || mark === "#") {
      inPath = false;
      continue;
    }
    if (colonName !== undefined && (!inPath || match.index < (authority ?? 0))) continue;
    const expression = expressionOf(inner ?? colonName!);
    if (match.index > end) parts.push(encodeLiteral(text.slice(end, match.index)));
    parts.push(expression);
    for (const { name } of expression.variables) {
      hasRepeats ||= names.has(name);
      names.add(name);
    }
    if (/[?&#]/.test(expression.operator)) inPath = false;
    end = match.index + mark.length;
  }
  if (end < text.length) parts.push(encodeLiteral(text.slice(end)));
  const full = authority !== undefined;
  return { parts, names, hasRepeats, full, hostEnd: full ? hostEndOf(parts) : undefined };
}

/** Not where a port, a label or a host is still to come: `https://a.org:{port}` chooses on purpose. */
function hostEndOf([literal, next]: readonly (string | Expression)[]): number | undefined {
  const spelledOut = typeof literal === "string" && /:\/\/[^/?#]*[^/?#:.@]$/.test(literal);
  return spelledOut && next !== undefined ? literal.length : undefined;
}

/** Keeps what a URI may hold, percent-encoded triplets too, and encodes the rest. */
function encodeLiteral(text: string): string {
  return parseUriTemplate(escapeStrayPercent(text.toWellFormed())).expand({});
}

/** Encodes percent signs that encode nothing; `url-template` would not encode the text beside them. */
export function escapeStrayPercent(text: string): string {
  return text.replace(/%(?![\dA-Fa-f]{2})/g, "%25");
}

/** One variable of an expression. */
export interface Variable {
  name: string;
  /** `*` explodes a list or an object; a number takes so many characters of a text. */
  modifier: "" | "*" | number;
}

/** One expression of a template. */
export interface Expression {
  operator: "" | "+" | "#" | "." | "/" | ";" | "?" | "&";
  variables: readonly Variable[];
}

const CHARACTER = "(?:\\w|%[\\dA-Fa-f]{2})";
const VARIABLE = `${CHARACTER}(?:\\.?${CHARACTER})*(?:\\*|:[1-9]\\d{0,3})?`;
// Each alternative starts with its own characters and nothing follows the outer repetition, so that
// the time is linear for malformed text too.
const WELL_FORMED = new RegExp(`^(?:[^{}]+|{[+#./;?&]?${VARIABLE}(?:,${VARIABLE})*})*`);
/** Maximum length of an expression shown in an error message. */
const MAX_SHOWN = 60;

/**
 * Checks a template against the grammar of RFC 6570, section 2.
 *
 * @throws {SyntaxError} If it is malformed; the message names the position and the expression
 */
function checkExpressions(template: string): void {
  const { length } = WELL_FORMED.exec(template)![0];
  if (length === template.length) return;
  const [wrong] = /^(?:{[^{}]*}?|})/.exec(template.slice(length))!;
  const shown = wrong.length > MAX_SHOWN ? `${wrong.slice(0, MAX_SHOWN)}…` : wrong;
  throw new SyntaxError(
    'Cannot parse the URI template: wanted expressions such as "{name}", "{?list*}" or "{+path:9}", ' +
      `got "${shown}" at character ${length + 1}${dollarHint(shown)}`,
  );
}

/** How to write an expression whose only fault is `$`, which no variable name can contain. */
function dollarHint(expression: string): string {
  const encoded = expression.replaceAll("$", "%24");
  if (encoded === expression || WELL_FORMED.exec(encoded)![0] !== encoded) return "";
  const names = encoded.match(/[\w.%]*%24[\w.%]*/g)!;
  return `: write "${encoded}" and pass the option "${names.join('", "')}"`;
}

/** What stands in the braces of a well-formed expression, in its parts. */
function expressionOf(inner: string): Expression {
  const [, operator, list] = /^([+#./;?&]?)(.*)/.exec(inner)!;
  const variables = list!.split(",").map((variable): Variable => {
    const [name, length] = variable.split(/[*:]/);
    return {
      name: name!,
      modifier: length === undefined ? "" : length === "" ? "*" : Number(length),
    };
  });
  return { operator: operator as Expression["operator"], variables };
}
