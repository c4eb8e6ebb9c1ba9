import type { CsvFormat } from "./csv_options.ts";
import { findRows, readEnvelope } from "./envelope.ts";
import { CLOSE_LIST, COMMA, passSpace } from "./json_bytes.ts";
import { LineWriter } from "./line_writer.ts";
import type { WrittenPage } from "./page_writer.ts";
import { RowReader } from "./row_reader.ts";

/** What the page is made into. */
export interface CsvTarget {
  /** The columns in order, as fields. */
  fields: readonly string[];
  /** Whether a field that is not among them must not be left out. */
  isOpen: boolean;
  /** What stands before the first line. */
  before: Uint8Array;
  format: CsvFormat;
}

/**
 * Makes a page of JSON into lines of CSV, from bytes to bytes: neither rows nor strings are made.
 *
 * Each row is held against the layout of the one before it, byte by byte, and the layout is learnt
 * anew where it differs.
 *
 * @param most The most rows to write; the others are read all the same
 * @returns The lines; undefined where the page holds what only the general way knows: a value that
 *   holds others, a new field, no well-formed JSON
 */
export function csvOfBytes(
  page: Uint8Array,
  { fields, isOpen, before, format: { separator, escapeFormulas } }: CsvTarget,
  most: number,
): WrittenPage | undefined {
  const start = findRows(page);
  if (start < 0) return undefined;
  const mark = separator.charCodeAt(0);
  const reader = new RowReader(page, mark);
  const writer = new LineWriter(page, mark, escapeFormulas, before);
  /** Which value of a row each column has; -1 for none. */
  const valueOf = new Int32Array(fields.length);

  const learn = (at: number): boolean => {
    const names = reader.learn(at);
    if (names === undefined) return false;
    if (isOpen && names.some((name) => !fields.includes(name))) return false;
    for (const [column, field] of fields.entries()) valueOf[column] = names.indexOf(field);
    return true;
  };

  let rows = 0;
  let at = passSpace(page, start);
  if (page[at] !== CLOSE_LIST) {
    for (;;) {
      let end = reader.read(at);
      if (end < 0 && learn(at)) end = reader.read(at);
      if (end < 0) return undefined;
      if (rows < most) {
        writer.write(reader, valueOf, end - at);
        rows++;
      }
      at = passSpace(page, end);
      if (page[at] !== COMMA) break;
      at = passSpace(page, at + 1);
    }
    if (page[at] !== CLOSE_LIST) return undefined;
  }
  const envelope = readEnvelope(page, start, at);
  return envelope && { bytes: writer.bytes(), rows, envelope };
}
