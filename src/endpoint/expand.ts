import { parseTemplate as parseUriTemplate } from "url-template";
import { encode } from "./encode.ts";
import type { Expression, Variable } from "./expression.ts";
import type { Template } from "./template.ts";
import { toUrlValue, type UrlValue } from "./value.ts";

/** The values of a template's variables. */
export type Values = (name: string) => unknown;

/**
 * Expands a template; a variable without a value expands to nothing.
 *
 * A plain `{name}` takes a short way of our own; all else goes through `url-template`, its input
 * prepared where it departs from the RFC.
 *
 * @param template A parsed template
 * @param valueOf The value of a variable; undefined or null where it has none
 * @throws {TypeError} If a value has no text, or a length stands after a list or an object
 *
 * Source: RFC 6570, section 3.
 */
export function expand(template: Template, valueOf: Values): string {
  const [only] = template.parts;
  if (template.parts.length === 1 && typeof only === "string") return only;
  let url = "";
  for (const part of template.parts) {
    url += typeof part === "string" ? part : expandExpression(part, valueOf);
  }
  return url;
}

function expandExpression(expression: Expression, valueOf: Values): string {
  const { operator, variables } = expression;
  const [first] = variables;
  if (operator === "" && variables.length === 1 && first!.modifier === "") {
    const value = toUrlValue(first!.name, valueOf(first!.name));
    if (value === undefined) return "";
    if (typeof value === "string") return encode(value);
  }
  const reserved = operator === "+" || operator === "#";
  const context: Record<string, UrlValue> = Object.create(null);
  const written = variables.map((variable, index) => {
    const { name, modifier } = variable;
    const alias = standIn(variable, index);
    const texts = toUrlValue(name, valueOf(name));
    if (texts === undefined) return alias;
    const value = reserved ? mapTexts(texts, escapeStrayPercent) : texts;
    context[alias] = value;
    return typeof modifier === "number"
      ? `${alias}:${prefixOf(variable, value, reserved).length}`
      : alias + modifier;
  });
  let text = parseUriTemplate(`{${operator}${written.join(",")}}`).expand(context);
  for (const [index, variable] of variables.entries()) {
    const alias = standIn(variable, index);
    if (alias === variable.name) continue;
    text = text.replace(new RegExp(`(?<=[?&;])${alias}(?=[=?&;]|$)`, "g"), variable.name);
  }
  // RFC 6570, 3.2.7: after ";" an empty value has no equals sign.
  return operator === ";" ? text.replace(/=(?=;|$)/g, "") : text;
}

/**
 * The first characters of a text; a percent-encoded one, where it is kept, is one character. The
 * length is given in the units that `url-template` cuts by, so that none is cut in half.
 */
function prefixOf({ name, modifier }: Variable, value: UrlValue, reserved: boolean): string {
  if (typeof value !== "string") {
    throw new TypeError(
      `Cannot expand "${name}:${modifier}": wanted a text, got a list or an object`,
    );
  }
  const characters = value.match(reserved ? /%[\dA-Fa-f]{2}|./gsu : /./gsu) ?? [];
  return characters.slice(0, Number(modifier)).join("");
}

/** A percent sign that encodes nothing would keep `url-template` from encoding what is beside it. */
function escapeStrayPercent(text: string): string {
  return text.replace(/%(?![\dA-Fa-f]{2})/g, "%25");
}

function mapTexts(value: UrlValue, map: (text: string) => string): UrlValue {
  if (typeof value === "string") return map(value);
  if (Array.isArray(value)) return value.map(map);
  return Object.fromEntries(Object.entries(value).map(([key, text]) => [key, map(text)]));
}

/** `url-template` would encode a name that holds a percent sign again, so another stands for it. */
function standIn({ name }: Variable, index: number): string {
  return name.includes("%") ? `_percent_encoded_name_${index}_` : name;
}
