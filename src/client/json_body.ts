import { DataStreamError } from "../errors.ts";
import { isJson, type ServiceResponse } from "./transport.ts";

/**
 * Refuses an answer of another type.
 *
 * @throws {DataStreamError} If it does not say that it is JSON
 */
export function requireJson(answer: ServiceResponse): void {
  const { headers } = answer;
  if (!isJson(headers)) throw broken(answer, headers.get("content-type") ?? "no content type");
}

/**
 * The JSON of an answer, whole or not at all.
 *
 * @throws {DataStreamError} If the answer is of another type, or broken
 */
export function readJson(answer: ServiceResponse): unknown {
  requireJson(answer);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(answer.bytes));
  } catch {
    // The parser's own message shows the text, whatever is in it.
    throw broken(answer, "broken JSON");
  }
}

/** The error for an answer that is not what the service gives there. */
export function broken(
  { url }: ServiceResponse,
  came: string,
  wanted = "a page of JSON",
  hint = "check the base URL, then try again",
): DataStreamError {
  const detail = `Wanted ${wanted} from ${new URL(url).pathname}, got ${came}`;
  return new DataStreamError(detail, { kind: "page", url, hint });
}

/** Whether JSON is an object, and no list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Reads the answer to `$count=true`: a number or a string of digits, under `value` or the count
 * member of OData JSON, with its `@` or without.
 *
 * Source: the service's public documentation and its OpenAPI file.
 *
 * @throws {DataStreamError} If there is no count in it
 */
export function readCount(answer: ServiceResponse): number {
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
