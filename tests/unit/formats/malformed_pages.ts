import { assertEquals } from "@std/assert";
import { csvFromPage, geojsonFromPage, ndjsonFromPage } from "../../../mod.ts";
import { concatBytes } from "../../../src/bytes.ts";
import { createJsonWriter } from "../../../src/formats/json.ts";
import { writePage } from "../../../src/formats/page_writer.ts";

/** Rows of a page, or that the page is no list of rows. */
export type Reading = { rows: readonly unknown[] } | "SyntaxError";

type Members = Record<string, unknown>;

/** Parses JSON. A number becomes an object with its digits, which no string equals. */
function parseDigits(text: string): unknown {
  const keepDigits = (_: string, value: unknown, { source }: { source?: string }) =>
    typeof value === "number" ? { digits: source } : value;
  return JSON.parse(text, keepDigits as (name: string, value: unknown) => unknown);
}

function isObject(value: unknown): value is Members {
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

/** Decodes UTF-8 and throws if it is invalid. */
function decode(bytes: Uint8Array, ignoreBOM = true): string {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM }).decode(bytes);
}

/** Reads a page with `JSON.parse()`, as a reference for all formats. A second list of rows is an error. */
export function readStrictly(page: Uint8Array): Reading {
  try {
    const text = decode(page, false);
    const { value } = parseDigits(text) as Members;
    const isPage = Array.isArray(value) && value.every(isObject) && countRowLists(text) === 1;
    return isPage ? { rows: value } : "SyntaxError";
  } catch {
    return "SyntaxError";
  }
}

/** Functions that convert a page to a format and read the rows of the result. CSV has no types of values. */
const READERS: Record<string, (page: Uint8Array) => unknown[] | undefined> = {
  NDJSON: (page) => decode(ndjsonFromPage(page)).split("\n").slice(0, -1).map(parseDigits),
  JSON(page) {
    const writer = createJsonWriter();
    const document = concatBytes([writePage(writer, page), writer.end()]);
    return (parseDigits(decode(document)) as { value: unknown[] }).value;
  },
  GeoJSON(page) {
    const { features } = parseDigits(decode(geojsonFromPage(page))) as { features: Members[] };
    return features.map(({ properties }) => properties);
  },
  CSV: (page) => void decode(csvFromPage(page)),
  "CSV with columns": (page) =>
    void csvFromPage(page, {
      columns: ["é", "Id", "l", "q"],
      separator: ";",
      escapeFormulas: true,
    }),
};

/** Asserts that each format has the rows of a page or throws a SyntaxError, and returns the rows. */
export function assertAgreement(page: Uint8Array, message: string): Reading {
  const expected = readStrictly(page);
  for (const [format, read] of Object.entries(READERS)) {
    let found: Reading;
    try {
      const rows = read(page);
      found = rows === undefined && expected !== "SyntaxError" ? expected : { rows: rows ?? [] };
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      found = "SyntaxError";
    }
    assertEquals(found, expected, `${format}: ${message}`);
  }
  return expected;
}
