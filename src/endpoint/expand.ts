import { parseTemplate as parseUriTemplate } from "url-template";
import { encode, toUrlValue, type UrlValue } from "./encode.ts";
import {
  escapeStrayPercent,
  type Expression,
  type Template,
  type Variable,
} from "./uri_template.ts";

/** Returns the value of a variable; undefined or null where it has none. */
type Values = (name: string) => unknown;

/**
 * Expands a template; a variable without a value expands to nothing.
 *
 * `url-template` expands the values of lists, objects and reserved expansion, without their names,
 * which it would encode again, and without prefixes, which it may cut inside a character. Other texts
 * are encoded here, which is faster.
 *
 * @param template A parsed template
 * @param valueOf The values of its variables
 * @throws {TypeError} If a value has no text, or a prefix is applied to a list or an object
 *
 * Source: RFC 6570, section 3.
 */
export function expand(template: Template, valueOf: Values): string {
  const [only] = template.parts;
  if (template.parts.length === 1 && typeof only === "string") return only;
  const values = template.hasRepeats ? memoize(valueOf) : valueOf;
  let url = "";
  for (const part of template.parts) {
    url += typeof part === "string" ? part : expandExpression(part, values);
  }
  return url;
}

/** Converts each value once: a long list without values would take quadratic time otherwise. */
function memoize(valueOf: Values): Values {
  const known = new Map<string, unknown>();
  return (name) => {
    if (!known.has(name)) known.set(name, toUrlValue(name, valueOf(name)));
    return known.get(name);
  };
}

function expandExpression({ operator, variables }: Expression, valueOf: Values): string {
  const [first] = variables;
  if (operator === "" && variables.length === 1 && first!.modifier === "") {
    const value = toUrlValue(first!.name, valueOf(first!.name));
    if (value === undefined) return "";
    if (typeof value === "string") return encode(value);
  }
  const isReserved = operator === "+" || operator === "#";
  const isNamed = operator === "?" || operator === "&" || operator === ";";
  const separator = operator === "?" ? "&" : isReserved ? "," : operator || ",";
  let joint: string = operator === "+" ? "" : operator;
  let expanded = "";
  for (const variable of variables) {
    const { name, modifier } = variable;
    const isPrefix = typeof modifier === "number";
    let given = valueOf(name);
    // A character has at most three UTF-16 code units, those of a triplet. A long text is cut before
    // it is converted, because its prefix may occur often.
    if (isPrefix && typeof given === "string") given = given.slice(0, 3 * modifier);
    let value = toUrlValue(name, given, isReserved ? escapeStrayPercent : undefined);
    if (value === undefined) continue;
    if (isPrefix) value = prefixOf(variable, value, isReserved);
    let text = expandValue(value, modifier === "*", isReserved);
    if (modifier === "*" && typeof value === "object") {
      const items = text.split(",");
      const isList = isNamed && Array.isArray(value);
      text = (isList ? items.map((item) => `${name}=${item}`) : items).join(separator);
    } else if (isNamed) {
      text = `${name}=${text}`;
    }
    expanded += joint + text;
    joint = separator;
  }
  // RFC 6570, 3.2.7: after ";" an empty value has no equals sign.
  return operator === ";" ? expanded.replace(/=(?=;|$)/g, "") : expanded;
}

/** Expands a value without its name; the items of a list, or of an object, are joined by commas. */
function expandValue(value: UrlValue, isExploded: boolean, isReserved: boolean): string {
  if (typeof value === "string" && !isReserved) return encode(value);
  const isKeyed = isExploded && !Array.isArray(value);
  return parseUriTemplate(`{${isReserved ? "+" : ""}value${isKeyed ? "*" : ""}}`)
    .expand({ value });
}

/** The first characters of a text; where they are kept, a percent-encoded triplet is one character. */
function prefixOf({ name, modifier }: Variable, value: UrlValue, isReserved: boolean): string {
  if (typeof value !== "string") {
    throw new TypeError(
      `Cannot expand "${name}:${modifier}": wanted a text, got a list or an object`,
    );
  }
  const characters = value.match(isReserved ? /%[\dA-Fa-f]{2}|./gsu : /./gsu) ?? [];
  return characters.slice(0, Number(modifier)).join("");
}
