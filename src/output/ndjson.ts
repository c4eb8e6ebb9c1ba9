import { compactRows } from "./compact_rows.ts";
import type { PageWriter, WriterState, WrittenPage } from "./page_writer.ts";

const LINE_FEED = 0x0a;

/** Writes pages as lines of JSON, one a row, as the service sent them but for white space between tokens. */
export class NdjsonWriter implements PageWriter {
  state: WriterState = { isBegun: true };

  write(page: Uint8Array, hidesId?: boolean): WrittenPage {
    return compactRows(page, LINE_FEED, hidesId);
  }

  end(): Uint8Array<ArrayBuffer> {
    return new Uint8Array();
  }
}

/**
 * Makes one page of the service into lines of JSON, one a row: for those who have pages already.
 *
 * @param page The bytes of a page: an object of JSON with its rows under `value`
 * @returns The lines, each row as its bytes came but for white space between its tokens, so that
 *   numbers keep their digits
 * @throws {SyntaxError} If the bytes are no page; none of its rows are given then
 *
 * @example
 * ```ts
 * import { ndjsonFromPage } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * const page = new TextEncoder().encode('{"value":[{"Id": 7},\n{"Id": 8}]}');
 * assertEquals(new TextDecoder().decode(ndjsonFromPage(page)), '{"Id":7}\n{"Id":8}\n');
 * ```
 */
export function ndjsonFromPage(page: Uint8Array): Uint8Array<ArrayBuffer> {
  return new NdjsonWriter().write(page).bytes;
}
