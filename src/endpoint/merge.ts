import { copy } from "./copy.ts";
import { parseRoute } from "./route.ts";
import type { EndpointOptions, HeaderFields, MergedOptions } from "./types.ts";

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
  options: EndpointOptions = {},
): MergedOptions {
  const given = typeof route === "string" ? options : route;
  const { method, url } = typeof route === "string" ? parseRoute(route) : given;
  const merged: MergedOptions = {
    method: (given.method ?? method ?? defaults.method).toUpperCase(),
    baseUrl: given.baseUrl ?? defaults.baseUrl,
    headers: mergeHeaders(defaults.headers, given.headers),
    mediaType: { ...defaults.mediaType, ...given.mediaType },
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
      case "request":
        merged.request = options.request;
        break;
      case "data":
        merged.data = options.data;
        break;
      case "__proto__":
        // Assigned, it would change the prototype and be gone.
        Object.defineProperty(merged, name, {
          value: copy(options[name]),
          configurable: true,
          enumerable: true,
          writable: true,
        });
        break;
      default:
        merged[name] = copy(options[name]);
    }
  }
}

/** Names are lower-cased before merging, so that a caller's `Accept` replaces `accept`. */
function mergeHeaders(
  defaults: Record<string, string>,
  given: HeaderFields = {},
): Record<string, string> {
  const headers = { ...defaults };
  for (const name of Object.keys(given)) {
    const value = given[name];
    if (value === undefined) delete headers[name.toLowerCase()];
    else headers[name.toLowerCase()] = String(value);
  }
  return headers;
}
