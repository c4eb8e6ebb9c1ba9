// Reads numbers from their bytes.
import { utf8Decoder } from "../bytes.ts";
import { JSON_NUMBER } from "../validation.ts";
import { MINUS, POINT, ZERO } from "./json_scanner.ts";

/** Powers of ten that a double represents exactly. */
const POWERS = /* @__PURE__ */ Array.from({ length: 16 }, (_, exponent) => 10 ** exponent);

/**
 * Reads a finite number from the text of a value.
 *
 * @param isString Whether the value was a string
 * @returns `undefined` for other values
 */
export function readNumber(
  bytes: Uint8Array,
  start: number,
  end: number,
  isString: boolean,
): number | undefined {
  const text = isString ? decode(bytes, start, end) : undefined;
  // `true` and `false` begin with letters.
  const isNumber = text === undefined ? bytes[start]! < 0x40 : JSON_NUMBER.test(text);
  if (!isNumber) return undefined;
  const number = readDecimal(bytes, start, end) ?? Number(text ?? decode(bytes, start, end));
  return Number.isFinite(number) ? number : undefined;
}

/**
 * Reads a number of at most 15 digits without an exponent, as `Number()` does: both the digits as an integer and the
 * power of ten are exact, and a quotient of exact numbers is rounded once.
 *
 * @returns `undefined` for other numbers
 */
export function readDecimal(bytes: Uint8Array, start: number, end: number): number | undefined {
  const isNegative = bytes[start] === MINUS;
  let at = isNegative ? start + 1 : start;
  if (end - at > POWERS.length) return undefined;
  let digits = 0;
  let fraction = 0;
  for (; at < end; at++) {
    const digit = bytes[at]! - ZERO;
    if (digit >= 0 && digit <= 9) digits = 10 * digits + digit;
    else if (bytes[at] === POINT) fraction = end - at - 1;
    else return undefined;
  }
  if (digits > Number.MAX_SAFE_INTEGER) return undefined;
  const number = fraction > 0 ? digits / POWERS[fraction]! : digits;
  return isNegative ? -number : number;
}

function decode(bytes: Uint8Array, start: number, end: number): string {
  return utf8Decoder.decode(bytes.subarray(start, end));
}
