import { type Bytes, utf8Encoder } from "../bytes.ts";
import { COMMA, LINE_FEED } from "./json_scanner.ts";
import { MinifiedRowWriter } from "./minify.ts";
import {
  PageTranscoder,
  type RowFormat,
  type RowSource,
  type RowWriter,
} from "./page_transcoder.ts";
import {
  type ArrivingPage,
  concatBytes,
  type PageOptions,
  type PageWriter,
  requirePage,
  type WriterState,
  writeWholePage,
  type WrittenPage,
} from "./page_writer.ts";

/**
 * Converts one page of the service to NDJSON, for callers that request pages themselves.
 *
 * @param page Bytes of a page: a JSON object with its rows under `value`
 * @returns One line per row: the bytes of the row without white space between tokens, so 7.10 stays 7.10
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
  return createNdjsonWriter().write(page).bytes;
}

/** Creates a writer of NDJSON: one line per row. */
export function createNdjsonWriter(): PageWriter {
  const write = (source: RowSource) => new MinifiedRowWriter(source, LINE_FEED);
  // NDJSON has no head, so it counts as begun.
  return new JsonDocumentWriter({ head: "", separator: "", tail: "", write }, { isBegun: true });
}

/**
 * Creates a writer of one JSON object with the rows of all pages under `value`.
 *
 * @param state State of an earlier writer, to continue its document
 */
export function createJsonWriter(state?: WriterState): PageWriter {
  const write = (source: RowSource) => new MinifiedRowWriter(source, COMMA);
  return new JsonDocumentWriter({ head: '{"value":[', separator: ",", tail: "]}\n", write }, state);
}

/** The parts of a document that contains the rows of all pages in one list. */
export interface JsonDocumentParts {
  /** Text before the first item of the list. */
  head: string;
  /** Text between two items. */
  separator: string;
  /** Text after the last item. */
  tail: string;
  /** Creates the writer of the rows of a page. It writes the separator, or else a line feed, after each item. */
  write: (source: RowSource) => RowWriter;
}

/** Writes the rows of all pages as one list. */
export class JsonDocumentWriter implements PageWriter, RowFormat {
  state: WriterState;
  readonly fields: readonly string[] = [];
  readonly addsColumns = false;
  readonly separator = 0;
  readonly #parts: JsonDocumentParts;

  /** @param state State of an earlier writer, to continue its document */
  constructor(parts: JsonDocumentParts, state: WriterState = { isBegun: false, hasRows: false }) {
    this.#parts = parts;
    this.state = state;
  }

  openPage(options?: PageOptions): ArrivingPage {
    return new PageTranscoder(this, options);
  }

  write(page: Uint8Array, dropsId = false): WrittenPage {
    return writeWholePage(this, page, { dropsId });
  }

  createRowWriter(source: RowSource): RowWriter {
    return this.#parts.write(source);
  }

  append(items: Bytes, count: number): Bytes {
    const { isBegun, hasRows = false } = this.state;
    const { head, separator } = this.#parts;
    const start = !isBegun ? head : hasRows && count > 0 ? separator : "";
    // Drop the separator after the last item. The next call writes it before its items.
    const end = Math.max(0, items.length - separator.length);
    // NDJSON has no separator, so its state never changes.
    if (separator !== "") this.state = { isBegun: true, hasRows: hasRows || count > 0 };
    return concatBytes([utf8Encoder.encode(start), items.subarray(0, end)]);
  }

  end(): Bytes {
    const { isBegun } = this.state;
    this.state = { ...this.state, isBegun: true };
    return utf8Encoder.encode(`${isBegun ? "" : this.#parts.head}${this.#parts.tail}`);
  }
}
