// Skip tokens and next links, in the forms that services give them.

/**
 * Skip tokens of a service: `Id:<Id>`, opaque ones, quoted ones, or quoted ones that the service
 * ignores in requests.
 */
export type TokenStyle = "id" | "opaque" | "quoted" | "ignored";

export function toToken(id: string, tokens: TokenStyle): string {
  if (tokens === "id") return `Id:${id}`;
  return tokens === "opaque" ? `+${btoa(id)}` : `'Id:${id}'`;
}

export function idOf(token: string): string {
  return token.startsWith("+") ? atob(token.slice(1)) : token.replace(/^'?Id:|'$/g, "");
}

/** Whether an Id follows another one in the order of the rows: by number, or by text for UUIDs. */
export function isAfter(id: unknown, other: string): boolean {
  return typeof id === "number" ? id > Number(other) : String(id) > other;
}

/** Forms of a next link. The URL is percent-encoded. */
export const LINK_FORMS: Record<string, (url: URL) => string> = {
  encoded: ({ href }) => href,
  raw: ({ href }) => href.replaceAll("%24", "$").replaceAll("%3A", ":"),
  "without origin": ({ pathname, search }) => pathname + search,
  "without path": ({ search }) => search,
  "with a fragment": ({ href }) => `${href}#x`,
  "with an empty option": ({ href }) => `${href}&`,
};

/** Replaces query options of a URL and encodes all of them; `undefined` removes an option. */
export function withOptions(url: URL, options: Record<string, string | undefined>): URL {
  const pairs = new Map(url.searchParams);
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) pairs.delete(name);
    else pairs.set(name, value);
  }
  const search = [...pairs].map(([name, value]) =>
    `${encodeURIComponent(name)}=${encodeURIComponent(value)}`
  );
  return new URL(`${url.origin}${url.pathname}?${search.join("&")}`);
}
