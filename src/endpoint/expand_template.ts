import { parseTemplate as parseUriTemplate } from "url-template";
import { ValidationError } from "../errors.ts";
import { encode, type UrlValue } from "./encode.ts";
import { escapeStrayPercent, type Expression, type Template } from "./parse_template.ts";

/**
 * Replaces the expressions of a template by the values of their variables ("template expansion" in RFC
 * 6570; not the OData option `$expand`). A variable without a value expands to nothing.
 *
 * `url-template` expands one value at a time. Names, prefixes and exploded values are handled here,
 * because `url-template` encodes the percent sign in a name again, may cut a prefix inside a
 * character, and leaves the equals sign after an empty exploded value of `;`.
 *
 * @param template A parsed template
 * @param valueOf Returns the value of a variable, converted by `toUrlValue`
 * @throws {ValidationError} If a prefix is applied to a list or an object; `option` is the name of
 *   the variable
 *
 * Source: RFC 6570, section 3.
 */
export function expandTemplate(
  { parts }: Template,
  valueOf: (name: string) => UrlValue | undefined,
): string {
  let url = "";
  for (const part of parts) {
    url += typeof part === "string" ? part : expandExpression(part, valueOf);
  }
  return url;
}

/** Expands the variables of an expression, with the punctuation of its operator. */
function expandExpression(
  { operator, variables }: Expression,
  valueOf: (name: string) => UrlValue | undefined,
): string {
  const isReserved = operator === "+" || operator === "#";
  const isNamed = operator === ";" || operator === "?" || operator === "&";
  const separator = operator === "?" ? "&" : isReserved || operator === "" ? "," : operator;
  let expanded = "";
  let delimiter: string = operator === "+" ? "" : operator;
  const add = (name: string, value: UrlValue) => {
    const text = expandValue(value, isReserved);
    // RFC 6570, section 3.2.7: an empty value has no equals sign after ";". `url-template` also
    // writes none after an empty key of an object.
    const equals = name === "" || text === "" && operator === ";" ? "" : "=";
    expanded += delimiter + name + equals + text;
    delimiter = separator;
  };
  for (const { name, modifier } of variables) {
    const value = valueOf(name);
    if (value === undefined) continue;
    const key = isNamed ? name : "";
    if (typeof modifier === "number") add(key, prefixOf(name, value, modifier, isReserved));
    else if (modifier === "" || typeof value === "string") add(key, value);
    else if (Array.isArray(value)) { for (const item of value) add(key, item); }
    else for (const name of Object.keys(value)) add(encode(name), value[name]!);
  }
  return expanded;
}

const SIMPLE_EXPANSION = parseUriTemplate("{value}");
const RESERVED_EXPANSION = parseUriTemplate("{+value}");

/** Expands one value without its name; the items of a list or an object are joined by commas. */
function expandValue(value: UrlValue, isReserved: boolean): string {
  if (isReserved) return RESERVED_EXPANSION.expand({ value: escapePercentIn(value) });
  // The same text as from `url-template`, in a tenth of the time.
  return typeof value === "string" ? encode(value) : SIMPLE_EXPANSION.expand({ value });
}

/** Encodes the stray percent signs of each text, but not of the keys of an object. */
function escapePercentIn(value: UrlValue): UrlValue {
  if (typeof value === "string") return escapeStrayPercent(value);
  if (Array.isArray(value)) return value.map(escapeStrayPercent);
  return Object.fromEntries(
    Object.entries(value).map(([key, text]) => [key, escapeStrayPercent(text)]),
  );
}

/**
 * Returns the first characters of a text.
 *
 * @param isReserved Whether a percent-encoded triplet counts as one character
 */
function prefixOf(name: string, value: UrlValue, length: number, isReserved: boolean): string {
  if (typeof value !== "string") {
    throw new ValidationError(
      name,
      `must be text for the prefix "${name}:${length}", got a list or object`,
      { received: value },
    );
  }
  const character = isReserved ? "(?:%[\\dA-Fa-f]{2}|.)" : ".";
  return new RegExp(`^${character}{0,${length}}`, "su").exec(value)![0];
}
