import { toQuotedCell } from "./csv_lines.ts";
import type { CsvFormat } from "./csv_options.ts";
import { findRows, passRows, readEnvelope } from "./envelope.ts";
import { parseSource } from "./json_source.ts";
import { LineWriter } from "./line_writer.ts";
import type { RowId, WrittenPage } from "./page_writer.ts";
import { allIds, ID, readRowId } from "./row_id.ts";
import { RowReader } from "./row_reader.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

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
 * Each row is held against the layout of those before it, byte by byte; one that is laid out
 * otherwise is read member by member.
 *
 * @param most The most rows to write; the others are read all the same
 * @returns The lines; undefined where the page holds what only the general way knows: a new field, a
 *   second list of rows, a value nested very deep, or no well-formed JSON
 */
export function csvOfBytes(
  page: Uint8Array,
  { fields, isOpen, before, format }: CsvTarget,
  most: number,
): WrittenPage | undefined {
  const start = findRows(page);
  if (start < 0) return undefined;
  const { separator, escapeFormulas } = format;
  const mark = separator.charCodeAt(0);
  // Where each column is known, Id is read for the checks of pages also if it is none of them.
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
    const end = reader.read(at, isOpen && offsets.length < most);
    if (end < 0) return end;
    ids.push(idColumn < 0 ? undefined : readRowId(page, reader.cells, idColumn));
    if (offsets.length < most) {
      writer.write(reader.cells, end - at);
      offsets.push(at);
    }
    return end;
  });
  const envelope = close < 0 ? undefined : readEnvelope(page, start, close);
  if (envelope === undefined) return undefined;
  const rows = offsets.length;
  return { bytes: writer.end(), rows, received: ids.length, ids: allIds(ids), offsets, envelope };
}
