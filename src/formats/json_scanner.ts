// Scans JSON without parsing it. Each `skip` function returns the offset after the token, or the
// complement (`~`) of the offset of the first byte that does not fit. Zeros must follow the
// bytes: they end every token, so for an incomplete value this is the offset of the first zero.

import { utf8Decoder, utf8Encoder } from "../bytes.ts";

export const TAB = 0x09;
export const LINE_FEED = 0x0a;
export const CARRIAGE_RETURN = 0x0d;
export const SPACE = 0x20;
export const QUOTE = 0x22;
export const PLUS = 0x2b;
export const COMMA = 0x2c;
export const MINUS = 0x2d;
export const POINT = 0x2e;
export const ZERO = 0x30;
export const COLON = 0x3a;
export const OPEN_ARRAY = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_ARRAY = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;

export const UNICODE_ESCAPE = 0x75;

/** By the second byte of the escape (RFC 8259, section 7); 0 for other bytes. */
export const ESCAPED = new Uint8Array(256);
for (const [index, letter] of [...'"\\/bfnrt'].entries()) {
  ESCAPED[letter.charCodeAt(0)] = '"\\/\b\f\n\r\t'.charCodeAt(index);
}

/** Maximum nesting (levels). The values of the service have at most two levels. */
const MAX_NESTING = 1_000;

/** Arrays and objects are rare: `JSON.parse` checks what is between their brackets. */
export function skipValue(page: Uint8Array, start: number): number {
  const first = page[start]!;
  if (first === QUOTE) return skipString(page, start);
  if (first === MINUS || isDigit(first)) return skipNumber(page, start);
  if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) return skipLiteral(page, start);
  let at = start;
  let depth = 0;
  do {
    const byte = page[at];
    if (byte === QUOTE) {
      if ((at = skipString(page, at)) < 0) return at;
      continue;
    }
    if (byte === 0) return ~at;
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth++;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth--;
    if (depth > MAX_NESTING) {
      throw new PageFault("A value is nested too deep", { hint: "select other fields" });
    }
    at++;
  } while (depth > 0);
  try {
    parseBytes(page, start, at);
    return at;
  } catch {
    return ~start;
  }
}

export function parseBytes(page: Uint8Array, start: number, end: number): unknown {
  return JSON.parse(utf8Decoder.decode(page.subarray(start, end)));
}

export function skipWhiteSpace(page: Uint8Array, at: number): number {
  for (;;) {
    const byte = page[at];
    if (byte !== SPACE && byte !== LINE_FEED && byte !== CARRIAGE_RETURN && byte !== TAB) return at;
    at++;
  }
}

export function skipColon(page: Uint8Array, at: number): number {
  at = skipWhiteSpace(page, at);
  return page[at] === COLON ? skipWhiteSpace(page, at + 1) : ~at;
}

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

/** The Unicode Standard, table 3-7. */
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

/** RFC 8259, section 6. */
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

const LITERALS = ["null", "true", "false"].map((text) => utf8Encoder.encode(text));

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

/** Bytes. */
const MAX_KEY_LENGTH = 256;

const MAX_KEYS = 1_000;

/** Finds most values of repeated bytes without decoding them. Keeps the last key with each hash. */
export class BytesCache<T> {
  readonly #entries = new Map<number, { key: Uint8Array; value: T }>();
  readonly #read: (page: Uint8Array, start: number, end: number) => T;

  constructor(read: (page: Uint8Array, start: number, end: number) => T) {
    this.#read = read;
  }

  get(page: Uint8Array, start: number, end: number): T {
    const hash = hashOf(page, start, end);
    const entry = this.#entries.get(hash);
    if (entry !== undefined && isAt(page, start, end, entry.key)) return entry.value;
    const value = this.#read(page, start, end);
    if (end - start <= MAX_KEY_LENGTH && this.#entries.size < MAX_KEYS) {
      this.#entries.set(hash, { key: page.slice(start, end), value });
    }
    return value;
  }
}

function isAt(page: Uint8Array, start: number, end: number, bytes: Uint8Array): boolean {
  if (bytes.length !== end - start) return false;
  for (let index = 0; index < bytes.length; index++) {
    if (bytes[index] !== page[start + index]) return false;
  }
  return true;
}

export function hashOf(page: Uint8Array, start: number, end: number): number {
  let hash = 0;
  for (let at = start; at < end; at++) hash = Math.imul(hash, 31) + page[at]! | 0;
  return hash;
}

/** What the caller can do about a page that the service would send again. */
interface Remedy {
  hint: string;
  /** As in `DataStreamError`. */
  option?: string;
}

/** A page that cannot be converted: malformed, or with a `remedy`, such as for a field that cannot become a column. */
export class PageFault extends SyntaxError {
  override readonly name = "PageFault";

  constructor(readonly received: string, readonly remedy?: Remedy) {
    super(remedy ? `${received}: ${remedy.hint}` : `Expected a page of JSON, got ${received}`);
  }
}
