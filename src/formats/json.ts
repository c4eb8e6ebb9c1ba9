import { type ByteBuffer, type Bytes, concatBytes, utf8Decoder, utf8Encoder } from "../bytes.ts";
import {
  BACKSLASH,
  CLOSE_OBJECT,
  COMMA,
  LINE_FEED,
  OPEN_OBJECT,
  parseBytes,
  QUOTE,
  skipColon,
  skipString,
  skipValue,
  skipWhiteSpace,
  SPACE,
} from "./json_scanner.ts";
import { type Cells, EMPTY, ID_FIELD, quoteLength } from "./row_reader.ts";
import { type RowRules, TIDY_COLUMNS } from "./tidy.ts";
import { type PageTranscoder, PageWriter, writePage, type WriterState } from "./page_writer.ts";

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
  return writePage(createNdjsonWriter(), page);
}

export function createNdjsonWriter(state?: WriterState, rules?: RowRules): JsonDocumentWriter {
  const parts = { head: "", tail: "", isList: false };
  // NDJSON has no head, so it counts as begun.
  return new JsonDocumentWriter(parts, state ?? { isBegun: true }, rules);
}

export function createJsonWriter(state?: WriterState, rules?: RowRules): JsonDocumentWriter {
  return new JsonDocumentWriter({ head: '{"value":[', tail: "]}\n", isList: true }, state, rules);
}

export interface JsonDocumentParts {
  head: string;
  /** Whether rows have commas between them; otherwise, each row is a line. */
  isList: boolean;
  tail: string;
  /** Fields that `writeItem` reads; they are the first columns of the row reader. Default: none. */
  fields?: readonly string[];
  writeItem?: (source: PageTranscoder, at: number, end: number) => void;
}

export class JsonDocumentWriter extends PageWriter {
  override state: WriterState;
  override readonly fields: readonly string[];
  readonly #parts: JsonDocumentParts;

  constructor(
    parts: JsonDocumentParts,
    state: WriterState = { isBegun: false, hasRows: false },
    rules?: RowRules,
  ) {
    super();
    this.rules = rules;
    this.#parts = parts;
    this.fields = parts.fields ?? [];
    this.state = state;
  }

  writeRow(source: PageTranscoder, at: number, end: number): undefined {
    const { isList, writeItem = writeObject } = this.#parts;
    const { output } = source;
    if (isList && (this.state.hasRows || output.length > 0)) {
      output.reserve(1)[output.length++] = COMMA;
    }
    writeItem(source, at, end);
    if (source.rules?.isTidy) addTidyMembers(source.rules, output);
    if (!isList) output.reserve(1)[output.length++] = LINE_FEED;
  }

  append(items: Bytes, count: number): Bytes {
    const { isBegun, hasRows } = this.state;
    // NDJSON has no head and no separators, so its state never changes.
    if (this.#parts.isList) {
      this.state = { ...this.state, isBegun: true, hasRows: hasRows || count > 0 };
    }
    return concatBytes([utf8Encoder.encode(isBegun ? "" : this.#parts.head), items]);
  }

  end(): Bytes {
    const { isBegun } = this.state;
    this.state = { ...this.state, isBegun: true };
    return utf8Encoder.encode(`${isBegun ? "" : this.#parts.head}${this.#parts.tail}`);
  }
}

export function writeObject(source: PageTranscoder, at: number, end: number): void {
  const { omitted, window: { bytes }, reader: { idMemberStart, idMemberEnd } } = source;
  if (omitted.length > 1 || omitted.length === 1 && omitted[0] !== ID_FIELD) {
    return copyMembers(source, at, omitted);
  }
  if (omitted.length > 0 && idMemberEnd > 0) {
    // The first member is after the brace, any other one after a comma.
    const isFirst = bytes[idMemberStart] === OPEN_OBJECT;
    copy(source, at, isFirst ? idMemberStart + 1 : idMemberStart);
    at = isFirst ? skipWhiteSpace(bytes, idMemberEnd) : idMemberEnd;
    if (isFirst && bytes[at] === COMMA) at++;
  }
  copy(source, at, end);
}

const TIDY_NAMES = /* @__PURE__ */ TIDY_COLUMNS.map((name) => utf8Encoder.encode(`,"${name}":`));

const NULL_BYTES = /* @__PURE__ */ utf8Encoder.encode("null");

function addTidyMembers({ bytes, starts, ends, kinds }: Cells, output: ByteBuffer): void {
  output.length--;
  const isEmpty = output.bytes[output.length - 1] === OPEN_OBJECT;
  for (const [column, name] of TIDY_NAMES.entries()) {
    output.append(column === 0 && isEmpty ? name.subarray(1) : name);
    const quote = quoteLength(kinds[column]);
    output.append(
      kinds[column] === EMPTY
        ? NULL_BYTES
        : bytes.subarray(starts[column]! - quote, ends[column]! + quote),
    );
  }
  output.reserve(1)[output.length++] = CLOSE_OBJECT;
}

function copyMembers(source: PageTranscoder, start: number, omitted: readonly string[]): void {
  const { window: { bytes }, output } = source;
  output.reserve(1)[output.length++] = OPEN_OBJECT;
  let isFirst = true;
  for (let at = skipWhiteSpace(bytes, start + 1); bytes[at] !== CLOSE_OBJECT;) {
    const nameEnd = skipString(bytes, at);
    const end = skipValue(bytes, skipColon(bytes, nameEnd));
    if (!omitted.includes(parseBytes(bytes, at, nameEnd) as string)) {
      if (!isFirst) output.reserve(1)[output.length++] = COMMA;
      copy(source, at, end);
      isFirst = false;
    }
    at = skipWhiteSpace(bytes, end);
    if (bytes[at] === COMMA) at = skipWhiteSpace(bytes, at + 1);
  }
  output.reserve(1)[output.length++] = CLOSE_OBJECT;
}

function copy({ window, reader, output }: PageTranscoder, start: number, end: number): void {
  const part = window.bytes.subarray(start, end);
  if (reader.isCompact) output.append(part);
  else output.length = copyTokens(part, output.reserve(part.length), output.length);
}

export function minify(json: Uint8Array): string {
  const out = new Uint8Array(json.length);
  return utf8Decoder.decode(out.subarray(0, copyTokens(json, out, 0)));
}

/** Copies well-formed JSON without white space between tokens. Returns the offset after it. */
function copyTokens(json: Uint8Array, out: Uint8Array, outOffset: number): number {
  // V8 loads an exported constant at each use; with local copies, this loop takes 3/4 of the time.
  const [quote, backslash, space] = [QUOTE, BACKSLASH, SPACE];
  let isInString = false;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]!;
    // Outside strings, all bytes up to the space are white space (RFC 8259, section 2).
    if (!isInString && byte <= space) continue;
    out[outOffset++] = byte;
    if (byte === quote) isInString = !isInString;
    else if (byte === backslash) out[outOffset++] = json[++at]!;
  }
  return outOffset;
}
