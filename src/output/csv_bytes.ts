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
