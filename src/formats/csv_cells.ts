import { stringify } from "@std/csv/stringify";
import type { CsvFormat } from "./csv_options.ts";
import { BACKSLASH, QUOTE } from "./json_scanner.ts";
import { digitsOf, type Source, toJson } from "./raw_json.ts";

/**
 * The lines of CSV for cells: `@std/csv` writes them, but for those that a reader would take for
 * something else.
 *
 * Source: RFC 4180.
 */
export function toLines(lines: readonly (readonly string[])[], separator: string): string {
  let text = "";
  let from = 0;
  for (const [index, line] of lines.entries()) {
    if (!isBlank(line) && !line.some((cell) => hasBareReturn(cell, separator))) continue;
    text += stringify(lines.slice(from, index), { separator });
    text += isBlank(line) ? '""\r\n' : withReturns(line, separator);
    from = index + 1;
  }
  return text + stringify(lines.slice(from), { separator });
}

/** The cell of a value: numbers as they came, texts of a list joined, other lists and objects as JSON. */
export function toCell(source: Source | undefined, { escapeFormulas }: CsvFormat): string {
  if (source === undefined || source === null) return "";
  if (typeof source === "boolean") return String(source);
  const digits = digitsOf(source);
  if (digits !== undefined) return digits;
  const text = typeof source === "string" ? source.slice(1) : listOfTexts(source) ?? toJson(source);
  return escapeFormulas ? guardFormula(text) : text;
}

/** A text with an apostrophe in front where a spreadsheet would take it for a formula. */
export function guardFormula(text: string): string {
  return text !== "" && beginsFormula(text.charCodeAt(0)) ? `'${text}` : text;
}

/** The same, in quotes where it must be. */
export function toQuotedCell(source: Source, format: CsvFormat): string {
  // Beside an empty cell, it is no line of its own.
  return toLines([["", toCell(source, format)]], format.separator).slice(1, -2);
}

function listOfTexts(source: Source): string | undefined {
  if (!Array.isArray(source)) return undefined;
  const isText = (item: Source): item is string => typeof item === "string";
  return source.every(isText) ? source.map((item) => item.slice(1)).join("; ") : undefined;
}

/** One empty cell is a blank line, which many readers skip: the row would be lost. */
function isBlank(line: readonly string[]): boolean {
  return line.length === 1 && line[0] === "";
}

/** A carriage return that nothing else in the cell makes `@std/csv` put in quotes. */
function hasBareReturn(cell: string, separator: string): boolean {
  return cell.includes("\r") && ![separator, '"', "\n"].some((mark) => cell.includes(mark));
}

function withReturns(line: readonly string[], separator: string): string {
  const cells = line.map((cell) =>
    hasBareReturn(cell, separator) ? `"${cell}"` : stringify([[cell]], { separator }).slice(0, -2)
  );
  return cells.join(separator) + "\r\n";
}

const APOSTROPHE = 0x27;
const CARRIAGE_RETURN = 0x0d;
const LINE_FEED = 0x0a;
const TAB = 0x09;

const U = 0x75;

/** What the byte after a backslash stands for; most stand for themselves. */
const ESCAPED = Uint8Array.from({ length: 256 }, (_, byte) => byte);
ESCAPED[0x62] = 0x08;
ESCAPED[0x66] = 0x0c;
ESCAPED[0x6e] = LINE_FEED;
ESCAPED[0x72] = CARRIAGE_RETURN;
ESCAPED[0x74] = TAB;

/** Whether a spreadsheet would take a text that begins with that byte for a formula. */
export function beginsFormula(byte: number): boolean {
  return byte === 0x3d || byte === 0x2b || byte === 0x2d || byte === 0x40 || byte === TAB ||
    byte === CARRIAGE_RETURN;
}

/**
 * Writes a text with escapes as a cell of CSV, in quotes where it must be.
 *
 * @param page Well-formed JSON
 * @param from The place of the text's first byte
 * @param to The place after its last
 * @param out Has room for as many bytes as the text and its quotes have in JSON, and one more
 * @param at Where to write
 * @param separator The byte that separates cells
 * @param guard Whether a formula gets an apostrophe in front
 * @returns The place after the cell
 */
export function writeEscapedText(
  page: Uint8Array,
  from: number,
  to: number,
  out: Uint8Array,
  at: number,
  separator: number,
  guard: boolean,
): number {
  const start = at;
  let quoted = false;
  // Written as if in quotes, and moved where it needs none.
  out[at++] = QUOTE;
  if (guard && beginsFormula(firstByte(page, from))) out[at++] = APOSTROPHE;
  while (from < to) {
    const byte = page[from]!;
    if (byte !== BACKSLASH) {
      if (byte === separator) quoted = true;
      out[at++] = byte;
      from++;
      continue;
    }
    const letter = page[from + 1]!;
    const escaped = letter === U ? readCharacter(page, from, to) : ESCAPED[letter]!;
    from += letter !== U ? 2 : escaped > 0xffff ? 12 : 6;
    if (escaped === QUOTE) out[at++] = QUOTE;
    if (isQuotedFor(escaped, separator)) quoted = true;
    if (escaped < 0x80) out[at++] = escaped;
    else at = writeCharacter(escaped, out, at);
  }
  if (quoted) {
    out[at++] = QUOTE;
    return at;
  }
  out.copyWithin(start, start + 1, at);
  return at - 1;
}

/** The first byte of a text that is not empty. */
function firstByte(page: Uint8Array, at: number): number {
  if (page[at] !== BACKSLASH) return page[at]!;
  return page[at + 1] === U ? readUnit(page, at) : ESCAPED[page[at + 1]!]!;
}

function isQuotedFor(character: number, separator: number): boolean {
  return character === separator || character === QUOTE || character === LINE_FEED ||
    character === CARRIAGE_RETURN;
}

/** The character of `\uXXXX`, or of two that are a pair. */
function readCharacter(page: Uint8Array, at: number, to: number): number {
  const unit = readUnit(page, at);
  const next = unit >= 0xd800 && unit < 0xdc00 && at + 12 <= to ? readUnit(page, at + 6) : -1;
  return next >= 0xdc00 && next < 0xe000 ? 0x10000 + ((unit - 0xd800) << 10) + next - 0xdc00 : unit;
}

/** The UTF-16 code unit of `\uXXXX`; -1 where there is none. */
function readUnit(page: Uint8Array, at: number): number {
  if (page[at] !== BACKSLASH || page[at + 1] !== 0x75) return -1;
  return digitOf(page[at + 2]!) << 12 | digitOf(page[at + 3]!) << 8 | digitOf(page[at + 4]!) << 4 |
    digitOf(page[at + 5]!);
}

/** The value of a hexadecimal digit. */
function digitOf(byte: number): number {
  return byte < 0x3a ? byte - 0x30 : (byte | 0x20) - 0x57;
}

/** Writes a character as UTF-8; half of a pair becomes the replacement character, as a string's would. */
function writeCharacter(character: number, out: Uint8Array, at: number): number {
  const code = character >= 0xd800 && character < 0xe000 ? 0xfffd : character;
  if (code < 0x800) out[at++] = 0xc0 | code >> 6;
  else if (code < 0x10000) {
    out[at++] = 0xe0 | code >> 12;
    out[at++] = 0x80 | code >> 6 & 0x3f;
  } else {
    out[at++] = 0xf0 | code >> 18;
    out[at++] = 0x80 | code >> 12 & 0x3f;
    out[at++] = 0x80 | code >> 6 & 0x3f;
  }
  out[at++] = 0x80 | code & 0x3f;
  return at;
}
