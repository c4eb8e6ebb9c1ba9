// Reads dates, times and offsets of rows from their bytes, and writes them in UTC.
import { utf8Encoder } from "../bytes.ts";
import { COLON, MINUS, PLUS, POINT, QUOTE, ZERO } from "./json_scanner.ts";

/** Names of the offset 0, in lower case. */
const UTC_NAMES = ["z", "utc", "gmt"].map((name) => utf8Encoder.encode(name));
const LETTER_T = 0x54;
const LETTER_Z = 0x5a;
/** Length of `YYYY-MM-DD`. */
const DATE_LENGTH = 10;
const DAY_MINUTES = 24 * 60;
const DAY_MS = 60_000 * DAY_MINUTES;

/** Returned instead of a number if a character is not a digit. Sums and products with it stay negative. */
export const NO_NUMBER = -1e6;

/** Reads two digits; `NO_NUMBER` if one is missing. */
export function readTwo(bytes: Uint8Array, at: number): number {
  const tens = bytes[at]! - ZERO;
  const ones = bytes[at + 1]! - ZERO;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? 10 * tens + ones : NO_NUMBER;
}

/** Reads `count` digits; `NO_NUMBER` if one is missing. */
function readDigits(bytes: Uint8Array, at: number, count: number): number {
  let number = 0;
  for (const end = at + count; at < end; at++) {
    const digit = bytes[at]! - ZERO;
    if (!(digit >= 0 && digit <= 9)) return NO_NUMBER;
    number = 10 * number + digit;
  }
  return number;
}

/** Whether a text is a name of the offset 0, in any letter case. */
function isUtc(bytes: Uint8Array, start: number, end: number): boolean {
  return UTC_NAMES.some((name) =>
    name.length === end - start &&
    name.every((letter, index) => (bytes[start + index]! | 0x20) === letter)
  );
}

/**
 * Reads an offset from UTC in minutes: `Z`, `UTC`, `GMT`, `±HH:MM`, or one of the forms that imports of DataStream
 * accept: `±HHMM`, `±HMM`, `±H:MM`.
 *
 * @returns The offset, from −12:00 to +14:00; otherwise `NO_NUMBER`
 */
export function readOffset(bytes: Uint8Array, start: number, end: number): number {
  const sign = bytes[start];
  if (sign === LETTER_Z && end === start + 1) return 0;
  if (sign !== PLUS && sign !== MINUS) return isUtc(bytes, start, end) ? 0 : NO_NUMBER;
  const hoursEnd = bytes[end - 3] === COLON ? end - 3 : end - 2;
  const digits = hoursEnd - start - 1;
  if (digits !== 1 && digits !== 2) return NO_NUMBER;
  const minutes = readTwo(bytes, end - 2);
  const offset = 60 * readDigits(bytes, start + 1, digits) + minutes;
  if (!(minutes >= 0 && minutes < 60 && offset >= 0)) return NO_NUMBER;
  if (sign === PLUS) return offset <= 14 * 60 ? offset : NO_NUMBER;
  return offset <= 12 * 60 ? -offset : NO_NUMBER;
}

function daysIn(month: number, year: number): number {
  if (month !== 2) return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
}

/** Returns the days of `YYYY-MM-DD` since 1970-01-01; `NO_NUMBER` if there is no such day. */
export function dayNumber(bytes: Uint8Array, start: number, end: number): number {
  if (end - start !== DATE_LENGTH || bytes[start + 4] !== MINUS || bytes[start + 7] !== MINUS) {
    return NO_NUMBER;
  }
  const year = 100 * readTwo(bytes, start) + readTwo(bytes, start + 2);
  const month = readTwo(bytes, start + 5);
  const day = readTwo(bytes, start + 8);
  const exists = year >= 0 && month >= 1 && month <= 12 && day >= 1 && day <= daysIn(month, year);
  if (!exists) return NO_NUMBER;
  // `Date.UTC()` takes eight times as long. In years that begin in March, the leap day is the last day, and the months
  // begin after 0, 31, 61, 92, 122, 153, … days. From 0000-03-01 to 1970-01-01, there are 719,468 days.
  const marchYear = month > 2 ? year : year - 1;
  const leapDays = Math.floor(marchYear / 4) - Math.floor(marchYear / 100) +
    Math.floor(marchYear / 400);
  const monthStart = Math.floor((153 * ((month + 9) % 12) + 2) / 5);
  return 365 * marchYear + leapDays + monthStart + day - 1 - 719_468;
}

/**
 * Writes a local date and time, less its offset, as `"YYYY-MM-DDTHH:MM:SS[.fff]Z"`.
 *
 * @param offset Offset from UTC, in minutes
 * @returns The offset of the closing quote; 0 if the date or the time is malformed or does not exist
 */
export function writeUtc(
  bytes: Uint8Array,
  dateAt: number,
  dateEnd: number,
  timeAt: number,
  timeEnd: number,
  offset: number,
  out: Uint8Array,
  outAt: number,
): number {
  const day = dayNumber(bytes, dateAt, dateEnd);
  if (day === NO_NUMBER) return 0;
  const minuteAt = bytes[timeAt + 1] === COLON ? timeAt + 2 : timeAt + 3;
  const secondAt = minuteAt + 3;
  const hasSeconds = timeEnd >= secondAt;
  const minutesEnd = minuteAt + 2;
  const hour = readDigits(bytes, timeAt, minuteAt - timeAt - 1);
  const minute = readTwo(bytes, minuteAt);
  const second = hasSeconds ? readTwo(bytes, secondAt) : 0;
  const isTime = timeEnd >= minutesEnd && bytes[minuteAt - 1] === COLON &&
    hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second < 60;
  const fractionAt = secondAt + 2;
  const fractionLength = hasSeconds ? timeEnd - fractionAt : 0;
  const isFraction = fractionLength === 0 ||
    fractionLength >= 2 && fractionLength <= 4 && bytes[fractionAt] === POINT &&
      readDigits(bytes, fractionAt + 1, fractionLength - 1) >= 0;
  if (!isTime || !isFraction) return 0;
  if (hasSeconds && bytes[minutesEnd] !== COLON) return 0;

  const minutes = 60 * hour + minute - offset;
  const days = Math.floor(minutes / DAY_MINUTES);
  let at = outAt;
  out[at++] = QUOTE;
  if (days === 0) {
    for (let from = dateAt; from < dateEnd; from++) out[at++] = bytes[from]!;
  } else {
    const date = new Date(DAY_MS * (day + days)).toISOString();
    // Years before 0 and after 9999 have a sign.
    if (!/^\d{4}-/.test(date)) return 0;
    at += utf8Encoder.encodeInto(date.slice(0, DATE_LENGTH), out.subarray(at)).written;
  }
  out[at++] = LETTER_T;
  const minuteOfDay = minutes - DAY_MINUTES * days;
  at = writeTwo(out, at, Math.floor(minuteOfDay / 60));
  out[at++] = COLON;
  at = writeTwo(out, at, minuteOfDay % 60);
  out[at++] = COLON;
  at = writeTwo(out, at, second);
  for (let index = 0; index < fractionLength; index++) out[at++] = bytes[fractionAt + index]!;
  out[at++] = LETTER_Z;
  out[at] = QUOTE;
  return at;
}

/** Writes two digits. Returns the offset after them. */
function writeTwo(out: Uint8Array, at: number, number: number): number {
  out[at++] = ZERO + (number / 10 | 0);
  out[at++] = ZERO + number % 10;
  return at;
}
