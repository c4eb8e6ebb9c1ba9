import { endpoint } from "../endpoint/endpoint.ts";
import type { RequestOptions } from "../endpoint/types.ts";
import type { SystemQueryOptions } from "../odata/query_options.ts";
import { type ResourceName, RESOURCES } from "../odata/resources.ts";
import type { Service } from "./run.ts";

/** The longest request target that is sent: common gateways refuse one over 8 KB. */
export const LONGEST_TARGET = 8_000;

/** The request for a page of a resource, or for a count. */
export function toRequestOptions(
  { baseUrl, headers }: Pick<Service, "baseUrl" | "headers">,
  resource: ResourceName,
  options: SystemQueryOptions,
): RequestOptions {
  return endpoint(`GET ${RESOURCES[resource].path}`, { baseUrl, headers, ...options });
}

/** The bytes of a URL's path and query, which are ASCII. */
export function targetLength(url: string): number {
  return url.length - new URL(url).origin.length;
}

/**
 * Refuses a request whose target is too long; a place to go on from and a range of locations may
 * still be added to one that passes.
 *
 * @throws {RangeError} If it is; the message says what to do
 */
export function requireShortTarget(url: string): void {
  const length = targetLength(url);
  if (length <= LONGEST_TARGET) return;
  throw new RangeError(
    `Cannot send a request of ${length} bytes: wanted at most ${LONGEST_TARGET}; split a long list ` +
      `of the filter over several queries, or select fewer fields`,
  );
}
