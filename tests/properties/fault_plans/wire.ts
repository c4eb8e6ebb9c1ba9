// The service's requests and answers as text.
import type { Asked, Delivery, Page } from "./kind.ts";
import type { CountShape, LinkStyle } from "./plan.ts";

/** Reads what a request asks for. */
export function readAsked(url: URL): Asked {
  const options = url.searchParams;
  return {
    url,
    resource: url.pathname.slice(url.pathname.lastIndexOf("/") + 1),
    filter: options.get("$filter") ?? undefined,
    top: Number(options.get("$top") ?? 10),
    position: options.get("$skiptoken")?.slice(3),
    isCount: options.get("$count") === "true",
  };
}

/** Replaces query options of a URL, and encodes all of them; undefined removes one. */
export function withOptions(
  url: URL,
  options: Record<string, string | undefined>,
): URL {
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

/** Encodes a next link, or leaves it raw, as the plan says. */
export function encodeLink(link: string, { encoded }: LinkStyle): string {
  return encoded ? link.replaceAll("$", "%24") : link;
}

/** Puts a next link where the plan says. */
export function toLinks(
  next: string | undefined,
  { body, header }: LinkStyle,
): Pick<Page, "bodyLink" | "headerLink"> {
  return {
    bodyLink: body ? next : undefined,
    headerLink: header ? next : undefined,
  };
}

/** Writes a count in one of the documented shapes. */
export function toCount(count: number, shape: CountShape): Record<string, unknown> {
  if (shape === "number") return { value: count };
  if (shape === "digits") return { value: String(count) };
  return { [shape]: count };
}

/** Makes a body of JSON that arrives without faults. */
export function toDelivery(text: string): Delivery {
  return {
    bytes: new TextEncoder().encode(text),
    end: "close",
    delay: 0,
    contentType: "application/json",
  };
}
