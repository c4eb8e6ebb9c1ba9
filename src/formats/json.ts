import { utf8Encoder } from "../bytes.ts";
import { COMMA, LINE_FEED } from "./json_scanner.ts";
import { minifyRows } from "./minify.ts";
import {
  concatBytes,
  type PageWriter,
  requirePage,
  type WriterState,
  type WrittenPage,
} from "./page_writer.ts";

/**
 * Converts one page of the service to NDJSON, for callers that request pages themselves.
 *
 * @param page Bytes of a page: a JSON object with its rows under `value`
 * @returns One line per row. Each line is the row's own bytes minus white space, so 7.10 stays 7.10
 * @throws {SyntaxError} If the bytes are not a page
 * @throws {ValidationError} If the page is not a `Uint8Array`
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
  requirePage(page);
  return minifyRows(page, LINE_FEED).bytes;
}

/** Creates a writer of NDJSON: one line per row. */
export function createNdjsonWriter(): PageWriter {
  return {
    // NDJSON has no head, so it counts as begun.
    state: { isBegun: true },
    write: (page, dropsId) => minifyRows(page, LINE_FEED, dropsId),
    end: () => new Uint8Array(),
  };
}

/**
 * Creates a writer of one JSON object with the rows of all pages under `value`.
 *
 * @param state State of an earlier writer, to continue its document
 */
export function createJsonWriter(state?: WriterState): PageWriter {
  return new JsonDocumentWriter({
    head: '{"value":[',
    tail: "]}\n",
    writeItems: (page, dropsId) => minifyRows(page, COMMA, dropsId),
  }, state);
}

/** The parts of a JSON document that contains the rows of all pages in one array. */
export interface JsonDocumentParts {
  /** JSON before the first item of the array. */
  head: string;
  /** JSON after the last item. */
  tail: string;
  /** Writes the items of a page, each followed by a comma. */
  writeItems: PageWriter["write"];
}

/** Writes the rows of all pages as the array of one JSON document. */
export class JsonDocumentWriter implements PageWriter {
  state: WriterState;
  readonly #parts: JsonDocumentParts;

  /** @param state State of an earlier writer, to continue its document */
  constructor(parts: JsonDocumentParts, state: WriterState = { isBegun: false, hasRows: false }) {
    this.#parts = parts;
    this.state = state;
  }

  write(page: Uint8Array, dropsId?: boolean): WrittenPage {
    const { isBegun, hasRows = false } = this.state;
    const { bytes, rows, ...others } = this.#parts.writeItems(page, dropsId);
    const comma = hasRows && rows > 0 ? "," : "";
    const start = utf8Encoder.encode(isBegun ? comma : this.#parts.head);
    // Drop the last comma; the next page with rows writes it first.
    const items = bytes.subarray(0, Math.max(0, bytes.length - 1));
    this.state = { isBegun: true, hasRows: hasRows || rows > 0 };
    return { bytes: concatBytes([start, items]), rows, ...others };
  }

  end(): Uint8Array<ArrayBuffer> {
    const { isBegun } = this.state;
    this.state = { ...this.state, isBegun: true };
    return utf8Encoder.encode(`${isBegun ? "" : this.#parts.head}${this.#parts.tail}`);
  }
}
