import { type Bytes, utf8Decoder, utf8Encoder } from "../bytes.ts";
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
import { ID_FIELD } from "./row_reader.ts";
import {
  concatBytes,
  DocumentWriter,
  type PageTranscoder,
  type PageWriter,
  writePage,
  type WriterState,
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
  return writePage(createNdjsonWriter(), page);
}

/** Creates a writer of NDJSON: one line per row. */
export function createNdjsonWriter(): PageWriter {
  const parts = { head: "", tail: "", isList: false };
  // NDJSON has no head, so it counts as begun.
  return new JsonDocumentWriter(parts, { isBegun: true });
}

/**
 * Creates a writer of one JSON object with the rows of all pages under `value`.
 *
 * @param state State of an earlier writer, to continue its document
 */
export function createJsonWriter(state?: WriterState): PageWriter {
  return new JsonDocumentWriter({ head: '{"value":[', tail: "]}\n", isList: true }, state);
}

/** The parts of a document that contains the rows of all pages in one list. */
export interface JsonDocumentParts {
  /** Text before the first item of the list. */
  head: string;
  /** Whether the rows are a list, with commas between them. Otherwise, each row is a line. */
  isList: boolean;
  /** Text after the last item. */
  tail: string;
  /** Fields whose values `writeItem` needs. Default: none. */
  fields?: readonly string[];
  /** Writes a row, from its start to its end in the window, as an item. Default: as an object. */
  writeItem?: (source: PageTranscoder, at: number, end: number) => void;
}

/** Writes the rows of all pages as one list. */
export class JsonDocumentWriter extends DocumentWriter {
  override state: WriterState;
  override readonly fields: readonly string[];
  readonly #parts: JsonDocumentParts;

  /** @param state State of an earlier writer, to continue its document */
  constructor(parts: JsonDocumentParts, state: WriterState = { isBegun: false, hasRows: false }) {
    super();
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
    if (!isList) output.reserve(1)[output.length++] = LINE_FEED;
  }

  append(items: Bytes, count: number): Bytes {
    const { isBegun, hasRows } = this.state;
    // NDJSON has no head and no separators, so its state never changes.
    if (this.#parts.isList) this.state = { isBegun: true, hasRows: hasRows || count > 0 };
    return concatBytes([utf8Encoder.encode(isBegun ? "" : this.#parts.head), items]);
  }

  end(): Bytes {
    const { isBegun } = this.state;
    this.state = { ...this.state, isBegun: true };
    return utf8Encoder.encode(`${isBegun ? "" : this.#parts.head}${this.#parts.tail}`);
  }
}

/** Writes a row without white space between its tokens. */
export function writeObject(source: PageTranscoder, at: number, end: number): void {
  const { drops, window: { bytes }, reader: { idMemberStart, idMemberEnd } } = source;
  if (drops.length > 1 || drops.length === 1 && drops[0] !== ID_FIELD) {
    return copyMembers(source, at, drops);
  }
  if (drops.length > 0 && idMemberEnd > 0) {
    // The first member is after the brace, any other one after a comma.
    const isFirst = bytes[idMemberStart] === OPEN_OBJECT;
    copy(source, at, isFirst ? idMemberStart + 1 : idMemberStart);
    at = isFirst ? skipWhiteSpace(bytes, idMemberEnd) : idMemberEnd;
    if (isFirst && bytes[at] === COMMA) at++;
  }
  copy(source, at, end);
}

/** Copies a row without some of its members. */
function copyMembers(source: PageTranscoder, start: number, drops: readonly string[]): void {
  const { window: { bytes }, output } = source;
  output.reserve(1)[output.length++] = OPEN_OBJECT;
  let isFirst = true;
  for (let at = skipWhiteSpace(bytes, start + 1); bytes[at] !== CLOSE_OBJECT;) {
    const nameEnd = skipString(bytes, at);
    const end = skipValue(bytes, skipColon(bytes, nameEnd));
    if (!drops.includes(parseBytes(bytes, at, nameEnd) as string)) {
      if (!isFirst) output.reserve(1)[output.length++] = COMMA;
      copy(source, at, end);
      isFirst = false;
    }
    at = skipWhiteSpace(bytes, end);
    if (bytes[at] === COMMA) at = skipWhiteSpace(bytes, at + 1);
  }
  output.reserve(1)[output.length++] = CLOSE_OBJECT;
}

/** Copies a part of a row without white space between its tokens. */
function copy({ window, reader, output }: PageTranscoder, start: number, end: number): void {
  const part = window.bytes.subarray(start, end);
  if (reader.isCompact) output.append(part);
  else output.length = copyTokens(part, output.reserve(part.length), output.length);
}

/** Returns well-formed JSON as text without the white space between its tokens. */
export function minify(json: Uint8Array): string {
  const out = new Uint8Array(json.length);
  return utf8Decoder.decode(out.subarray(0, copyTokens(json, out, 0)));
}

/** Copies well-formed JSON without the white space between its tokens. Returns the offset after it. */
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
