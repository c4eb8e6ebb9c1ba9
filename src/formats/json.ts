import { COMMA, LINE_FEED } from "./json_scanner.ts";
import { minifyRows } from "./minify.ts";
import { concatBytes, type PageWriter, type WriterState, type WrittenPage } from "./page_writer.ts";

/**
 * Converts one page of the service to NDJSON, for callers that request pages themselves.
 *
 * @param page Bytes of a page: a JSON object with its rows under `value`
 * @returns One line per row, with the bytes of the row without the white space between tokens.
 *   Numbers therefore keep their digits
 * @throws {SyntaxError} If the bytes are not a page
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
  return minifyRows(page, LINE_FEED).bytes;
}

/** Creates a writer of NDJSON: one line per row. */
export function createNdjsonWriter(): PageWriter {
  return {
    state: { isBegun: true },
    write: (page, omitsId) => minifyRows(page, LINE_FEED, omitsId),
    end: () => new Uint8Array(),
  };
}

/**
 * Creates a writer of one JSON object with the rows of all pages under `value`.
 *
 * @param state State to continue from
 */
export function createJsonWriter(state?: WriterState): PageWriter {
  return new JsonListWriter({
    head: '{"value":[',
    tail: "]}\n",
    writeItems: (page, omitsId) => minifyRows(page, COMMA, omitsId),
  }, state);
}

/** The parts of a JSON document that contains one list. */
export interface JsonList {
  /** Text before the first item. */
  head: string;
  /** Text after the last item. */
  tail: string;
  /** Writes the items of a page, each followed by a comma. */
  writeItems: PageWriter["write"];
}

/** Writes the items of all pages as the list of one JSON document. */
export class JsonListWriter implements PageWriter {
  readonly #encoder = new TextEncoder();
  readonly #list: JsonList;
  #isBegun = false;
  #hasRows = false;

  /** @param state State to continue from */
  constructor(list: JsonList, state?: WriterState) {
    this.#list = list;
    if (state !== undefined) this.state = state;
  }

  get state(): WriterState {
    return { isBegun: this.#isBegun, hasRows: this.#hasRows };
  }

  set state({ isBegun, hasRows = false }: WriterState) {
    this.#isBegun = isBegun;
    this.#hasRows = hasRows;
  }

  write(page: Uint8Array, omitsId?: boolean): WrittenPage {
    const { bytes, rows, ...others } = this.#list.writeItems(page, omitsId);
    const comma = this.#hasRows && rows > 0 ? "," : "";
    const start = this.#encoder.encode(this.#isBegun ? comma : this.#list.head);
    // Without the comma after the last item: the next page may be empty, or the last.
    const items = bytes.subarray(0, Math.max(0, bytes.length - 1));
    this.#isBegun = true;
    this.#hasRows ||= rows > 0;
    return { bytes: concatBytes(start, items), rows, ...others };
  }

  end(): Uint8Array<ArrayBuffer> {
    const head = this.#isBegun ? "" : this.#list.head;
    this.#isBegun = true;
    return this.#encoder.encode(head + this.#list.tail);
  }
}
