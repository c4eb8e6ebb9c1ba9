// Scans the bytes of JSON without parsing it. `at` is an offset in the bytes. Each `skip` function
// returns the offset after the value or token that it skips, or -1 if the bytes there are malformed or
// incomplete. Zeros must follow the bytes (see `PageWindow`): they end every token.

export const TAB = 0x09;
export const LINE_FEED = 0x0a;
export const CARRIAGE_RETURN = 0x0d;
export const SPACE = 0x20;
export const QUOTE = 0x22;
const PLUS = 0x2b;
export const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
export const ZERO = 0x30;
export const COLON = 0x3a;
export const OPEN_ARRAY = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_ARRAY = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;

/** Maximum nesting (levels) of a value. The values of the service have at most two levels. */
export const MAX_NESTING = 1_000;

/** Maximum nesting (levels) of a value that is scanned: `skipValue` is recursive. */
const MAX_SCANNED_NESTING = 100;

/** Skips any value; returns -1 also if it is nested more than `MAX_SCANNED_NESTING` levels. */
export function skipValue(page: Uint8Array, at: number, depth = 0): number {
  const byte = page[at];
  if (byte !== OPEN_OBJECT && byte !== OPEN_ARRAY) return skipScalar(page, at);
  if (depth === MAX_SCANNED_NESTING) return -1;
  const close = byte === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY;
  at = skipWhiteSpace(page, at + 1);
  if (page[at] === close) return at + 1;
  for (;;) {
    if (close === CLOSE_OBJECT) {
      at = skipString(page, at);
      if (at < 0 || (at = skipColon(page, at)) < 0) return -1;
    }
    at = skipValue(page, at, depth + 1);
    if (at < 0) return -1;
    at = skipWhiteSpace(page, at);
    if (page[at] === close) return at + 1;
    if (page[at] !== COMMA) return -1;
    at = skipWhiteSpace(page, at + 1);
  }
}

/** Skips a value other than an array or object. */
function skipScalar(page: Uint8Array, at: number): number {
  const byte = page[at]!;
  if (byte === QUOTE) return skipString(page, at);
  return byte === MINUS || isDigit(byte) ? skipNumber(page, at) : skipLiteral(page, at);
}

/** Skips white space (RFC 8259, section 2). */
export function skipWhiteSpace(page: Uint8Array, at: number): number {
  for (;;) {
    const byte = page[at];
    if (byte !== SPACE && byte !== LINE_FEED && byte !== CARRIAGE_RETURN && byte !== TAB) return at;
    at++;
  }
}

/** Skips the colon after the name of a member, with the white space around it. */
export function skipColon(page: Uint8Array, at: number): number {
  at = skipWhiteSpace(page, at);
  return page[at] === COLON ? skipWhiteSpace(page, at + 1) : -1;
}

/** Skips a string, including its quotes (RFC 8259, section 7). */
export function skipString(page: Uint8Array, at: number): number {
  if (page[at] !== QUOTE) return -1;
  for (at++; page[at] !== QUOTE;) {
    const byte = page[at]!;
    if (byte < SPACE) return -1;
    at = byte === BACKSLASH || byte > 0x7f ? skipEscapeOrMultibyte(page, at) : at + 1;
    if (at < 0) return -1;
  }
  return at + 1;
}

/** Skips an escape sequence, or a multi-byte character, inside a string. */
export function skipEscapeOrMultibyte(page: Uint8Array, at: number): number {
  return page[at] === BACKSLASH ? skipEscape(page, at) : skipMultibyte(page, at);
}

function skipEscape(page: Uint8Array, at: number): number {
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
        if (!isHexDigit(page[digit]!)) return -1;
      }
      return at + 6;
    default:
      return -1;
  }
}

/** Skips a character of two to four bytes (The Unicode Standard, table 3-7, well-formed UTF-8). */
function skipMultibyte(page: Uint8Array, at: number): number {
  const first = page[at]!;
  const second = page[at + 1]!;
  if (first < 0xc2 || first > 0xf4) return -1;
  const min = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const max = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  if (second < min || second > max) return -1;
  const end = at + (first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4);
  for (let next = at + 2; next < end; next++) {
    if (((page[next]!) & 0xc0) !== 0x80) return -1;
  }
  return end;
}

/** Skips a number (RFC 8259, section 6). */
export function skipNumber(page: Uint8Array, at: number): number {
  if (page[at] === MINUS) at++;
  if (page[at] === ZERO) at++;
  else if ((at = skipDigits(page, at)) < 0) return -1;
  if (page[at] === POINT && (at = skipDigits(page, at + 1)) < 0) return -1;
  if (((page[at]!) | 0x20) === 0x65) { // e or E
    const sign = page[at + 1];
    at = skipDigits(page, sign === PLUS || sign === MINUS ? at + 2 : at + 1);
  }
  return at;
}

function skipDigits(page: Uint8Array, at: number): number {
  const start = at;
  while (isDigit(page[at]!)) at++;
  return at === start ? -1 : at;
}

const LITERALS = ["null", "true", "false"].map((text) => new TextEncoder().encode(text));

/** Skips `null`, `true` or `false`. */
export function skipLiteral(page: Uint8Array, at: number): number {
  const literal = LITERALS.find((bytes) => startsWith(page, at, bytes));
  return literal === undefined ? -1 : at + literal.length;
}

/** Whether bytes occur at an offset. */
export function startsWith(page: Uint8Array, at: number, bytes: Uint8Array): boolean {
  for (let index = 0; index < bytes.length; index++) {
    if (page[at + index] !== bytes[index]) return false;
  }
  return true;
}

/** Returns a hash (32 bits) of bytes. */
export function hashOf(page: Uint8Array, start: number, end: number): number {
  let hash = 0;
  for (let at = start; at < end; at++) hash = Math.imul(hash, 31) + page[at]! | 0;
  return hash;
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= 0x39;
}

function isHexDigit(byte: number): boolean {
  const lowerCase = byte | 0x20;
  return isDigit(byte) || (lowerCase >= 0x61 && lowerCase <= 0x66);
}
