import { parseTemplate as parseUriTemplate } from "url-template";
import { BoundedCache } from "./bounded_cache.ts";
import { checkExpressions, type Expression, expressionOf } from "./expression.ts";

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
