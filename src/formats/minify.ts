import { utf8Encoder } from "../bytes.ts";
import { BACKSLASH, COMMA, OPEN_OBJECT, QUOTE, skipWhiteSpace, SPACE } from "./json_scanner.ts";
import type { RowSource, RowWriter } from "./page_transcoder.ts";
import { type RawRow, stringifyRow } from "./raw_json.ts";
import { EMPTY, NESTED, type RowValues, SCALAR } from "./row_reader.ts";

/** Minifies the rows of a page: copies their bytes without the white space between tokens. */
export class MinifiedRowWriter implements RowWriter {
  readonly #source: RowSource;
  readonly #terminator: number;

  /** @param terminator Byte to write after each row */
  constructor(source: RowSource, terminator: number) {
    this.#source = source;
    this.#terminator = terminator;
  }

  write(at: number, end: number): boolean {
    const { dropsId, window: { bytes: page }, reader, output, idColumn } = this.#source;
    const copy = reader.isCompact ? copyBytes : copyTokens;
    const out = output.reserve(end - at + 1);
    let outOffset = output.length;
    if (dropsId) {
      const [dropStart, dropEnd] = findIdMember(page, reader.values, idColumn);
      if (dropStart < 0) return false;
      outOffset = copy(page, at, dropStart, out, outOffset);
      outOffset = copy(page, dropEnd, end, out, outOffset);
    } else outOffset = copy(page, at, end, out, outOffset);
    out[outOffset++] = this.#terminator;
    output.length = outOffset;
    return true;
  }

  writeParsed(row: RawRow): void {
    const end = String.fromCharCode(this.#terminator);
    this.#source.output.append(utf8Encoder.encode(stringifyRow(row) + end));
  }
}

/**
 * Finds the member `Id` of a row, with one adjacent comma.
 *
 * @returns Its offsets; -1 if it is missing, or its value is null, an empty string, an array or an object
 */
function findIdMember(
  page: Uint8Array,
  { starts, ends, kinds }: RowValues,
  column: number,
): [start: number, end: number] {
  if (kinds[column] === EMPTY || kinds[column] === NESTED) return [-1, -1];
  const quote = kinds[column] === SCALAR ? 0 : 1;
  const start = findNameBefore(page, starts[column]! - quote);
  const end = ends[column]! + quote;
  const next = skipWhiteSpace(page, end);
  if (page[next] === COMMA) return [start, next + 1];
  let previous = start - 1;
  while (page[previous] !== COMMA && page[previous] !== OPEN_OBJECT) previous--;
  return [page[previous] === COMMA ? previous : start, end];
}

/** Returns the offset of the name of a value: its quotes are the last two before the value. */
function findNameBefore(page: Uint8Array, value: number): number {
  let at = value - 1;
  while (page[at] !== QUOTE) at--;
  do at--; while (page[at] !== QUOTE);
  return at;
}

/** Copies bytes. */
function copyBytes(
  page: Uint8Array,
  start: number,
  end: number,
  out: Uint8Array,
  outOffset: number,
): number {
  out.set(page.subarray(start, end), outOffset);
  return outOffset + end - start;
}

/** Copies well-formed JSON without the white space between its tokens. */
function copyTokens(
  page: Uint8Array,
  start: number,
  end: number,
  out: Uint8Array,
  outOffset: number,
): number {
  // V8 loads an exported constant at each use; with local copies, this loop takes 3/4 of the time.
  const [quote, backslash, space] = [QUOTE, BACKSLASH, SPACE];
  let isInString = false;
  for (let at = start; at < end; at++) {
    const byte = page[at]!;
    // Outside strings, all bytes up to the space are white space (RFC 8259, section 2).
    if (!isInString && byte <= space) continue;
    out[outOffset++] = byte;
    if (byte === quote) isInString = !isInString;
    else if (byte === backslash) out[outOffset++] = page[++at]!;
  }
  return outOffset;
}
