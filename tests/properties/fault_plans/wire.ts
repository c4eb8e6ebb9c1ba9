import type { Delivery, PageDraft, ServiceRequest } from "./fault_kind.ts";
import { type CountShape, idOf, type LinkStyle } from "./plan.ts";

export function parseRequest(url: URL): ServiceRequest {
  const options = url.searchParams;
  const token = options.get("$skiptoken");
  return {
    url,
    resource: url.pathname.slice(url.pathname.lastIndexOf("/") + 1),
    filter: options.get("$filter") ?? undefined,
    top: Number(options.get("$top") ?? 10),
    position: token === null ? undefined : idOf(token),
    isCount: options.get("$count") === "true",
  };
}

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

/** Shortens a link to the service, and adds the suffix. Other links stay the same. */
export function decorateLink(link: unknown, { base, suffix }: LinkStyle, origin: string): unknown {
  if (typeof link !== "string" || !link.startsWith(`${origin}/`)) return link;
  const start = { absolute: 0, path: origin.length, query: link.indexOf("?") }[base];
  return link.slice(start) + suffix;
}

export function toLinks(
  next: string | undefined,
  { body, header }: LinkStyle,
): Pick<PageDraft, "bodyLink" | "headerLink"> {
  return { bodyLink: body ? next : undefined, headerLink: header ? next : undefined };
}

export function toCount(count: number, shape: CountShape): Record<string, unknown> {
  if (shape === "number") return { value: count };
  if (shape === "digits") return { value: String(count) };
  return { [shape]: count };
}

/** Creates the delivery of a JSON body without faults. */
export function toDelivery(text: string): Delivery {
  return {
    bytes: new TextEncoder().encode(text),
    end: "close",
    delay: 0,
    contentType: "application/json",
  };
}
