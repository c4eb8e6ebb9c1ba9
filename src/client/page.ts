import type { SystemQueryOptions } from "../odata/query_options.ts";
import { broken, isObject, readJson } from "./json_body.ts";
import { readSkipToken } from "./next_link.ts";
import type { Answer } from "./transport.ts";

/** One page: its rows, and where the next one begins. */
export interface Page<R> {
  rows: R[];
  /** The `$skiptoken` of the next page; undefined on the last one. */
  skipToken: string | undefined;
}

/**
 * Reads an answer as a page, whole or not at all.
 *
 * Source: water-quality-api, Paging.
 *
 * @param answer A whole answer
 * @param sent What was asked
 * @param followed Skip tokens of the pages before, as far as they have no order of their own
 * @throws {DataStreamError} If the answer is not a page of the service, or its next link leads elsewhere
 */
export function readPage<R>(
  answer: Answer,
  sent: SystemQueryOptions,
  followed: ReadonlySet<string>,
): Page<R> {
  const body = readJson(answer);
  if (!isObject(body) || !Array.isArray(body.value) || !body.value.every(isObject)) {
    throw broken(answer, 'no list of rows under "value"');
  }
  return { rows: body.value as R[], skipToken: readSkipToken(body, answer, sent, followed) };
}
