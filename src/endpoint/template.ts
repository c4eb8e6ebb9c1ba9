import { parseTemplate, type PrimitiveValue } from "url-template";

/** A value that a URL can hold: text, or a list of texts. */
export type UrlValue = PrimitiveValue | PrimitiveValue[];

/** A url with its placeholders filled, and the names that they took. */
export interface Expansion {
  url: string;
  placed: Set<string>;
}

/**
 * Fills an RFC 6570 template; a variable without a value expands to nothing.
 *
 * @param template A path or URL; `/:name` stands for `/{name}`
 * @param values Values by variable name
 * @returns The expanded url and the variable names of the template
 */
export function expandTemplate(template: string, values: Record<string, unknown>): Expansion {
  const standard = template.replace(/(?<=\/):([A-Za-z_]\w*)(?=[^?#]*)/g, "{$1}");
  const placed = new Set(variableNames(standard));
  const variables: Record<string, UrlValue> = {};
  for (const name of placed) {
    if (Object.hasOwn(values, name)) variables[name] = toUrlValue(name, values[name]);
  }
  return { url: parseTemplate(standard).expand(variables), placed };
}

/**
 * Appends parameters to a url as RFC 6570 form-style query, names and values encoded: the service
 * refuses a raw `$`. A null or undefined one is left out.
 */
export function appendQuery(url: string, parameters: Record<string, unknown>): string {
  const pairs = Object.entries(parameters)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => `${encode(name)}=${encode(toUrlValue(name, value))}`);
  if (pairs.length === 0) return url;
  const [address, fragment] = splitOnce(url, "#");
  const joint = !address.includes("?") ? "?" : /[?&]$/.test(address) ? "" : "&";
  return address + joint + pairs.join("&") + fragment;
}

const single = parseTemplate("{value}");

/** One encoder for names and values: everything but RFC 3986's unreserved characters. */
function encode(value: UrlValue): string {
  return single.expand({ value });
}

function variableNames(template: string): string[] {
  const expressions = template.matchAll(/\{[+#./;?&]?([^{}]+)\}/g);
  return [...expressions].flatMap(([, list]) =>
    (list ?? "").split(",").map((name) => name.replace(/(:\d+|\*)$/, ""))
  );
}

function toUrlValue(name: string, value: unknown): UrlValue {
  if (Array.isArray(value)) return value.map((item) => toText(name, item));
  return toText(name, value);
}

function toText(name: string, value: unknown): PrimitiveValue {
  if (value === undefined || value === null) return null;
  if (value instanceof Date) return value.toISOString();
  if (typeof value === "object" || typeof value === "function" || typeof value === "symbol") {
    throw new TypeError(
      `Cannot put parameter "${name}" in the URL: wanted text, a number or a list, got ${typeof value}`,
    );
  }
  return String(value);
}

function splitOnce(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at)];
}
