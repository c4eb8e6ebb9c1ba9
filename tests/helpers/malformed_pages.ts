import { assertEquals } from "@std/assert";
import { csvFromPage, type CsvOptions, geojsonFromPage, ndjsonFromPage } from "../../mod.ts";
import { createJsonWriter } from "../../src/formats/json.ts";

const encoder = new TextEncoder();

/** The fields and values of a row; numbers as their digits, marked so that no text equals them. */
export type PageRow = Record<string, unknown>;

/** Result of reading a page: its rows, or the reason why it is not a page. */
export type Reading = { rows: readonly unknown[] } | { error: "SyntaxError" };

/** Bytes that may not stand everywhere in JSON, or nowhere. */
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
 * Returns a page in which each `"value"` is spelled with an escape. It means the same, but the path
 * that scans bytes does not find the rows, so that the page is parsed.
 */
export function forParsedPath(page: Uint8Array): Uint8Array {
  const bytes: number[] = [];
  for (let at = 0; at < page.length;) {
    if (VALUE.every((byte, index) => page[at + index] === byte)) {
      bytes.push(...ESCAPED_VALUE);
      at += VALUE.length;
    } else bytes.push(page[at++]!);
  }
  return Uint8Array.from(bytes);
}

/** Keeps the digits of numbers, which doubles would lose. */
function parseDigits(text: string): unknown {
  const keepDigits = (_: string, value: unknown, { source }: { source?: string }) =>
    typeof value === "number" ? { digits: source } : value;
  return JSON.parse(text, keepDigits as (name: string, value: unknown) => unknown);
}

function isObject(value: unknown): value is PageRow {
  return typeof value === "object" && value !== null && !Array.isArray(value) &&
    !("digits" in value);
}

/** Reads a page with `TextDecoder` and `JSON.parse`: what each format has to agree with. */
export function readStrictly(page: Uint8Array): Reading {
  try {
    const body = parseDigits(new TextDecoder("utf-8", { fatal: true }).decode(page));
    if (!isObject(body) || !Array.isArray(body.value) || !body.value.every(isObject)) {
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

/** Makes CSV of a page; returns its text. */
export function readAsCsv(page: Uint8Array, options?: CsvOptions): unknown {
  return outcomeOf(() => decode(csvFromPage(page, options)));
}

/** Makes NDJSON of a page; returns the rows of the lines. */
export function readAsNdjson(page: Uint8Array): Reading {
  return outcomeOf(() => {
    const lines = decode(ndjsonFromPage(page)).split("\n").slice(0, -1);
    return { rows: lines.map(parseDigits) };
  });
}

/** Makes a JSON document of a page; returns the rows that it holds. */
export function readAsJson(page: Uint8Array): Reading {
  return outcomeOf(() => {
    const writer = createJsonWriter();
    const text = decode(writer.write(page).bytes) + decode(writer.end());
    return { rows: (parseDigits(text) as { value: unknown[] }).value };
  });
}

/** Makes GeoJSON of a page; returns the rows that its features hold. */
export function readAsGeoJson(page: Uint8Array): Reading {
  return outcomeOf(() => {
    const { features } = parseDigits(decode(geojsonFromPage(page))) as {
      features: { properties: PageRow }[];
    };
    return { rows: features.map(({ properties }) => properties) };
  });
}

/** Fails for output that is not well-formed UTF-8. */
function decode(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
}

/** Columns of the page, and columns in another order with other marks. */
const CSV_OPTIONS: readonly (CsvOptions | undefined)[] = [
  undefined,
  { columns: ["é", "Id", "l", "q"], separator: ";", escapeFormulas: true },
];

/** Fails if a format does not give the rows of the page, or if the two paths differ. */
export function assertAgreement(page: Uint8Array, message: string): void {
  const wanted = readStrictly(page);
  const general = forParsedPath(page);
  assertEquals(readStrictly(general), wanted, `the escape changes ${message}`);
  for (const given of [page, general]) {
    assertEquals(readAsNdjson(given), wanted, `NDJSON: ${message}`);
    assertEquals(readAsJson(given), wanted, `JSON: ${message}`);
    assertEquals(readAsGeoJson(given), wanted, `GeoJSON: ${message}`);
  }
  for (const options of CSV_OPTIONS) {
    const csv = readAsCsv(page, options);
    assertEquals(readAsCsv(general, options), csv, `CSV: ${message}`);
    assertEquals(typeof csv, "rows" in wanted ? "string" : "object", `CSV: ${message}`);
  }
}
