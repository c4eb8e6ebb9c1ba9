// Writes rows of a worksheet from the bytes of a page: which cells are numbers, dates, booleans and texts.
// Source: ECMA-376, part 1, sections 18.3 (worksheets) and 22.9.2.19 (`_xHHHH_` in texts).
import { type ByteBuffer, copyWords, utf8Decoder, utf8Encoder } from "../bytes.ts";
import { isListOfStrings, JSON_NUMBER } from "../validation.ts";
import { withoutNul } from "./csv.ts";
import { minify } from "./json.ts";
import { MINUS, parseBytes, POINT, SPACE, ZERO } from "./json_scanner.ts";
import { type Cells, EMPTY, PLAIN_STRING, quoteLength, SCALAR } from "./row_reader.ts";
import { dayNumber } from "./utc_time.ts";

/** UTF-16 code units in a cell. */
export const MAX_CELL_LENGTH = 32_767;

/** Indices of cell styles. The styles of numbers follow them. */
export const STYLES = { general: 0, text: 1, date: 2, bold: 3, link: 4, wrapped: 5, number: 6 };

/** Maximum number of decimals in a number format. */
export const MAX_DECIMALS = 30;

/** Characters above which Excel shows a cell with the text format as `#####`. */
const MAX_FORMATTED_TEXT = 255;

/** A text that is longer than {@linkcode MAX_CELL_LENGTH}. */
export interface LongText {
  cell: number;
  length: number;
}

/** Returns the name of a column: A, B, …, Z, AA. */
export function columnName(index: number): string {
  const last = String.fromCharCode(0x41 + index % 26);
  return index < 26 ? last : columnName(Math.floor(index / 26) - 1) + last;
}

/** Escapes characters of markup. */
export function escapeMarkup(text: string): string {
  return text.replace(/[&<>"]/g, (mark) => MARKUP[mark]!);
}

/** Escapes a text of a cell: markup, characters that XML does not allow, and texts that look like such an escape. */
export function escapeText(text: string): string {
  return text.replace(/_(?=x[\da-f]{4}_)/gi, "_x005F_")
    // deno-lint-ignore no-control-regex -- XML does not allow them
    .replace(/[\0-\x08\x0b-\x1f\ufffe\uffff]/g, toHexEscape)
    .replace(/[&<>]/g, (mark) => MARKUP[mark]!);
}

const MARKUP: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
};

/** NUL is left out, as in CSV. */
function toHexEscape(character: string): string {
  if (character === "\0") return "";
  return `_x${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}_`;
}

/** A constant text, which is copied eight bytes at a time. */
interface Constant {
  view: DataView;
  length: number;
}

function constant(text: string): Constant {
  const bytes = utf8Encoder.encode(text);
  const padded = new Uint8Array(bytes.length + 8);
  padded.set(bytes);
  return { view: new DataView(padded.buffer), length: bytes.length };
}

const ROW_START = /* @__PURE__ */ constant('<row r="');
const ROW_CELLS = /* @__PURE__ */ constant('">');
const ROW_END = /* @__PURE__ */ constant("</row>");
const TEXT_START = /* @__PURE__ */ constant(`" s="${STYLES.text}" t="inlineStr"><is><t>`);
const TEXT_END = /* @__PURE__ */ constant("</t></is></c>");
const DATE_START = /* @__PURE__ */ constant(`" s="${STYLES.date}"><v>`);
/** By the number of decimals; the last one is for other numbers. */
const NUMBER_STARTS = /* @__PURE__ */ Array.from({ length: MAX_DECIMALS + 2 }, (_, decimals) => {
  const style = decimals > MAX_DECIMALS ? STYLES.general : STYLES.number + decimals;
  return constant(`" s="${style}"><v>`);
});
const VALUE_END = /* @__PURE__ */ constant("</v></c>");
const BOOLEAN_START = /* @__PURE__ */ constant('" t="b"><v>');
const BOOLEANS = /* @__PURE__ */ constant("01");

/** Maximum number of bytes that are written for a cell in addition to its value. */
const CELL_OVERHEAD = 100;

/** Characters that a text cannot contain as they are: those of markup, and the `_` of `_x0000_`. */
export const SPECIAL_CHARACTERS = "&<>_";
/** Whether bytes can have U+FFFE or U+FFFF, which XML does not allow. Tests only their first byte, which other characters have too. */
export function mayHaveNoncharacters(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at] === 0xef) return true;
  return false;
}

/** How the cells of a column are written. */
export type CellType = "text" | "number" | "date" | "boolean" | "any";

/** Counts cells from which the character NUL is left out. */
interface CellNotes {
  note(name: "nulCells"): void;
}

