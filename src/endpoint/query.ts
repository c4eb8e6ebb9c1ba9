import { encode, encodeName } from "./encode.ts";
import { toUrlValue, withoutText } from "./value.ts";

/**
 * Appends parameters to a URL as its query: after one that is there, before a fragment.
 *
 * Names and values are encoded, as the service refuses a raw `$`; a list is joined with commas
 * (RFC 6570, form style); null, undefined and an empty list are left out.
 *
 * @param url An expanded URL
 * @param parameters Pairs of name and value
 * @throws {TypeError} If a value is an object or has no text
 */
export function appendQuery(url: string, parameters: readonly [string, unknown][]): string {
  let query = "";
  for (const [name, value] of parameters) {
    const pair = toPair(name, value);
    if (pair !== undefined) query += query === "" ? pair : `&${pair}`;
  }
  if (query === "") return url;
  const hash = url.indexOf("#");
  const address = hash < 0 ? url : url.slice(0, hash);
  const joint = !address.includes("?") ? "?" : /[?&]$/.test(address) ? "" : "&";
  return address + joint + query + (hash < 0 ? "" : url.slice(hash));
}

function toPair(name: string, value: unknown): string | undefined {
  const texts = toUrlValue(name, value);
  if (texts === undefined) return undefined;
  if (typeof texts === "object" && !Array.isArray(texts)) {
    throw withoutText(name, texts);
  }
  const text = typeof texts === "string" ? encode(texts) : texts.map(encode).join(",");
  return `${encodeName(name)}=${text}`;
}
