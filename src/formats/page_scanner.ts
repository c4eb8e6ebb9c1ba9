import type { Bytes } from "../bytes.ts";
import { ByteBuffer, type PageWindow } from "./buffers.ts";
import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  MAX_NESTING,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  skipWhiteSpace,
  SPACE,
} from "./json_scanner.ts";
import { NO_ROW_LIST, PageFault } from "./page_writer.ts";
import { brokenJson, membersOf, parseRawJson, stringifyRaw, tooLarge } from "./raw_json.ts";
import { isObject } from "../validation.ts";

/** Receives the rows of a page from a {@linkcode PageScanner}. */
export interface RowHandler {
  /**
   * Reads a row.
   *
   * @param at Offset of its opening brace in the window
   * @returns The offset after the row; -1 if it is incomplete or cannot be read
   */
  readRow(at: number): number;
  /**
   * Reads a complete row that `readRow()` cannot read.
   *
   * @throws {PageFault} If it is malformed
   */
  parseRow(json: Bytes): void;
  /** Forgets all rows, because the page has another member `value`, which replaces the earlier one. */
  forgetRows(): void;
}

/** Maximum number of bytes that are copied to the envelope before they are searched for rows. */
const ENVELOPE_STEP = 512;

/** Token that the scanner expects next in the array of rows. */
type Expected = "row or end" | "row" | "comma or end";

/**
 * Finds the rows of a page while it arrives, in the array that is the member `value` of the outermost
 * object. All other bytes, the envelope, are collected and parsed when the page is complete.
 *
 * Every byte is read a constant number of times, whatever the sizes of the chunks.
 */
export class PageScanner {
  readonly #window: PageWindow;
  readonly #rows: RowHandler;
  /** The bytes of the page outside of the rows. */
  readonly #envelope = new ByteBuffer(2 * ENVELOPE_STEP);
  readonly #position = new EnvelopePosition(this.#envelope);
  readonly #rowEnd = new RowEnd();
  /** Expected token in the array of rows; `undefined` in the envelope. */
  #expected: Expected | undefined;
  /** Whether an item of the last member `value` is not an object. */
  #hasOtherItems = false;

  constructor(window: PageWindow, rows: RowHandler) {
    this.#window = window;
    this.#rows = rows;
  }

  /**
   * Scans the unread bytes of the window, except for a row at their end that is incomplete.
   *
   * @throws {PageFault} If they are malformed
   */
  scan(): void {
    const window = this.#window;
    for (;;) {
      const { start } = window;
      const expected = this.#expected;
      if (expected === undefined) this.#scanEnvelope();
      else this.#scanRows(expected);
      if (window.start === window.end) return;
      if (window.start === start && this.#expected === expected) return;
    }
  }

  /**
   * Parses the members of the complete page other than its rows.
   *
   * @returns The members, and the fault of the page if its member `value` is not a list of rows, or another
   *   member is nested too deep
   * @throws {PageFault} If the page is malformed or incomplete
   */
  end(): { envelope: Record<string, unknown>; fault?: PageFault } {
    if (this.#expected !== undefined) throw brokenJson();
    let text: string;
    let page: unknown;
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(this.#envelope.from(0));
      page = JSON.parse(text);
    } catch (error) {
      // A JSON string or a nesting beyond the limits of the JavaScript engine.
      throw error instanceof RangeError ? tooLarge() : brokenJson();
    }
    if (!isObject(page)) {
      return { envelope: {}, fault: new PageFault(NO_ROW_LIST) };
    }
    const { value, ...envelope } = page;
    // `JSON.parse()` keeps the last of several members `value`. If it is an array, its rows were scanned last.
    if (!Array.isArray(value) || this.#hasOtherItems) {
      return { envelope, fault: new PageFault(NO_ROW_LIST) };
    }
    const fault = findDeepMember(text);
    return fault === undefined ? { envelope } : { envelope, fault };
  }

  #scanEnvelope(): void {
    const { bytes, start, end } = this.#window;
    const at = this.#position.advance(bytes, start, Math.min(end, start + ENVELOPE_STEP));
    this.#window.start = at;
    if (!this.#position.isAtRows) return;
    this.#rows.forgetRows();
    this.#hasOtherItems = false;
    this.#expected = "row or end";
  }

  #scanRows(expected: Expected): void {
    const window = this.#window;
    const { bytes, end } = window;
    let at = window.start;
    // If the last scan ended in an incomplete row, `at` is the offset of its brace, and no white space is skipped.
    for (;;) {
      if (bytes[at]! <= SPACE) at = skipWhiteSpace(bytes, at);
      if (at === end) break;
      const byte = bytes[at];
      if (expected === "comma or end") {
        if (byte === COMMA) {
          expected = "row";
          at++;
          continue;
        }
        if (byte !== CLOSE_ARRAY) throw brokenJson();
        return this.#endRows(at);
      }
      if (byte === CLOSE_ARRAY) {
        if (expected === "row") throw brokenJson();
        return this.#endRows(at);
      }
      if (byte !== OPEN_OBJECT) {
        // Not a row. The rest of the array is parsed with the envelope, because the page may be malformed.
        this.#hasOtherItems = true;
        return this.#endRows(at);
      }
      const rowEnd = this.#readRow(at);
      if (rowEnd < 0) break;
      at = rowEnd;
      expected = "comma or end";
    }
    this.#expected = expected;
    window.start = at;
  }

  /** Continues with the envelope. */
  #endRows(at: number): void {
    this.#expected = undefined;
    this.#window.start = at;
  }

