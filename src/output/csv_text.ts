import { BACKSLASH, QUOTE } from "./json_bytes.ts";

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
