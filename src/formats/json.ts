import { COMMA } from "./json_scanner.ts";
import { compactRows } from "./minify.ts";
import type { PageWriter, WriterState, WrittenPage } from "./page_writer.ts";

/**
 * Writes all pages as one document of JSON, its rows under `value`, as the service has them.
 *
 * @param from The state of the writer to go on from
 */
export function jsonWriter(from?: WriterState): PageWriter {
  return new JsonDocumentWriter(
    '{"value":[',
    "]}\n",
    (page, hidesId) => compactRows(page, COMMA, hidesId),
    from,
  );
}

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

const SEPARATOR = ",";

/**
 * Writes lists of JSON values, page by page, as one document: what stands before and after them is
 * the document's own.
 */
export class JsonDocumentWriter implements PageWriter {
  readonly #encoder = new TextEncoder();
  readonly #before: string;
  readonly #after: string;
  readonly #values: PageWriter["write"];
  #hasRows = false;
  #isBegun = false;

  /**
   * @param before What stands before the first value
   * @param after What stands after the last
   * @param values The values of a page, a comma after each
   * @param from The state of the writer to go on from
   */
  constructor(
    before: string,
    after: string,
    values: PageWriter["write"],
    from?: WriterState,
  ) {
    this.#before = before;
    this.#after = after;
    this.#values = values;
    this.state = from ?? { isBegun: false };
  }

  get state(): WriterState {
    return { isBegun: this.#isBegun, hasRows: this.#hasRows };
  }

  set state({ isBegun, hasRows = false }: WriterState) {
    this.#isBegun = isBegun;
    this.#hasRows = hasRows;
  }

  write(page: Uint8Array, hidesId?: boolean): WrittenPage {
    const { bytes, rows, ...others } = this.#values(page, hidesId);
    const head = this.#head(rows);
    const whole = new Uint8Array(head.length + Math.max(0, bytes.length - SEPARATOR.length));
    whole.set(head);
    whole.set(bytes.subarray(0, whole.length - head.length), head.length);
    this.#isBegun = true;
    this.#hasRows ||= rows > 0;
    return { bytes: whole, rows, ...others };
  }

  end(): Uint8Array<ArrayBuffer> {
    const head = this.#isBegun ? "" : this.#before;
    this.#isBegun = true;
    return this.#encoder.encode(head + this.#after);
  }

  #head(rows: number): Uint8Array {
    const joint = this.#hasRows && rows > 0 ? SEPARATOR : "";
    return this.#encoder.encode(this.#isBegun ? joint : this.#before);
  }
}
