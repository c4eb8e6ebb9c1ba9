// URI templates (RFC 6570).
import { parseTemplate as parseUriTemplate } from "url-template";
import type { ValidationError } from "../errors.ts";
import { invalidOption, invalidValue } from "../validation.ts";
import { encode, type UrlValue } from "./encode.ts";

export interface Template {
  parts: readonly (string | Expression)[];
  names: ReadonlySet<string>;
  text: string;
  /** Whether it begins with a scheme and an authority (RFC 3986, section 3.2): otherwise it is a path. */
  isFullUrl: boolean;
}

/**
 * Place of an expression in an authority: in the userinfo; in the host, before more of its literal text; before
 * a literal port only; at the end. `after`: an expression such as `{/x}` that ends the authority.
 */
type Place = "userinfo" | "host" | "before port" | "end" | "after";

interface Expression {
  operator: "" | "+" | "#" | "." | "/" | ";" | "?" | "&";
  variables: readonly Variable[];
  /** `undefined` if it is outside the authority. */
  place: Place | undefined;
}

interface Variable {
  name: string;
  /** `*` expands each item of a list or an object; a number is the length of a prefix. */
  modifier: "" | "*" | number;
}

/** Up to the end of the authority, which an expression such as `{/x}` or `{?x}` ends. */
const FULL_URL = /^[a-z][a-z\d+.-]*:\/\/(?:[^/?#{}]|\{[^/?#{}][^{}]*\})*/i;
const CHARACTER = "(?:\\w|%[\\dA-Fa-f]{2})";
const VARIABLE = `${CHARACTER}(?:\\.?${CHARACTER})*(?:\\*|:[1-9]\\d{0,3})?`;
/** An expression, a brace of another one, the end of the path, or a `:name`. */
const MARK = new RegExp(
  `{([+#./;?&]?)(${VARIABLE}(?:,${VARIABLE})*)}|[{}?#]|(?<![\\w}]):((?!\\d)\\w+)`,
  "g",
);

/** RFC 6570, section 2, with `:name` placeholders in the path as well. */
export function parseTemplate(text: string): Template {
  const parts: (string | Expression)[] = [];
  const names = new Set<string>();
  const authority = FULL_URL.exec(text)?.[0] ?? "";
  let placeAt: ReturnType<typeof createPlaces> | undefined;
  let inPath = true;
  let end = 0;
  MARK.lastIndex = 0; // the last call may have thrown
  for (let match; (match = MARK.exec(text)) !== null;) {
    const [mark, operator = "", list, colonName] = match;
    if (mark === "{" || mark === "}") throw malformed(text, match.index);
    if (mark === "?" || mark === "#") inPath = false;
    const named = list ?? (inPath && match.index >= authority.length ? colonName : undefined);
    if (named === undefined) continue;
    const variables = named.split(",").map(readVariable);
    parts.push(encodeReserved(text.slice(end, match.index)), {
      operator: operator as Expression["operator"],
      variables,
      place: authority === "" || match.index > authority.length
        ? undefined
        : (placeAt ??= createPlaces(authority))(match.index),
    });
    for (const { name } of variables) names.add(name);
    if (/[?&#]/.test(operator)) inPath = false;
    end = match.index + mark.length;
  }
  parts.push(encodeReserved(text.slice(end)));
  return { parts, names, text, isFullUrl: authority !== "" };
}

function createPlaces(authority: string): (index: number) => Place {
  const literal = authority.replace(/\{[^{}]*\}/g, ({ length }) => " ".repeat(length)).trimEnd();
  const userinfoEnd = literal.lastIndexOf("@");
  // The lookbehind keeps the time linear for many dots.
  const host = literal.replace(/:[\d ]*$/, "").replace(/(?<![. ])[. ]+$/, "");
  return (index) => {
    if (index === authority.length) return "after";
    if (index < userinfoEnd) return "userinfo";
    if (index < host.length) return "host";
    return index < literal.length ? "before port" : "end";
  };
}

function malformed(template: string, index: number): ValidationError {
  // At most the first 60 characters of the expression.
  const [shown] = /^[^}]{0,59}}?/.exec(template.slice(index))!;
  const problem = `has a malformed expression "${shown}" at character ${index + 1}`;
  const hint = shown.includes("$") ? 'write "%24" for "$", also in the name of the option' : "";
  return invalidOption("url", problem, template, hint);
}

function readVariable(text: string): Variable {
  const [, name, modifier] = /([^*:]+):?(.*)/.exec(text) as unknown as string[];
  return { name: name!, modifier: Number(modifier) || modifier as "*" | "" };
}

const RESERVED_EXPANSION = parseUriTemplate("{+value}");

/**
 * `url-template` leaves the text around a percent sign that begins no triplet unencoded. Calling it
 * each time would make `endpoint()` with a new path 1.6 times as slow.
 */
function encodeReserved(text: string): string {
  if (/^[\w.~:/?#[\]@!$&'()*+,;=-]*$/.test(text)) return text;
  const value = text.toWellFormed().replace(/%(?![\dA-Fa-f]{2})/g, "%25");
  return RESERVED_EXPANSION.expand({ value });
}

/**
 * RFC 6570, section 3; not the OData option `$expand`. `url-template` expands reserved text only:
 * it would encode the percent sign in a name again, could cut a prefix inside a character, and
 * would leave the equals sign after an empty exploded value of `;`.
 *
 * A value cannot end the authority of a full URL within its literal text, or add to a literal host.
 */
export function expandTemplate(
  { parts, text: template }: Template,
  values: ReadonlyMap<string, UrlValue | undefined>,
): string {
  let url = "";
  // If the first expression is behind the authority, all are.
  let isInAuthority = (parts[1] as Expression | undefined)?.place !== undefined;
  let mustEnd = false;
  let isAfterLiteral = false;
  for (const part of parts) {
    const isLiteral = typeof part === "string";
    const text = isLiteral ? part : expandExpression(part, values);
    const place = isLiteral ? undefined : part.place;
    mustEnd ||= place === "after";
    if (isInAuthority && text !== "") {
      // After one of these characters, the value is a host, a label or a port.
      const isAfterHost = !"/:.@[".includes(url.at(-1) ?? "");
      if ((mustEnd || place === "end" && isAfterHost) && /^[/?#]/.test(text)) isInAuthority = false;
      else if (mustEnd) throw hostError(template);
      else if (place) {
        requireHostText(template, part as Expression, text, isAfterLiteral && isAfterHost);
      }
      isAfterLiteral = isLiteral;
    }
    url += text;
  }
  return url;
}

function requireHostText(
  template: string,
  { place, variables }: Expression,
  text: string,
  isAfterLiteralHost: boolean,
): void {
  // URL parsers reject these characters in a host also if they are encoded, but not every program does.
  const delimiter = place === "userinfo" ? /[/?#@\\]/ : /[/?#@\\]|%(?:2f|3f|23|40|5c)/i;
  const names = variables.map(({ name }) => name).join();
  if (delimiter.test(text)) throw hostError(template, `remove / ? # @ and \\ from ${names}`);
  if (isAfterLiteralHost && (place === "end" || place === "before port")) {
    throw hostError(template, `begin ${names} with / ? or #`);
  }
}

function hostError(template: string, hint = ""): ValidationError {
  return invalidValue("url", "a URL on the host of its template", template, hint);
}

function expandExpression(
  { operator, variables }: Expression,
  values: ReadonlyMap<string, UrlValue | undefined>,
): string {
  const isReserved = /[+#]/.test(operator);
  const isNamed = /[;?&]/.test(operator);
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
    const value = values.get(name);
    if (value === undefined) continue;
    const key = isNamed ? name : "";
    if (typeof modifier === "number") add(key, prefixOf(name, value, modifier, isReserved));
    else if (modifier === "" || typeof value === "string") add(key, value);
    else if (Array.isArray(value)) { for (const item of value) add(key, item); }
    else for (const name of Object.keys(value)) add(encode(name), value[name]!);
  }
  return expanded;
}

export function expandValue(value: UrlValue, isReserved: boolean): string {
  const encodeText = isReserved ? encodeReserved : encode;
  if (typeof value === "string") return encodeText(value);
  const texts = Array.isArray(value)
    ? value.map(encodeText)
    : Object.entries(value).flatMap(([key, text]) => [encode(key), encodeText(text)]);
  return texts.join(",");
}

function prefixOf(name: string, value: UrlValue, length: number, isReserved: boolean): string {
  if (typeof value !== "string") {
    throw invalidValue(name, `text for the prefix "${name}:${length}"`, value);
  }
  const character = isReserved ? "(?:%[\\dA-Fa-f]{2}|.)" : ".";
  return new RegExp(`^${character}{0,${length}}`, "su").exec(value)![0];
}