  /** Reads a row. Returns the offset after it; -1 if it is incomplete. */
  #readRow(at: number): number {
    const rowEnd = this.#rowEnd;
    const wasPending = rowEnd.isPending;
    if (!wasPending) {
      const end = this.#rows.readRow(at);
      if (end >= 0) return end;
    }
    const { bytes, end: available } = this.#window;
    const end = rowEnd.find(bytes, at, available);
    if (end < 0) return -1;
    // The row was incomplete in an earlier call, and now is complete.
    if (wasPending && this.#rows.readRow(at) >= 0) return end;
    this.#rows.parseRow(bytes.subarray(at, end));
    return end;
  }
}

/** Position in the envelope of a page: tracks brackets and strings, and detects the start of the rows. */
class EnvelopePosition {
  /** Whether the last byte read is the opening bracket of the rows. */
  isAtRows = false;
  readonly #envelope: ByteBuffer;
  /** Number of open brackets; -1 after the outermost one has been closed. */
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  /** Offset in the envelope of the last string. */
  #stringStart = 0;
  /** Whether the last token is the name of the rows, or the colon after this name. */
  #last: "name" | "colon" | undefined;

  constructor(envelope: ByteBuffer) {
    this.#envelope = envelope;
  }

  /**
   * Reads bytes and adds them to the envelope, up to the opening bracket of the rows.
   *
   * @returns The offset after the bytes that were read
   * @throws {PageFault} If another value follows the page
   */
  advance(bytes: Bytes, start: number, end: number): number {
    const envelope = this.#envelope;
    const offset = envelope.length - start;
    this.isAtRows = false;
    envelope.append(bytes.subarray(start, end));
    let at = start;
    while (at < end && !this.isAtRows) this.#read(bytes[at]!, offset + at++);
    envelope.length = offset + at;
    return at;
  }

  /** @param offset Offset of the byte in the envelope */
  #read(byte: number, offset: number): void {
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === BACKSLASH) this.#isEscaped = true;
      else if (byte === QUOTE) {
        this.#isInString = false;
        const token = this.#envelope.from(this.#stringStart, offset + 1);
        if (this.#depth === 1 && isRowsName(token)) this.#last = "name";
      }
      return;
    }
    // White space, or a control character, which is malformed.
    if (byte <= SPACE) return;
    if (this.#depth < 0) throw brokenJson();
    const last = this.#last;
    this.#last = undefined;
    if (byte === QUOTE) {
      this.#isInString = true;
      this.#stringStart = offset;
    } else if (byte === COLON) {
      if (last === "name") this.#last = "colon";
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      this.isAtRows = byte === OPEN_ARRAY && this.#depth === 1 && last === "colon";
      this.#depth++;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      if (--this.#depth === 0) this.#depth = -1;
    }
  }
}

/** Length (bytes) of the longest spelling of `"value"`, with an escape sequence for each letter. */
const MAX_TOKEN_LENGTH = '"'.length + 5 * "\\u0076".length + '"'.length;

/** Whether a string in JSON is the name of the rows, possibly with escape sequences. */
function isRowsName(token: Bytes): boolean {
  if (token.length > MAX_TOKEN_LENGTH) return false;
  try {
    return JSON.parse(new TextDecoder().decode(token)) === "value";
  } catch {
    return false;
  }
}

/**
 * Finds the end of a row that may be incomplete, by its braces and strings. It continues where it stopped,
 * so that a row that arrives in many chunks takes linear time.
 */
class RowEnd {
  /** Number of bytes of the row that were read; 0 if no row is pending. */
  #length = 0;
  #depth = 0;
  #isInString = false;

  /** Whether the start of an incomplete row was read. */
  get isPending(): boolean {
    return this.#length > 0;
  }

  /**
   * Returns the offset after a row; -1 if it is incomplete.
   *
   * @param at Offset of the row
   * @param available Offset after the bytes that have arrived
   */
  find(bytes: Bytes, at: number, available: number): number {
    let offset = at + this.#length;
    let isInString = this.#isInString;
    let depth = this.#depth;
    while (offset < available) {
      const byte = bytes[offset]!;
      if (byte === BACKSLASH) offset++; // the next byte may be a quote, and may not have arrived yet
      else if (byte === QUOTE) isInString = !isInString;
      else if (!isInString) {
        if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth++;
        else if ((byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) && --depth === 0) {
          this.#length = this.#depth = 0;
          this.#isInString = false;
          return offset + 1;
        }
      }
      offset++;
    }
    this.#length = offset - at;
    this.#isInString = isInString;
    this.#depth = depth;
    return -1;
  }
}

/** Returns the fault of an envelope with a member that is nested more than `MAX_NESTING` levels. */
function findDeepMember(envelope: string): PageFault | undefined {
  const brackets = envelope.match(/[[{]/g)?.length ?? 0;
  if (brackets <= MAX_NESTING) return undefined;
  try {
    for (const member of membersOf(parseRawJson(envelope)).values()) stringifyRaw(member);
    return undefined;
  } catch (error) {
    return error instanceof PageFault ? error : tooLarge();
  }
}
