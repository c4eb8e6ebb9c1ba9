import { copy, setOwn } from "./copy.ts";
import { mergeHeaders } from "./headers.ts";
import { parseRoute } from "./route.ts";
import type { EndpointOptions, MergedOptions } from "./types.ts";

/**
 * Merges options into defaults. Neither is changed, and the result shares no object with them but
 * `request` and `data`, which keep their identity. An undefined option counts as absent.
 *
 * @param defaults The options to start from
 * @param route `<METHOD> <url-or-path>`, a URL alone, or the options themselves
 * @param options The options that accompany a route; they take precedence over it
 * @throws {TypeError} If a parameter refers to itself, or the headers cannot be read
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
    mediaType: copy(
      given.mediaType
        ? { ...defaults.mediaType, ...withoutUndefined(given.mediaType) }
        : defaults.mediaType,
      "mediaType",
    ),
  };
  assign(merged, defaults);
  if (url !== undefined) merged.url = url;
  assign(merged, given);
  return merged;
}

/** Copies the options that have no merge rule of their own, without those that are undefined. */
function assign(merged: MergedOptions, options: EndpointOptions): void {
  for (const name of Object.keys(options)) {
    switch (name) {
      case "method":
      case "baseUrl":
      case "headers":
      case "mediaType":
        break; // merged already
      case "url":
        if (options.url !== undefined && options.url !== null) merged.url = options.url;
        break;
      case "request":
      case "data":
        if (options[name] !== undefined) setOwn(merged, name, options[name]);
        break;
      default: {
        const value = options[name];
        if (value !== undefined) setOwn(merged, name, copy(value, name));
      }
    }
  }
}

function withoutUndefined(options: object): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** Of ASCII alone: "ſ" in upper case is "S", and would make a token of what is none. */
function toUpperCase(method: string): string {
  return /^[A-Z]+$/.test(method)
    ? method
    : String(method).replace(/[a-z]+/g, (letters) => letters.toUpperCase());
}
