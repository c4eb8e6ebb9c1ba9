import { DataStreamError } from "../errors.ts";
import type { SystemQueryOptions } from "../odata/query_options.ts";
import { letGo } from "../output/let_go.ts";
import { PageFault, type PageWriter } from "../output/page_writer.ts";
import { broken, isObject, readJson, requireJson } from "./json_body.ts";
import { readSkipToken } from "./next_link.ts";
import { type Answer, FailedAttempt } from "./transport.ts";

/** One page: what it holds, and where the next one begins. */
export interface Page<T> {
  content: T;
  /** How many rows are in it. */
  rows: number;
  /** The `$skiptoken` of the next page; undefined on the last one. */
  skipToken: string | undefined;
}

/** Reads an answer as a page, whole or not at all, and takes so many of its rows at most. */
export type PageReader<T> = (answer: Answer, most: number) => {
  content: T;
  rows: number;
  /** What the page holds beside its rows. */
  envelope: Record<string, unknown>;
};

/** Reads a page as rows. */
export function readRows<R>(answer: Answer, most: number): ReturnType<PageReader<R[]>> {
  const body = readJson(answer);
  if (!isObject(body) || !Array.isArray(body.value) || !body.value.every(isObject)) {
    throw broken(answer, 'no list of rows under "value"');
  }
  const { value, ...envelope } = body;
  const content = (value.length > most ? value.slice(0, most) : value) as R[];
  return { content, rows: content.length, envelope };
}

/** Reads a page as the bytes that a writer makes of it. */
export function readBytes(writer: PageWriter): PageReader<Uint8Array<ArrayBuffer>> {
  return (answer, most) => {
    requireJson(answer);
    try {
      const { bytes, rows, envelope } = writer.write(answer.bytes, most);
      letGo(answer.bytes);
      return { content: bytes, rows, envelope };
    } catch (error) {
      if (!(error instanceof PageFault)) throw error;
      const { came, hint } = error;
      if (hint === undefined) throw broken(answer, came);
      const fault = new DataStreamError(came, { kind: "page", url: answer.url, hint });
      throw new FailedAttempt(fault, true);
    }
  };
}

/**
 * Reads an answer as a page, and where the next one begins.
 *
 * Source: water-quality-api, Paging.
 *
 * @param answer A whole answer
 * @param sent What was asked
 * @param followed Skip tokens of the pages before, as far as they have no order of their own
 * @throws {DataStreamError} If the answer is not a page of the service, or its next link leads elsewhere
 */
export function readPage<T>(
  answer: Answer,
  read: PageReader<T>,
  most: number,
  sent: SystemQueryOptions,
  followed: ReadonlySet<string>,
): Page<T> {
  const { content, rows, envelope } = read(answer, most);
  return { content, rows, skipToken: readSkipToken(envelope, answer, sent, followed) };
}
