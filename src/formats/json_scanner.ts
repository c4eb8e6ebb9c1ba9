// Scans the bytes of JSON without parsing it. `at` is an offset in the bytes. Each `skip` function returns the offset
// after the value or token that it skips. If the bytes do not continue it, it returns the bitwise complement (`~`) of the
// offset of the first byte that does not fit, which is negative. Zeros must follow the bytes (see `PageWindow`): they end
// every token, so this is the offset of the first zero if the value is incomplete.

import { PageFault } from "./page_writer.ts";

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
const COLON = 0x3a;
export const OPEN_ARRAY = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_ARRAY = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;

/** The letter of `\uXXXX`. */
export const UNICODE_ESCAPE = 0x75;

/** Characters of two-byte escapes such as `\n`, by the second byte (RFC 8259, section 7); 0 for other bytes. */
export const ESCAPED = new Uint8Array(256);
for (const [index, letter] of [...'"\\/bfnrt'].entries()) {
  ESCAPED[letter.charCodeAt(0)] = '"\\/\b\f\n\r\t'.charCodeAt(index);
}

/** Maximum nesting (levels) of a value. The values of the service have at most two levels. */
const MAX_NESTING = 1_000;

/** Closing brackets of the arrays and objects in which `skipValue` is, the outermost first. */
const closers = new Uint8Array(MAX_NESTING);

/**
 * Skips any value.
 *
 * @throws {PageFault} If it is nested more than `MAX_NESTING` levels
 */
export function skipValue(page: Uint8Array, at: number): number {
  let depth = 0;
  for (;;) {
    const open = page[at];
    if (open === OPEN_OBJECT || open === OPEN_ARRAY) {
      if (depth === MAX_NESTING) {
        throw new PageFault("A value is nested too deep", "select other fields");
      }
      const close = open === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY;
      at = skipWhiteSpace(page, at + 1);
      if (page[at] !== close) {
        closers[depth++] = close;
        if (open === OPEN_OBJECT && (at = skipName(page, at)) < 0) return at;
        continue;
      }
      at++;
    } else if ((at = skipScalar(page, at)) < 0) return at;
    for (;;) {
      if (depth === 0) return at;
      const close = closers[depth - 1];
      at = skipWhiteSpace(page, at);
      if (page[at] === close) {
        at++;
        depth--;
        continue;
      }
      if (page[at] !== COMMA) return ~at;
      at = skipWhiteSpace(page, at + 1);
      if (close === CLOSE_OBJECT && (at = skipName(page, at)) < 0) return at;
      break;
    }
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

/** Skips the name of a member, its colon, and the white space before the value. */
function skipName(page: Uint8Array, at: number): number {
  const end = skipString(page, at);
  return end < 0 ? end : skipColon(page, end);
}

/** Skips the colon after the name of a member, with the white space around it. */
export function skipColon(page: Uint8Array, at: number): number {
  at = skipWhiteSpace(page, at);
  return page[at] === COLON ? skipWhiteSpace(page, at + 1) : ~at;
}

/** Skips a string, including its quotes (RFC 8259, section 7). */
export function skipString(page: Uint8Array, at: number): number {
  if (page[at] !== QUOTE) return ~at;
  for (at++; page[at] !== QUOTE;) {
    const byte = page[at]!;
    if (byte < SPACE) return ~at;
    at = byte === BACKSLASH || byte > 0x7f ? skipEscapeOrMultibyte(page, at) : at + 1;
    if (at < 0) return at;
  }
  return at + 1;
}

/** Skips an escape sequence, or a multi-byte character, inside a string. */
export function skipEscapeOrMultibyte(page: Uint8Array, at: number): number {
  return page[at] === BACKSLASH ? skipEscape(page, at) : skipMultibyte(page, at);
}

function skipEscape(page: Uint8Array, at: number): number {
  const letter = page[at + 1]!;
  if (ESCAPED[letter] !== 0) return at + 2;
  if (letter !== UNICODE_ESCAPE) return ~(at + 1);
  for (let digit = at + 2; digit < at + 6; digit++) if (!isHexDigit(page[digit]!)) return ~digit;
  return at + 6;
}

/** Skips a character of two to four bytes (The Unicode Standard, table 3-7, well-formed UTF-8). */
function skipMultibyte(page: Uint8Array, at: number): number {
  const first = page[at]!;
  const second = page[at + 1]!;
  if (first < 0xc2 || first > 0xf4) return ~at;
  const min = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const max = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  if (second < min || second > max) return ~(at + 1);
  const end = at + (first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4);
  for (let next = at + 2; next < end; next++) {
    if ((page[next]! & 0xc0) !== 0x80) return ~next;
  }
  return end;
}

/** Skips a number (RFC 8259, section 6). */
export function skipNumber(page: Uint8Array, at: number): number {
  if (page[at] === MINUS) at++;
  if (page[at] === ZERO) at++;
  else if ((at = skipDigits(page, at)) < 0) return at;
  if (page[at] === POINT && (at = skipDigits(page, at + 1)) < 0) return at;
  if ((page[at]! | 0x20) === 0x65) { // e or E
    const sign = page[at + 1];
    at = skipDigits(page, sign === PLUS || sign === MINUS ? at + 2 : at + 1);
  }
  return at;
}

function skipDigits(page: Uint8Array, at: number): number {
  const start = at;
  while (isDigit(page[at]!)) at++;
  return at === start ? ~at : at;
}

const LITERALS = ["null", "true", "false"].map((text) => new TextEncoder().encode(text));

/** Skips `null`, `true` or `false`. */
export function skipLiteral(page: Uint8Array, at: number): number {
  const literal = LITERALS.find(([first]) => first === page[at]);
  if (literal === undefined) return ~at;
  for (const byte of literal) if (page[at++] !== byte) return ~(at - 1);
  return at;
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= 0x39;
}

function isHexDigit(byte: number): boolean {
  const lowerCase = byte | 0x20;
  return isDigit(byte) || (lowerCase >= 0x61 && lowerCase <= 0x66);
}

/** Maximum length (bytes) of a key of a `BytesMap`. */
const MAX_KEY_LENGTH = 256;

/** Maximum number of keys of a `BytesMap`. */
const MAX_KEYS = 1_000;

/**
 * Values by bytes of a page, which are looked up without being decoded. It remembers only some keys: the last one
 * with each hash, up to a maximum length and number.
 */
export class BytesMap<T> {
  readonly #entries = new Map<number, { key: Uint8Array; value: T }>();

  /** Returns the value of the bytes between two offsets; `undefined` if it is not known. */
  get(page: Uint8Array, start: number, end: number): T | undefined {
    const entry = this.#entries.get(hashOf(page, start, end));
    if (entry?.key.length !== end - start) return undefined;
    for (let index = 0; index < entry.key.length; index++) {
      if (entry.key[index] !== page[start + index]) return undefined;
    }
    return entry.value;
  }

  /** Sets the value of the bytes between two offsets. Returns the value. */
  set(page: Uint8Array, start: number, end: number, value: T): T {
    if (end - start <= MAX_KEY_LENGTH && this.#entries.size < MAX_KEYS) {
      this.#entries.set(hashOf(page, start, end), { key: page.slice(start, end), value });
    }
    return value;
  }
}

/** Returns a hash (32 bits) of bytes. */
function hashOf(page: Uint8Array, start: number, end: number): number {
  let hash = 0;
  for (let at = start; at < end; at++) hash = Math.imul(hash, 31) + page[at]! | 0;
  return hash;
}
