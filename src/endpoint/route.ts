import { BoundedCache } from "./bounded_cache.ts";

/** A route in its two parts. */
export interface Route {
  /** Undefined where the route is a URL alone. */
  method: string | undefined;
  url: string;
}

/** A method is a token of HTTP (RFC 9110) with white space after it; all else is a URL. */
const ROUTE = /^([\w!#$%&'*+.^`|~-]+)\s+(\S[^]*)$/;

const routes = new BoundedCache((route: string): Route => {
  const text = route.trim();
  const [, method, url = text] = ROUTE.exec(text) ?? [];
  return { method, url };
});

/** Reads `<METHOD> <url-or-path>`, or a URL alone. */
export function parseRoute(route: string): Route {
  return routes.get(route);
}
