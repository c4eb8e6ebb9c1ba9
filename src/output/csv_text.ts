import { BACKSLASH, QUOTE } from "./json_bytes.ts";

const APOSTROPHE = 0x27;
const CARRIAGE_RETURN = 0x0d;
const LINE_FEED = 0x0a;
const TAB = 0x09;

/** What a letter after a backslash stands for; any other stands for itself. */
const ESCAPED: Record<number, number> = {
  0x62: 0x08,
  0x66: 0x0c,
  0x6e: LINE_FEED,
  0x72: CARRIAGE_RETURN,
  0x74: TAB,
};

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
  out[at++] = QUOTE;
  const put = (byte: number) => {
    if (guard && at === start + 1 && beginsFormula(byte)) out[at++] = APOSTROPHE;
    if (byte === separator || byte === QUOTE || byte === LINE_FEED || byte === CARRIAGE_RETURN) {
      quoted = true;
    }
    if (byte === QUOTE) out[at++] = QUOTE;
    out[at++] = byte;
  };
  while (from < to) {
    const byte = page[from]!;
    if (byte !== BACKSLASH) {
      put(byte);
      from++;
    } else if (page[from + 1] !== 0x75) {
      const letter = page[from + 1]!;
      put(ESCAPED[letter] ?? letter);
      from += 2;
    } else {
      const unit = readUnit(page, from);
      const next = unit >= 0xd800 && unit < 0xdc00 ? readUnit(page, from + 6) : -1;
      const isPair = next >= 0xdc00 && next < 0xe000 && from + 12 <= to;
      putCharacter(isPair ? 0x10000 + ((unit - 0xd800) << 10) + next - 0xdc00 : unit, put);
      from += isPair ? 12 : 6;
    }
  }
  if (quoted) {
    out[at++] = QUOTE;
    return at;
  }
  out.copyWithin(start, start + 1, at);
  return at - 1;
}

/** The UTF-16 code unit of `\uXXXX`; -1 where there is none. */
function readUnit(page: Uint8Array, at: number): number {
  if (page[at] !== BACKSLASH || page[at + 1] !== 0x75) return -1;
  return parseInt(String.fromCharCode(...page.subarray(at + 2, at + 6)), 16);
}

/** Puts a character as UTF-8; half of a pair becomes the replacement character, as a string's would. */
function putCharacter(character: number, put: (byte: number) => void): void {
  const code = character >= 0xd800 && character < 0xe000 ? 0xfffd : character;
  if (code < 0x80) return put(code);
  if (code < 0x800) put(0xc0 | code >> 6);
  else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | code >> 6 & 0x3f);
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | code >> 12 & 0x3f);
    put(0x80 | code >> 6 & 0x3f);
  }
  put(0x80 | code & 0x3f);
}
