import type { AnyResourceQuery } from "../src/client/query.ts";
import { ValidationError } from "../src/errors.ts";
import type { CsvOptions } from "../src/formats/csv.ts";
import { type FormatName, FORMATS } from "../src/formats/formats.ts";
import { type BoundingBox, BOX_EXAMPLE, BOX_FORM, parseBox } from "../src/odata/bounding_box.ts";
import { MAXIMUM_TOP } from "../src/odata/resources.ts";
import {
  invalidValue,
  parseWholeNumber,
  requireWholeNumber,
  suggestBySpelling,
} from "../src/validation.ts";

/** Parameters of a download URL. */
export interface DownloadParameters {
  /**
   * `$select`, `$filter`, `$top`, `$skiptoken`, `limit` and `bbox` as options of `DataStream`. `$top` is
   * the number of rows per page. In OData, it is the number of rows of the result.
   */
  query: AnyResourceQuery & { filter: string | undefined };
  /** `$count`: whether to return the number of rows, without the rows. OData returns both. */
  count: boolean;
  /** `$format`: name or media type of a format. */
  format: string | undefined;
  /** `separator`, `bom`, `header` and `escapeFormulas`. */
  csv: CsvOptions;
  /** `filename`. */
  fileName: string | undefined;
  /** Parameters to log; see {@linkcode loggedParameters}. */
  logged: Readonly<Record<string, string>>;
}

/** Names of the URL parameters of a download. OData defines those that begin with `$`. */
export const DOWNLOAD_PARAMETERS: readonly string[] = [
  "$select",
  "$filter",
  "$top",
  "$skiptoken",
  "$count",
  "$format",
  "limit",
  "bbox",
  "separator",
  "bom",
  "header",
  "escapeFormulas",
  "filename",
];

/**
 * Reads the parameters of a download URL. `DataStream` checks the fields, the filter, the position,
 * the bounding box and the separator.
 *
 * @param url URL of the request
 * @param accessParameters Names of parameters that the access mode adds, such as `expires` and
 *   `signature`
 * @param formatInPath Format of the extension in the path, if any
 * @throws {ValidationError} If a parameter is unknown, repeated, empty or invalid
 */
export function readDownloadParameters(
  url: URL,
  accessParameters: readonly string[],
  formatInPath: FormatName | undefined,
): DownloadParameters {
  const values = readParameters(url, [...DOWNLOAD_PARAMETERS, ...accessParameters]);
  if (formatInPath !== undefined && values.has("$format")) {
    const problem = `cannot be combined with the extension .${FORMATS[formatInPath].extension}`;
    throw new ValidationError("$format", problem, {
      received: values.get("$format"),
      hint: "omit one of them",
    });
  }
  const separator = values.get("separator");
  return {
    query: {
      select: values.get("$select"),
      filter: values.get("$filter"),
      top: readWholeNumber(values, "$top", 1, MAXIMUM_TOP),
      skipToken: values.get("$skiptoken"),
      limit: readWholeNumber(values, "limit", 0),
      within: readBoundingBox(values.get("bbox")),
    },
    count: readBoolean(values, "$count") ?? false,
    format: values.get("$format"),
    csv: {
      separator: separator === "tab" ? "\t" : separator,
      bom: readBoolean(values, "bom"),
      header: readBoolean(values, "header"),
      escapeFormulas: readBoolean(values, "escapeFormulas"),
    },
    fileName: values.get("filename"),
    logged: loggedParameters(values, accessParameters),
  };
}

/** Returns the parameters to log: all except `filename`, which can be any text, and those of the access mode. */
export function loggedParameters(
  values: ReadonlyMap<string, string>,
  accessParameters: readonly string[],
): Record<string, string> {
  const hidden = ["filename", ...accessParameters];
  return Object.fromEntries([...values].filter(([name]) => !hidden.includes(name)));
}

/** Hints for OData options that are not supported, common other names, and API keys. */
const PARAMETER_HINTS = new Map([
  ["$orderby", "omit it: rows are ordered by Id"],
  ["$skip", 'use "$skiptoken=Id:<last Id>"'],
  ["columns", 'use "$select"'],
  ["fields", 'use "$select"'],
  ["rows", 'use "limit"'],
  ["delimiter", 'use "separator"'],
  ["within", 'use "bbox"'],
  ["unchecked", "omit it: a URL accepts known names only"],
  ...["apikey", "api_key", "api-key", "key", "x-api-key"].map((name) =>
    [name, "omit it: an API key does not belong in a URL"] as const
  ),
]);

/**
 * Reads the values of a URL's parameters, by name. `$` may be percent-encoded.
 *
 * @param url URL of the request
 * @param known Names of the parameters that the URL may have
 * @throws {ValidationError} If a parameter is unknown, repeated or empty
 */
export function readParameters(url: URL, known: readonly string[]): Map<string, string> {
  const values = new Map<string, string>();
  for (const [name, value] of url.searchParams) {
    if (!known.includes(name)) {
      throw new ValidationError("url", `has an unknown parameter "${name}"`, {
        received: name,
        hint: PARAMETER_HINTS.get(name.toLowerCase()) ?? suggestBySpelling(name, known),
      });
    }
    if (values.has(name)) {
      throw new ValidationError(name, "must not be repeated", {
        received: value,
        hint: "give it once",
      });
    }
    // A separator may be white space, such as a tab.
    if (value.trim() === "" && name !== "separator") {
      throw new ValidationError(name, "must not be empty", {
        received: value,
        hint: "omit it, or give it a value",
      });
    }
    values.set(name, value);
  }
  return values;
}

/**
 * Reads a bounding box.
 *
 * @param text Value of the parameter `bbox`, if any
 * @throws {ValidationError} If the value is not four numbers
 */
export function readBoundingBox(text: string | undefined): BoundingBox | undefined {
  if (text === undefined) return undefined;
  const box = parseBox(text);
  if (box !== undefined) return box;
  const expected = `${BOX_FORM}, such as ${BOX_EXAMPLE}`;
  throw invalidValue("bbox", expected, shorten(text));
}

function readWholeNumber(
  values: ReadonlyMap<string, string>,
  name: string,
  min: number,
  max?: number,
): number | undefined {
  const text = values.get(name);
  if (text === undefined) return undefined;
  // Other text, such as "1e3", stays text, so that the check rejects it and shows it.
  const value = parseWholeNumber(text) ?? shorten(text);
  requireWholeNumber(name, value, min, max);
  return Number(text);
}

const BOOLEANS: Record<string, boolean> = { true: true, 1: true, false: false, 0: false };

function readBoolean(values: ReadonlyMap<string, string>, name: string): boolean | undefined {
  const text = values.get(name);
  if (text === undefined) return undefined;
  if (Object.hasOwn(BOOLEANS, text)) return BOOLEANS[text];
  throw invalidValue(name, "true or false", shorten(text));
}

/** Maximum length of a value in a message, in characters. */
const MAX_SHOWN_LENGTH = 60;

/** Shortens a value for a message. */
export function shorten(text: string): string {
  return text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH)}…` : text;
}
