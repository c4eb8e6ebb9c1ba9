import { parseTemplate as parseUriTemplate } from "url-template";
import { ValidationError } from "../errors.ts";
import { memoize } from "./memoize.ts";

/** A parsed URI template. Shared between calls, so it must not be changed. */
export interface Template {
  /** Literal text, already encoded, and expressions. */
  parts: readonly (string | Expression)[];
  /** Names of the variables. */
  names: ReadonlySet<string>;
  /**
   * Length of the scheme and host; 0 if an expression is part of them or none follows. `undefined`
   * for a path.
   */
  hostEnd: number | undefined;
}

/** One expression of a template, such as `{?list*,path:9}`. */
export interface Expression {
  operator: "" | "+" | "#" | "." | "/" | ";" | "?" | "&";
  variables: readonly Variable[];
}

/** One variable of an expression. */
export interface Variable {
  name: string;
  /** `*` expands each item of a list or an object; a number is the length of a prefix. */
  modifier: "" | "*" | number;
}

/**
 * Parses a URI template, with `:name` placeholders in the path as well.
 *
 * @param text The template; its literal text is encoded where a URI needs it
 * @throws {ValidationError} If it is malformed; the message names the position and the expression
 *
 * Source: RFC 6570, section 2.
 */
export const parseTemplate: (text: string) => Template = memoize(readTemplate);

const FULL_URL = /^[a-z][a-z\d+.-]*:\/\/(?:[^/?#{}]|\{[^{}]*\})*/i;
/** An expression, the end of the path, or a `:name`. */
const MARK = /\{([^{}]*)\}|[?#]|(?<![A-Za-z0-9_}]):([A-Za-z_]\w*)/g;

function readTemplate(text: string): Template {
  requireWellFormed(text);
  const parts: (string | Expression)[] = [];
  const names = new Set<string>();
  const authorityEnd = FULL_URL.exec(text)?.[0].length ?? 0;
  let inPath = true;
  let end = 0;
  for (const match of text.matchAll(MARK)) {
    const [mark, inner, colonName] = match;
    if (mark === "?" || mark === "#") {
      inPath = false;
      continue;
    }
    if (colonName !== undefined && (!inPath || match.index < authorityEnd)) continue;
    const expression = readExpression(inner ?? colonName!);
    parts.push(encodeLiteral(text.slice(end, match.index)), expression);
    for (const { name } of expression.variables) names.add(name);
    if (/[?&#]/.test(expression.operator)) inPath = false;
    end = match.index + mark.length;
  }
  parts.push(encodeLiteral(text.slice(end)));
  return { parts, names, hostEnd: authorityEnd > 0 ? hostEndOf(parts) : undefined };
}

/** The host is not complete if the template lets a variable supply a label, a port or all of it. */
function hostEndOf([literal, next]: Template["parts"]): number {
  const isComplete = /:\/\/[^/?#]*[^/?#:.@]$/.test(literal as string);
  return isComplete && next !== undefined ? (literal as string).length : 0;
}

/** Encodes the characters that a URI cannot contain; percent-encoded triplets are kept. */
function encodeLiteral(text: string): string {
  return parseUriTemplate(escapeStrayPercent(text.toWellFormed())).expand({});
}

/**
 * Encodes percent signs that do not begin a triplet. `url-template` would leave them, and the text
 * around them, unencoded.
 */
export function escapeStrayPercent(text: string): string {
  return text.replace(/%(?![\dA-Fa-f]{2})/g, "%25");
}

const CHARACTER = "(?:\\w|%[\\dA-Fa-f]{2})";
const VARIABLE = `${CHARACTER}(?:\\.?${CHARACTER})*(?:\\*|:[1-9]\\d{0,3})?`;
// The alternatives begin with different characters and nothing follows the outer repetition, so that
// matching takes linear time, for malformed text too.
const WELL_FORMED = new RegExp(`^(?:[^{}]+|{[+#./;?&]?${VARIABLE}(?:,${VARIABLE})*})*`);
/** Maximum length of an expression in an error message. */
const MAX_SHOWN = 60;

/** Throws a `ValidationError` if a template does not match the grammar of RFC 6570, section 2. */
function requireWellFormed(template: string): void {
  const { length } = WELL_FORMED.exec(template)![0];
  if (length === template.length) return;
  const [wrong] = /^(?:{[^{}]*}?|})/.exec(template.slice(length))!;
  const shown = wrong.length > MAX_SHOWN ? `${wrong.slice(0, MAX_SHOWN)}…` : wrong;
  throw new ValidationError(
    "url",
    `has a malformed expression "${shown}" at character ${length + 1}`,
    { received: template, hint: dollarHint(shown) },
  );
}

/** Returns a hint for an expression whose only fault is a `$`, which is not allowed in a name. */
function dollarHint(expression: string): string {
  const encoded = expression.replaceAll("$", "%24");
  if (encoded === expression || WELL_FORMED.exec(encoded)![0] !== encoded) return "";
  return `write "${encoded}", and "%24" in the name of the option`;
}

/** Reads the text between the braces of a well-formed expression. */
function readExpression(inner: string): Expression {
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
