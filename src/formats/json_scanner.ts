// Passing over JSON in bytes: each function gives the place after what it passed, or -1 where that
// is no JSON.

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const COMMA = 0x2c;
export const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;
const COLON = 0x3a;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const ZERO = 0x30;

/** Passes over white space (RFC 8259, section 2). */
export function passSpace(page: Uint8Array, at: number): number {
  for (;;) {
    const byte = page[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    at++;
  }
}

/** Passes over an escape, or one character of more than a byte, inside a string. */
export function passSpecial(page: Uint8Array, at: number): number {
  return page[at] === BACKSLASH ? passEscape(page, at) : passCharacter(page, at);
}

function passEscape(page: Uint8Array, at: number): number {
  switch (page[at + 1]) {
    case QUOTE:
    case BACKSLASH:
    case 0x2f: // /
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return at + 2;
    case 0x75: // u
      for (let digit = at + 2; digit < at + 6; digit++) {
        if (!isHexadecimal(page[digit] ?? 0)) return -1;
      }
      return at + 6;
    default:
      return -1;
  }
}

function isHexadecimal(byte: number): boolean {
  const letter = byte | 0x20;
  return (byte >= ZERO && byte <= 0x39) || (letter >= 0x61 && letter <= 0x66);
}

/** One character of two to four bytes, by the table of well-formed UTF-8 (Unicode, table 3-7). */
function passCharacter(page: Uint8Array, at: number): number {
  const first = page[at] ?? 0;
  const second = page[at + 1] ?? 0;
  if (first < 0xc2 || first > 0xf4) return -1;
  const least = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const most = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  if (second < least || second > most) return -1;
  const end = at + (first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4);
  for (let next = at + 2; next < end; next++) {
    if (((page[next] ?? 0) & 0xc0) !== 0x80) return -1;
  }
  return end;
}

/** Passes over a string, its quotes included. */
export function passString(page: Uint8Array, at: number): number {
  if (page[at] !== QUOTE) return -1;
  for (at++; page[at] !== QUOTE;) {
    const byte = page[at] ?? 0;
    if (byte < 0x20) return -1;
    at = byte === BACKSLASH || byte > 0x7f ? passSpecial(page, at) : at + 1;
    if (at < 0) return -1;
  }
  return at + 1;
}

/** Passes over a number (RFC 8259, section 6). */
export function passNumber(page: Uint8Array, at: number): number {
  if (page[at] === MINUS) at++;
  if (page[at] === ZERO) at++;
  else if ((at = passDigits(page, at)) < 0) return -1;
  if (page[at] === POINT && (at = passDigits(page, at + 1)) < 0) return -1;
  if (((page[at] ?? 0) | 0x20) === 0x65) {
    const sign = page[at + 1];
    at = passDigits(page, sign === PLUS || sign === MINUS ? at + 2 : at + 1);
  }
  return at;
}

function passDigits(page: Uint8Array, at: number): number {
  const start = at;
  while (isDigit(page[at] ?? 0)) at++;
  return at === start ? -1 : at;
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= 0x39;
}

const LITERALS = ["null", "true", "false"].map((text) => new TextEncoder().encode(text));

/** Passes over `null`, `true` or `false`. */
export function passLiteral(page: Uint8Array, at: number): number {
  const literal = LITERALS.find((bytes) => bytes[0] === page[at]);
  return literal?.every((byte, index) => page[at + index] === byte) ? at + literal.length : -1;
}

/** Passes over a value that holds no other. */
function passScalar(page: Uint8Array, at: number): number {
  const byte = page[at] ?? 0;
  if (byte === QUOTE) return passString(page, at);
  return byte === MINUS || isDigit(byte) ? passNumber(page, at) : passLiteral(page, at);
}

/** Passes over a name and the colon after it, and the white space around. */
export function passColon(page: Uint8Array, at: number): number {
  at = passSpace(page, at);
  return page[at] === COLON ? passSpace(page, at + 1) : -1;
}

/** Deeper than this, a value is left to the general way. */
const DEEPEST = 100;

/** Passes over any value. */
export function passValue(page: Uint8Array, at: number, depth = 0): number {
  const byte = page[at];
  if (byte !== OPEN_OBJECT && byte !== OPEN_LIST) return passScalar(page, at);
  if (depth === DEEPEST) return -1;
  const close = byte === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_LIST;
  at = passSpace(page, at + 1);
  if (page[at] === close) return at + 1;
  for (;;) {
    if (close === CLOSE_OBJECT) {
      at = passString(page, at);
      if (at < 0 || (at = passColon(page, at)) < 0) return -1;
    }
    at = passValue(page, at, depth + 1);
    if (at < 0) return -1;
    at = passSpace(page, at);
    if (page[at] === close) return at + 1;
    if (page[at] !== COMMA) return -1;
    at = passSpace(page, at + 1);
  }
}

/**
 * Maximum number of lists and objects beside the rows. More of them may be nested deeper than the
 * general path accepts, so that it has to read the page.
 */
const MAX_NESTED = 1_000;

const VALUE = new TextEncoder().encode('"value"');

/**
 * Where the rows of a page begin: the place after the bracket that opens the list under `value`.
 *
 * @returns The place; -1 where there is no such list in an object
 */
export function findRows(page: Uint8Array): number {
  let depth = 0;
  for (let at = 0; at < page.length; at++) {
    const byte = page[at];
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth++;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth--;
    else if (byte === QUOTE) {
      const start = at;
      for (at++; page[at] !== QUOTE && at < page.length; at++) if (page[at] === BACKSLASH) at++;
      if (depth !== 1 || !VALUE.every((wanted, index) => page[start + index] === wanted)) continue;
      const value = passColon(page, at + 1);
      if (value >= 0) return page[value] === OPEN_LIST ? value + 1 : -1;
    }
  }
  return -1;
}

/**
 * Passes over the rows of a page, each by the function given.
 *
 * @param start The place after the bracket that opens their list
 * @param passRow Gives the place after the row that begins there, or -1
 * @returns The place of the bracket that closes it; -1 where a row cannot be passed, or the list is none
 */
export function passRows(
  page: Uint8Array,
  start: number,
  passRow: (at: number) => number,
): number {
  let at = passSpace(page, start);
  if (page[at] === CLOSE_LIST) return at;
  for (;;) {
    const end = passRow(at);
    if (end < 0) return -1;
    at = passSpace(page, end);
    if (page[at] === CLOSE_LIST) return at;
    if (page[at] !== COMMA) return -1;
    at = passSpace(page, at + 1);
  }
}

/**
 * What a page holds beside its rows.
 *
 * @param start The place after the bracket that opens their list
 * @param end The place of the bracket that closes it
 * @returns The members; undefined if they are not JSON, name their rows twice, or hold more than
 *   `MAX_NESTED` lists and objects
 */
export function readEnvelope(
  page: Uint8Array,
  start: number,
  end: number,
): Record<string, unknown> | undefined {
  try {
    const before = new TextDecoder("utf-8", { fatal: true }).decode(page.subarray(0, start - 1));
    // A byte order mark can begin a page, and nothing else.
    const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    const after = strict.decode(page.subarray(end + 1));
    if (`${before}${after}`.split(/[[{]/, MAX_NESTED + 2).length > MAX_NESTED + 1) return undefined;
    // No text in the envelope is as long as the envelope: a `value` that equals this one is the rows.
    const rows = " ".repeat(before.length + after.length);
    const { value, ...rest } = JSON.parse(`${before}${JSON.stringify(rows)}${after}`);
    return value === rows ? rest : undefined;
  } catch {
    return undefined;
  }
}
