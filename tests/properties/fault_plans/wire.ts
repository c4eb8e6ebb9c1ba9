// Parses requests to the service and serialises its responses.
import type { Delivery, PageDraft, ServiceRequest } from "./fault_kind.ts";
import type { CountShape, LinkStyle } from "./plan.ts";

/** Parses the URL of a request. */
export function parseRequest(url: URL): ServiceRequest {
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

/** Replaces query options of a URL and encodes all of them; `undefined` removes an option. */
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

/** Encodes a next link if the plan requires it. */
export function encodeLink(link: string, { encoded }: LinkStyle): string {
  return encoded ? link.replaceAll("$", "%24") : link;
}

/** Places a next link in the body, the header or both. */
export function toLinks(
  next: string | undefined,
  { body, header }: LinkStyle,
): Pick<PageDraft, "bodyLink" | "headerLink"> {
  return {
    bodyLink: body ? next : undefined,
    headerLink: header ? next : undefined,
  };
}

/** Returns the response to a count request in a documented shape. */
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
