import { assertEquals } from "@std/assert";
import { csvFromPage, type CsvOptions, geojsonFromPage, ndjsonFromPage } from "../../../mod.ts";
import { createJsonWriter } from "../../../src/formats/json.ts";
import { writePage } from "../../../src/formats/page_writer.ts";

const encoder = new TextEncoder();

/** Fields and values of a row; a number is an object with its digits, which no string equals. */
export type PageRow = Record<string, unknown>;

/** Rows of a page, or the class of the error. */
export type Reading = { rows: readonly unknown[] } | { error: "SyntaxError" };

/** Byte sequences that are invalid in all or some positions of JSON. */
export const STRAY_BYTES: readonly [name: string, bytes: readonly number[]][] = [
  ["a lone continuation byte", [0x80]],
  ["a two-byte character without its end", [0xc3]],
  ["a three-byte character without its end", [0xe2, 0x82]],
  ["a four-byte character without its end", [0xf0, 0x9f, 0xa6]],
  ["an overlong slash of two bytes", [0xc0, 0xaf]],
  ["an overlong slash of three bytes", [0xe0, 0x80, 0xaf]],
  ["an overlong slash of four bytes", [0xf0, 0x80, 0x80, 0xaf]],
  ["an encoded surrogate", [0xed, 0xa0, 0x80]],
  ["a character above U+10FFFF", [0xf4, 0x90, 0x80, 0x80]],
  ["the byte 0xFF", [0xff]],
  ["the byte 0xFE", [0xfe]],
  ["a byte order mark", [0xef, 0xbb, 0xbf]],
  ["a byte order mark of UTF-16", [0xff, 0xfe]],
  ["a NUL byte", [0]],
  ["a control character", [0x1f]],
  ["a form feed", [0x0c]],
  ["a delete character", [0x7f]],
  ["a no-break space", [0xc2, 0xa0]],
  ["a line separator", [0xe2, 0x80, 0xa8]],
  ["a backslash", [0x5c]],
  ["a quote", [0x22]],
  ["a comma", [0x2c]],
  ["a digit", [0x30]],
  ["a closing brace", [0x7d]],
  ["a closing bracket", [0x5d]],
];

/** Returns a page with bytes inserted at an offset. */
export function insertBytes(page: Uint8Array, at: number, bytes: readonly number[]): Uint8Array {
  return Uint8Array.from([...page.subarray(0, at), ...bytes, ...page.subarray(at)]);
}

const VALUE = encoder.encode('"value"');
const ESCAPED_VALUE = encoder.encode(String.raw`"\u0076alue"`);

/**
 * Replaces each `"value"`, the name of the rows, by an equivalent string with an escape sequence. A transcoder must
 * recognise both.
 */
export function escapeRowsName(page: Uint8Array): Uint8Array {
  const bytes: number[] = [];
  for (let at = 0; at < page.length;) {
    if (VALUE.every((byte, index) => page[at + index] === byte)) {
      bytes.push(...ESCAPED_VALUE);
      at += VALUE.length;
    } else bytes.push(page[at++]!);
  }
  return Uint8Array.from(bytes);
}

/** Parses JSON and keeps the digits of numbers. */
function parseDigits(text: string): unknown {
  const keepDigits = (_: string, value: unknown, { source }: { source?: string }) =>
    typeof value === "number" ? { digits: source } : value;
  return JSON.parse(text, keepDigits as (name: string, value: unknown) => unknown);
}

function isObject(value: unknown): value is PageRow {
  return typeof value === "object" && value !== null && !Array.isArray(value) &&
    !("digits" in value);
}

/** Returns how many members of the outermost object have the name of the rows. */
function countRowLists(json: string): number {
  let depth = 0;
  let lists = 0;
  for (
    const [token, string] of json.matchAll(/("(?:[^"\\]|\\.)*")\s*:|"(?:[^"\\]|\\.)*"|[[\]{}]/gs)
  ) {
    if (/^[[{]/.test(token)) depth++;
    else if (/^[\]}]/.test(token)) depth--;
    else if (depth === 1 && string !== undefined && JSON.parse(string) === "value") lists++;
  }
  return lists;
}

/**
 * Reads a page with `TextDecoder` and `JSON.parse()`, as a reference for all formats. A second list of rows is an
 * error.
 */
export function readStrictly(page: Uint8Array): Reading {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(page);
    const body = parseDigits(text);
    if (
      !isObject(body) || !Array.isArray(body.value) || !body.value.every(isObject) ||
      countRowLists(text) > 1
    ) {
      return { error: "SyntaxError" };
    }
    return { rows: body.value };
  } catch {
    return { error: "SyntaxError" };
  }
}

/** Returns the result of a function, or the class of its error; fails for other classes. */
function outcomeOf<T>(make: () => T): T | { error: "SyntaxError" } {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { error: "SyntaxError" };
  }
}

export function readAsCsv(page: Uint8Array, options?: CsvOptions): unknown {
  return outcomeOf(() => decode(csvFromPage(page, options)));
}

export function readAsNdjson(page: Uint8Array): Reading {
  return outcomeOf(() => {
    const lines = decode(ndjsonFromPage(page)).split("\n").slice(0, -1);
    return { rows: lines.map(parseDigits) };
  });
}

/** Converts a page to a JSON document and parses its rows. */
export function readAsJson(page: Uint8Array): Reading {
  return outcomeOf(() => {
    const writer = createJsonWriter();
    const text = decode(writePage(writer, page)) + decode(writer.end());
    return { rows: (parseDigits(text) as { value: unknown[] }).value };
  });
}

export function readAsGeoJson(page: Uint8Array): Reading {
  return outcomeOf(() => {
    const { features } = parseDigits(decode(geojsonFromPage(page))) as {
      features: { properties: PageRow }[];
    };
    return { rows: features.map(({ properties }) => properties) };
  });
}

/** Decodes UTF-8 and throws if it is invalid. */
function decode(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
}

/** Default options, and options with another column order and separator. */
const CSV_OPTIONS: readonly (CsvOptions | undefined)[] = [
  undefined,
  { columns: ["é", "Id", "l", "q"], separator: ";", escapeFormulas: true },
];

/** Asserts that each format returns the rows of a page, also if the name of the rows has an escape sequence. */
export function assertAgreement(page: Uint8Array, message: string): void {
  const expected = readStrictly(page);
  const escaped = escapeRowsName(page);
  assertEquals(readStrictly(escaped), expected, `the escape changes ${message}`);
  for (const given of [page, escaped]) {
    assertEquals(readAsNdjson(given), expected, `NDJSON: ${message}`);
    assertEquals(readAsJson(given), expected, `JSON: ${message}`);
    assertEquals(readAsGeoJson(given), expected, `GeoJSON: ${message}`);
  }
  for (const options of CSV_OPTIONS) {
    const csv = readAsCsv(page, options);
    assertEquals(readAsCsv(escaped, options), csv, `CSV: ${message}`);
    assertEquals(typeof csv, "rows" in expected ? "string" : "object", `CSV: ${message}`);
  }
}
