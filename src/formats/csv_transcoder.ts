import { beginsFormula, toQuotedCell, writeEscapedText } from "./csv_cells.ts";
import type { CsvFormat } from "./csv_options.ts";
import { findRows, passRows, QUOTE, readEnvelope } from "./json_scanner.ts";
import { cutOff, letGo, type RowId, type WrittenPage } from "./page_writer.ts";
import { parseSource } from "./raw_json.ts";
import {
  allIds,
  AS_IT_IS,
  type Cells,
  EMPTY,
  ESCAPED_TEXT,
  ID,
  NESTED,
  QUOTED_TEXT,
  readRowId,
  RowReader,
} from "./row_reader.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What the page is made into. */
interface CsvTarget {
  /** The columns in order, as fields. */
  fields: readonly string[];
  /** Whether a field that is not among them must not be left out. */
  isOpen: boolean;
  /** What stands before the first line. */
  before: Uint8Array;
  format: CsvFormat;
}

/** A page as lines of CSV. */
export interface CsvPage extends WrittenPage {
  /**
   * Fields of the rows that are not columns, in order of appearance, if the target is open. Where
   * there are any, the lines are incomplete: write the page again with more columns.
   */
  newFields: readonly string[];
}

/**
 * Maximum number of columns. A wider page is parsed before any line is written: n columns and n
 * empty rows give lines of n² bytes, and a truncated page must not cost that before it is rejected.
 */
const MOST_COLUMNS = 1_000;

/**
 * Makes a page of JSON into lines of CSV, from bytes to bytes: neither rows nor strings are made.
 *
 * Each row is held against the layout of those before it, byte by byte; one that is laid out
 * otherwise is read member by member.
 *
 * @returns The lines, or undefined if the page has to be parsed: it has more than `MOST_COLUMNS`
 *   columns, a second list of rows or a deeply nested value, or it is malformed
 */
export function csvOfBytes(
  page: Uint8Array,
  { fields, isOpen, before, format }: CsvTarget,
): CsvPage | undefined {
  const start = fields.length > MOST_COLUMNS ? -1 : findRows(page);
  if (start < 0) return undefined;
  const { separator, escapeFormulas } = format;
  const mark = separator.charCodeAt(0);
  // Id is read for the checks of pages also if it is not a column, unless unknown fields become columns.
  const hasId = isOpen || fields.includes(ID);
  const names = hasId ? fields : [...fields, ID];
  const idColumn = names.indexOf(ID);
  const ids: (RowId | undefined)[] = [];
  const reader = new RowReader(page, mark, names);
  const nestedCell = (json: Uint8Array) =>
    encoder.encode(toQuotedCell(parseSource(decoder.decode(json)), format));
  const writer = new LineWriter(page, mark, escapeFormulas, fields.length, nestedCell, before);
  const offsets: number[] = [];
  const close = passRows(page, start, (at) => {
    const end = reader.read(at, isOpen);
    if (end < 0) return end;
    ids.push(idColumn < 0 ? undefined : readRowId(page, reader.cells, idColumn));
    offsets.push(at);
    if (reader.newFields.size === 0) writer.write(reader.cells, end - at);
    return end;
  });
  const envelope = close < 0 ? undefined : readEnvelope(page, start, close);
  if (envelope === undefined) return undefined;
  const newFields = [...reader.newFields];
  return { bytes: writer.end(), rows: ids.length, ids: allIds(ids), offsets, envelope, newFields };
}

const APOSTROPHE = 0x27;
/** From so many bytes on, a copy by the engine is faster than one by hand. */
const LONG = 48;

/** Writes lines of CSV in bytes, out of what a reader has found in a row. */
class LineWriter {
  #out: Uint8Array<ArrayBuffer>;
  #to: number;

  /**
   * @param page The page that the rows stand in
   * @param separator The byte between two cells
   * @param escapeFormulas Whether a text that looks like a formula gets an apostrophe in front
   * @param columns How many cells a line has
   * @param nestedCell The cell of a value that holds others
   * @param before What stands before the first line
   */
  constructor(
    readonly page: Uint8Array,
    readonly separator: number,
    readonly escapeFormulas: boolean,
    readonly columns: number,
    readonly nestedCell: (json: Uint8Array) => Uint8Array,
    before: Uint8Array,
  ) {
    // A file of CSV is smaller than its JSON; memory that is not written to costs nothing.
    this.#out = new Uint8Array(page.length + before.length);
    this.#out.set(before);
    this.#to = before.length;
  }

  /**
   * Writes a line.
   *
   * @param length The bytes of the row in JSON
   */
  write({ starts, ends, needs }: Cells, length: number): void {
    const { page, separator, escapeFormulas } = this;
    const cells = this.columns;
    // A cell is no longer than its JSON, but for an apostrophe, its separator and the line end.
    let out = this.#withRoom(length + 2 * cells + 4);
    let to = this.#to;
    const start = to;
    for (let cell = 0; cell < cells; cell++) {
      if (cell > 0) out[to++] = separator;
      const need = needs[cell]!;
      if (need === EMPTY) continue;
      let from = starts[cell]!;
      const end = ends[cell]!;
      if (need === NESTED) {
        const nested = this.nestedCell(page.subarray(from, end));
        this.#to = to;
        out = this.#withRoom(nested.length + length + 2 * cells + 4);
        out.set(nested, to);
        to += nested.length;
        continue;
      }
      if (need === ESCAPED_TEXT) {
        to = writeEscapedText(page, from, end, out, to, separator, escapeFormulas);
        continue;
      }
      if (need === QUOTED_TEXT) out[to++] = QUOTE;
      if (escapeFormulas && need !== AS_IT_IS && beginsFormula(page[from]!)) {
        out[to++] = APOSTROPHE;
      }
      if (end - from > LONG) {
        out.set(page.subarray(from, end), to);
        to += end - from;
      } else {
        while (from < end) out[to++] = page[from++]!;
      }
      if (need === QUOTED_TEXT) out[to++] = QUOTE;
    }
    if (cells === 1 && to === start) {
      // A blank line is skipped by many readers: the row would be lost.
      out[to++] = QUOTE;
      out[to++] = QUOTE;
    }
    out[to++] = 0x0d;
    out[to++] = 0x0a;
    this.#to = to;
  }

  /** The bytes that were written; nothing more can be. */
  end(): Uint8Array<ArrayBuffer> {
    return cutOff(this.#out, this.#to);
  }

  #withRoom(bytes: number): Uint8Array<ArrayBuffer> {
    const needed = this.#to + bytes;
    if (needed > this.#out.length) {
      const larger = new Uint8Array(2 * needed);
      larger.set(this.#out.subarray(0, this.#to));
      letGo(this.#out);
      this.#out = larger;
    }
    return this.#out;
  }
}
