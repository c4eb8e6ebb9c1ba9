import type { CsvOptions } from "../src/formats/csv_options.ts";
import { type BoundingBox, parseBox } from "../src/odata/bounding_box.ts";
import { MAXIMUM_TOP } from "../src/odata/resources.ts";
import { didYouMean } from "../src/validation.ts";

/** What a download URL asks for. */
export interface DownloadOptions {
  select: string | undefined;
  filter: string | undefined;
  /** The page size. */
  top: number | undefined;
  skipToken: string | undefined;
  /** Whether the number of rows is asked for, and not the rows. */
  count: boolean;
  /** A format's name or media type. */
  format: string | undefined;
  /** The number of rows. */
  limit: number | undefined;
  box: BoundingBox | undefined;
  csv: CsvOptions;
  fileName: string | undefined;
}

/** The options of CSV alone. */
const CSV_OPTIONS = ["separator", "bom", "header", "escapeFormulas"] as const;

/** The query options of a download URL: OData's, then ours. */
export const OPTIONS: readonly string[] = [
  "$select",
  "$filter",
  "$top",
  "$skiptoken",
  "$count",
  "$format",
  "limit",
  "bbox",
  ...CSV_OPTIONS,
  "filename",
];

const KEY_HINT = "leave it out, a key does not belong in a URL";

/** Options of other services, and of the client, that a URL does not have. */
const OPTION_HINTS = new Map([
  ["$orderby", "leave it out, rows come in the order of their Id"],
  ["$skip", 'use "$skiptoken", with Id: and the last Id'],
  ["columns", 'use "$select"'],
  ["fields", 'use "$select"'],
  ["rows", 'use "limit"'],
  ["delimiter", 'use "separator"'],
  ["within", 'use "bbox"'],
  ["unchecked", "leave it out, a URL can only have names that Weir knows"],
  ["apikey", KEY_HINT],
  ["api_key", KEY_HINT],
  ["key", KEY_HINT],
  ["x-api-key", KEY_HINT],
]);

/**
 * Reads the query options of a URL, their `$` raw or encoded.
 *
 * @param url The URL
 * @param known The options that it may have
 * @returns The options by name
 * @throws {BadOption} If an option is unknown, given twice or empty
 */
export function readPairs(url: URL, known: readonly string[]): Map<string, string> {
  const given = new Map<string, string>();
  for (const [name, value] of url.searchParams) {
    if (!known.includes(name)) {
      const hint = OPTION_HINTS.get(name.toLowerCase()) ?? didYouMean(name, known);
      throw new BadOption(`There is no option "${name}": ${hint}`);
    }
    if (given.has(name)) throw new BadOption(`Option "${name}" is given twice: wanted it once`);
    if (value.trim() === "" && name !== "separator") {
      throw new BadOption(`Option "${name}" is empty: give it a value, or leave it out`);
    }
    given.set(name, value);
  }
  return given;
}

/**
 * Reads what a download URL asks for.
 *
 * @param given The URL's options by name
 * @param format The format that its path has; undefined where the path has none
 * @throws {BadOption} If the value of an option is none of it, or does not go with the format
 */
export function readOptions(
  given: ReadonlyMap<string, string>,
  format: string | undefined,
): DownloadOptions {
  if (format !== undefined && given.has("$format")) {
    throw new BadOption(`Option "$format" is for a path without an extension, got .${format} too`);
  }
  const top = readNumber(given, "$top", `the rows on a page, 1 to ${MAXIMUM_TOP}`);
  if (top !== undefined && (top < 1 || top > MAXIMUM_TOP)) {
    throw new BadOption(`Option "$top" is the rows on a page, 1 to ${MAXIMUM_TOP}, got "${top}"`);
  }
  return {
    select: given.get("$select"),
    filter: given.get("$filter"),
    top,
    skipToken: given.get("$skiptoken"),
    count: readBoolean(given, "$count") ?? false,
    format: given.get("$format"),
    limit: readNumber(given, "limit", "the number of rows"),
    box: readBox(given.get("bbox")),
    csv: {
      separator: given.get("separator") === "tab" ? "\t" : given.get("separator"),
      bom: readBoolean(given, "bom"),
      header: readBoolean(given, "header"),
      escapeFormulas: readBoolean(given, "escapeFormulas"),
    },
    fileName: given.get("filename"),
  };
}

/**
 * Refuses options of CSV for another format: they would be ignored.
 *
 * @throws {BadOption} If there is one
 */
export function requireCsvOptions(given: ReadonlyMap<string, string>, format: string): void {
  const wrong = CSV_OPTIONS.find((name) => given.has(name));
  if (wrong === undefined || format === "csv") return;
  throw new BadOption(`Option "${wrong}" is for CSV, got it with ${format}: leave it out`);
}

/**
 * Reads a box.
 *
 * @throws {BadOption} If it is not four numbers
 */
export function readBox(text: string | undefined): BoundingBox | undefined {
  if (text === undefined) return undefined;
  const box = parseBox(text);
  if (box !== undefined) return box;
  throw new BadOption(
    `Option "bbox" is west,south,east,north in degrees, such as -64.5,45.9,-62,47.1, got "${
      shorten(text)
    }"`,
  );
}

/** A text as an error shows it. */
function shorten(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

function readNumber(
  given: ReadonlyMap<string, string>,
  name: string,
  meaning: string,
): number | undefined {
  const text = given.get(name);
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new BadOption(`Option "${name}" is ${meaning}: wanted a whole number, got "${text}"`);
}

const BOOLEANS: Record<string, boolean> = { true: true, 1: true, false: false, 0: false };

function readBoolean(given: ReadonlyMap<string, string>, name: string): boolean | undefined {
  const text = given.get(name);
  if (text === undefined || Object.hasOwn(BOOLEANS, text)) return BOOLEANS[text ?? ""];
  throw new BadOption(`Option "${name}" is true or false, got "${text}"`);
}

/** A download URL whose options cannot be read; the message says what was wanted. */
export class BadOption extends Error {
  override readonly name = "BadOption";
}