/** Writes the rows of a sheet to the end of a buffer. */
export class CellWriter {
  /** The beginning of a cell by column. */
  readonly #cellStarts: Constant[] = [];
  readonly #rowNumber = new Digits();
  readonly #serial = new Digits();
  #needsCheck = false;
  /** Where the value of a cell is: in the page, or in a text of its own. */
  #source: DataView = TEXT_START.view;
  #start = 0;
  #end = 0;

  /**
   * Begins a row.
   *
   * @param row Its number, from 1
   * @param needsCheck Whether its texts can have a character that XML does not allow
   */
  startRow(output: ByteBuffer, row: number, needsCheck: boolean): void {
    this.#rowNumber.set(row);
    this.#needsCheck = needsCheck;
    output.reserve(CELL_OVERHEAD);
    const { view } = output;
    const at = copy(this.#rowNumber, view, copy(ROW_START, view, output.length));
    output.length = copy(ROW_CELLS, view, at);
  }

  endRow(output: ByteBuffer): void {
    output.reserve(CELL_OVERHEAD);
    output.length = copy(ROW_END, output.view, output.length);
  }

  /**
   * Writes the cells that are not empty.
   *
   * @param first Column of the first cell
   * @param length Number of bytes of their values
   * @returns The first text that is too long, of which the beginning is written; `undefined` if there is none
   */
  writeCells(
    output: ByteBuffer,
    cells: Cells,
    types: readonly CellType[],
    first: number,
    length: number,
    notes: CellNotes,
  ): LongText | undefined {
    const maxLength = length + CELL_OVERHEAD * types.length;
    output.reserve(maxLength);
    let out = output.view;
    let at = output.length;
    let longText: LongText | undefined;
    for (let cell = 0; cell < types.length; cell++) {
      if (cells.kinds[cell] === EMPTY) continue;
      const opening = this.#open(cells, cell, types[cell]!);
      if (opening === undefined) {
        output.length = at;
        const sent = textOf(cells, cell);
        const text = withoutNul(sent);
        if (text !== sent) notes.note("nulCells");
        if (text.length > MAX_CELL_LENGTH) longText ??= { cell, length: text.length };
        output.append(utf8Encoder.encode(textCell(first + cell, this.#rowNumber.text, text)));
        output.reserve(maxLength);
        out = output.view;
        at = output.length;
        continue;
      }
      at = copy(this.#cellStart(first + cell), out, at);
      at = copy(this.#rowNumber, out, at);
      at = copy(opening, out, at);
      at = copyWords(this.#source, this.#start, this.#end, out, at);
      at = copy(opening === TEXT_START ? TEXT_END : VALUE_END, out, at);
    }
    output.length = at;
    return longText;
  }

  /** Returns what is between the reference of a cell and its value; `undefined` if the value is a text to be escaped. */
  #open(cells: Cells, cell: number, type: CellType): Constant | undefined {
    const { bytes, view, starts, ends, kinds } = cells;
    const kind = kinds[cell];
    const isNumber = kind === SCALAR;
    if (!isNumber && kind !== PLAIN_STRING) return undefined;
    const start = this.#start = starts[cell]!;
    const end = this.#end = ends[cell]!;
    this.#source = view;
    if (type === "number" || type === "any" && isNumber) {
      const decimals = decimalsOf(bytes, start, end, isNumber);
      if (decimals >= 0) return NUMBER_STARTS[decimals];
    } else if (type === "date" && !isNumber) {
      const serial = dayNumber(bytes, start, end) + UNIX_EPOCH;
      if (serial >= FIRST_SERIAL) {
        this.#serial.set(serial);
        this.#source = this.#serial.view;
        [this.#start, this.#end] = [0, this.#serial.length];
        return DATE_START;
      }
    } else if (type === "boolean" && isNumber) {
      const value = bytes[start] === LETTER_T ? 1 : 0;
      this.#source = BOOLEANS.view;
      [this.#start, this.#end] = [value, value + 1];
      return BOOLEAN_START;
    }
    const isText = (isNumber || !this.#needsCheck) && isSimpleText(bytes, start, end);
    return isText ? TEXT_START : undefined;
  }

  #cellStart(column: number): Constant {
    return this.#cellStarts[column] ??= constant(`<c r="${columnName(column)}`);
  }
}

/** A number as text. */
class Digits {
  readonly #bytes = new Uint8Array(24);
  readonly view = new DataView(this.#bytes.buffer);
  text = "";
  length = 0;

  set(number: number): void {
    this.text = String(number);
    this.length = this.text.length;
    for (let at = 0; at < this.length; at++) this.#bytes[at] = this.text.charCodeAt(at);
  }
}

function copy({ view, length }: Constant, out: DataView, at: number): number {
  return copyWords(view, 0, length, out, at);
}

/** Whether a text without special characters is written as it is. */
function isSimpleText(bytes: Uint8Array, start: number, end: number): boolean {
  return end - start <= MAX_FORMATTED_TEXT && bytes[start]! > SPACE && bytes[end - 1]! > SPACE;
}

/** Returns a cell with a text, of which only the beginning is written if it is too long. Nothing for an empty one. */
export function textCell(
  column: number,
  row: number | string,
  text: string,
  style?: number,
): string {
  if (text === "") return "";
  const isPair = /[\ud800-\udbff]/.test(text[MAX_CELL_LENGTH - 1] ?? "");
  const held = text.slice(0, isPair ? MAX_CELL_LENGTH - 1 : MAX_CELL_LENGTH);
  // Without it, readers remove white space at the ends. On cells that do not need it, one reader fails.
  const space = /^\s|\s$/.test(held) ? ' xml:space="preserve"' : "";
  const found = style ?? (text.length > MAX_FORMATTED_TEXT ? STYLES.general : STYLES.text);
  return `<c r="${columnName(column)}${row}" s="${found}" t="inlineStr"><is><t${space}>` +
    `${escapeText(held)}</t></is></c>`;
}

const LETTER_T = 0x74;

/** Serial number of 1970-01-01 in the date system of 1900. */
const UNIX_EPOCH = 25_569;
/** Serial number of 1900-03-01. Before it, the date system has a day that does not exist. */
const FIRST_SERIAL = 61;

function textOf({ bytes, starts, ends, kinds }: Cells, cell: number): string {
  const quote = quoteLength(kinds[cell]);
  const [start, end] = [starts[cell]! - quote, ends[cell]! + quote];
  const value = parseBytes(bytes, start, end);
  if (typeof value === "string") return value.toWellFormed();
  return isListOfStrings(value) ? value.join("; ") : minify(bytes.subarray(start, end));
}

/** Result of `decimalsOf()`: the cell is a text. */
const NO_NUMBER_CELL = -1;
/** Digits that Excel keeps. */
const MAX_DIGITS = 15;
/** Excel has no smaller numbers, except 0. */
const MIN_NUMBER = 2 ** -1022;

/**
 * Returns the number of decimals of a number that a cell can hold, `MAX_DECIMALS + 1` for one without a format of its own, or
 * `NO_NUMBER_CELL`.
 */
function decimalsOf(bytes: Uint8Array, start: number, end: number, isNumber: boolean): number {
  if (!isNumber && !JSON_NUMBER.test(utf8Decoder.decode(bytes.subarray(start, end)))) {
    return NO_NUMBER_CELL;
  }
  let digits = 0;
  let decimals = 0;
  let isFraction = false;
  for (let at = bytes[start] === MINUS ? start + 1 : start; at < end; at++) {
    const digit = bytes[at]! - ZERO;
    if (digit >= 0 && digit <= 9) {
      if (digits > 0 || digit > 0) digits++;
      if (isFraction) decimals++;
    } else if (bytes[at] === POINT) isFraction = true;
    else return decimalsIfExact(bytes, start, end, MAX_DECIMALS + 1);
  }
  if (digits > MAX_DIGITS || decimals > MAX_DECIMALS) {
    return decimalsIfExact(bytes, start, end, Math.min(decimals, MAX_DECIMALS + 1));
  }
  return decimals;
}

/** `true` and `false` are no numbers. */
function decimalsIfExact(bytes: Uint8Array, start: number, end: number, decimals: number): number {
  const text = utf8Decoder.decode(bytes.subarray(start, end));
  const number = Number(text);
  const isHeld = Number.isFinite(number) && (number === 0 || Math.abs(number) >= MIN_NUMBER) &&
    canonicalDigits(text) === canonicalDigits(String(number));
  return isHeld ? decimals : NO_NUMBER_CELL;
}

/** Returns a number as its significant digits and exponent, such that equal numbers have equal texts. */
function canonicalDigits(number: string): string {
  const [, whole = "", fraction = "", exponent = "0"] = NUMBER_PARTS.exec(number) ?? [];
  const digits = whole + fraction;
  let [start, end] = [0, digits.length];
  while (digits[start] === "0") start++;
  // A pattern such as /0+$/ would take quadratic time for many zeros.
  while (end > start && digits[end - 1] === "0") end--;
  if (start === end) return "0";
  return `${digits.slice(start, end)}e${Number(exponent) - fraction.length + digits.length - end}`;
}

const NUMBER_PARTS = /^-?(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i;
