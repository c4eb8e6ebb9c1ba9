import type { PageWriter, WriterState, WrittenPage } from "./page_writer.ts";

const COMMA = ",";

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
    const whole = new Uint8Array(head.length + Math.max(0, bytes.length - COMMA.length));
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
    const joint = this.#hasRows && rows > 0 ? COMMA : "";
    return this.#encoder.encode(this.#isBegun ? joint : this.#before);
  }
}
