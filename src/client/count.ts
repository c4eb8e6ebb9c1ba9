import { broken, isObject, readJson } from "./json_body.ts";
import type { Answer } from "./transport.ts";

/**
 * Reads the answer to `$count=true`: a number or a string of digits, under `value` or the count
 * member of OData JSON, with its `@` or without.
 *
 * Source: the service's public documentation and its OpenAPI file.
 *
 * @throws {DataStreamError} If there is no count in it
 */
export function readCount(answer: Answer): number {
  const body = readJson(answer);
  if (isObject(body) && (body.error ?? undefined) !== undefined) {
    throw broken(answer, "an error", "a count");
  }
  const members = isObject(body) ? [body["@odata.count"], body["odata.count"], body.value] : [body];
  for (const member of members) {
    const count = typeof member === "string" && /^\d+$/.test(member) ? Number(member) : member;
    if (typeof count === "number" && Number.isSafeInteger(count) && count >= 0) return count;
  }
  throw broken(answer, "no number of rows", "a count");
}
