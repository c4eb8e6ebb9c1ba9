import { assertEquals } from "@std/assert";
import { csvFromPage, type CsvOptions, geojsonFromPage, ndjsonFromPage } from "../../../mod.ts";
import { createJsonWriter } from "../../../src/formats/json.ts";
import { writePage } from "../../../src/formats/page_writer.ts";

/** Fields and values of a row; a number is an object with its digits, which no string equals. */
export type PageRow = Record<string, unknown>;

/** Rows of a page, or the class of the error. */
export type Reading = { rows: readonly unknown[] } | { error: "SyntaxError" };

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

/** Asserts that each format returns the rows of a page, and returns these. */
export function assertAgreement(page: Uint8Array, message: string): Reading {
  const expected = readStrictly(page);
  assertEquals(readAsNdjson(page), expected, `NDJSON: ${message}`);
  assertEquals(readAsJson(page), expected, `JSON: ${message}`);
  assertEquals(readAsGeoJson(page), expected, `GeoJSON: ${message}`);
  for (const options of CSV_OPTIONS) {
    const csv = readAsCsv(page, options);
    assertEquals(typeof csv, "rows" in expected ? "string" : "object", `CSV: ${message}`);
  }
  return expected;
}
