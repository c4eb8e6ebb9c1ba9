import { copy, setOwn } from "./copy.ts";
import { mergeHeaders } from "./headers.ts";
import { parseRoute } from "./route.ts";
import type { EndpointOptions, MergedOptions } from "./types.ts";

/**
 * Lays options over defaults. Neither is changed, and the result shares no object with them but
 * `request` and `data`, which keep their identity.
 *
 * @param defaults What holds where the options say nothing
 * @param route `<METHOD> <url-or-path>` or a URL alone, or the options themselves
 * @param options The options beside a route; they win over it
 */
export function merge(
  defaults: MergedOptions,
  route: string | EndpointOptions,
  options?: EndpointOptions,
): MergedOptions {
  const given = (typeof route === "string" ? options : route) ?? {};
  const { method, url } = typeof route === "string" ? parseRoute(route) : given;
  const merged: MergedOptions = {
    method: toUpperCase(given.method ?? method ?? defaults.method),
    baseUrl: given.baseUrl ?? defaults.baseUrl,
    headers: mergeHeaders(defaults.headers, given.headers),
    mediaType: given.mediaType === undefined
      ? copy(defaults.mediaType)
      : copy({ ...defaults.mediaType, ...given.mediaType }),
  };
  assign(merged, defaults);
  if (url !== undefined) merged.url = url;
  assign(merged, given);
  return merged;
}

function assign(merged: MergedOptions, options: EndpointOptions): void {
  for (const name of Object.keys(options)) {
    switch (name) {
      case "method":
      case "baseUrl":
      case "headers":
      case "mediaType":
        break; // merged by rules of their own
      case "url":
        merged.url = options.url ?? merged.url;
        break;
      case "request":
        merged.request = options.request;
        break;
      case "data":
        merged.data = options.data;
        break;
      default:
        setOwn(merged, name, copy(options[name]));
    }
  }
}

/** Of ASCII alone: "ſ" in upper case is "S", and would make a token of what is none. */
function toUpperCase(method: string): string {
  return /^[A-Z]+$/.test(method)
    ? method
    : String(method).replace(/[a-z]+/g, (letters) => letters.toUpperCase());
}
