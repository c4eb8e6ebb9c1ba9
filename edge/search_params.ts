import { ValidationError } from "../src/errors.ts";
import type { CsvOptions } from "../src/formats/csv_options.ts";
import { type FormatName, FORMATS } from "../src/formats/formats.ts";
import { type BoundingBox, parseBox } from "../src/odata/bounding_box.ts";
import { MAXIMUM_TOP } from "../src/odata/resources.ts";
import { didYouMean, invalidValue, requireWholeNumber } from "../src/validation.ts";

/** Parameters of a download URL. */
export interface DownloadParameters {
  select: string | undefined;
  filter: string | undefined;
  top: number | undefined;
  skipToken: string | undefined;
  /** Whether to return the number of rows instead of the rows. */
  count: boolean;
  /** Name or media type of a format. */
  format: string | undefined;
  limit: number | undefined;
  within: BoundingBox | undefined;
  csv: CsvOptions;
  fileName: string | undefined;
}

/** URL parameters that apply only to CSV. */
const CSV_PARAMETERS = ["separator", "bom", "header", "escapeFormulas"] as const;

/** URL parameters of a download: those of OData, then those of Weir. */
const DOWNLOAD_PARAMETERS: readonly string[] = [
  "$select",
  "$filter",
  "$top",
  "$skiptoken",
  "$count",
  "$format",
  "limit",
  "bbox",
  ...CSV_PARAMETERS,
  "filename",
];

/**
 * Reads the parameters of a download URL. Options of the query itself, such as `$filter`, are checked
 * by the client.
 *
 * @param url URL of the request
 * @param accessParameters Names of parameters that belong to the access mode
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
    select: values.get("$select"),
    filter: values.get("$filter"),
    top: readWholeNumber(values, "$top", 1, MAXIMUM_TOP),
    skipToken: values.get("$skiptoken"),
    count: readBoolean(values, "$count") ?? false,
    format: values.get("$format"),
    limit: readWholeNumber(values, "limit", 0),
    within: readBoundingBox(values.get("bbox")),
    csv: {
      separator: separator === "tab" ? "\t" : separator,
      bom: readBoolean(values, "bom"),
      header: readBoolean(values, "header"),
      escapeFormulas: readBoolean(values, "escapeFormulas"),
    },
    fileName: values.get("filename"),
  };
}

/** Hints for parameters of other services and options of the client. */
const PARAMETER_HINTS = new Map([
  ["$orderby", "omit it: rows are ordered by Id"],
  ["$skip", 'use "$skiptoken", with Id: and the last Id'],
  ["columns", 'use "$select"'],
  ["fields", 'use "$select"'],
  ["rows", 'use "limit"'],
  ["delimiter", 'use "separator"'],
  ["within", 'use "bbox"'],
  ["unchecked", "omit it: a URL accepts known names only"],
  ...["apikey", "api_key", "key", "x-api-key"].map((name) =>
    [name, "omit it: an API key does not belong in a URL"] as const
  ),
]);

/**
 * Reads the parameters of a URL by name, `$` encoded or not.
 *
 * @param url URL of the request
 * @param known Names that the URL may have
 * @throws {ValidationError} If a parameter is unknown, repeated or empty
 */
export function readParameters(url: URL, known: readonly string[]): Map<string, string> {
  const values = new Map<string, string>();
  for (const [name, value] of url.searchParams) {
    if (!known.includes(name)) {
      throw new ValidationError("url", `has an unknown parameter "${name}"`, {
        received: name,
        hint: PARAMETER_HINTS.get(name.toLowerCase()) ?? didYouMean(name, known),
      });
    }
    if (values.has(name)) {
      throw new ValidationError(name, "must not be repeated", {
        received: value,
        hint: "give it once",
      });
    }
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
 * @throws {ValidationError} If it is not four numbers
 */
export function readBoundingBox(text: string | undefined): BoundingBox | undefined {
  if (text === undefined) return undefined;
  const box = parseBox(text);
  if (box !== undefined) return box;
  const expected = "west,south,east,north in degrees, such as -64.5,45.9,-62,47.1";
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
  requireWholeNumber(name, /^\d{1,15}$/.test(text) ? Number(text) : shorten(text), min, max);
  return Number(text);
}

const BOOLEANS: Record<string, boolean> = { true: true, 1: true, false: false, 0: false };

function readBoolean(values: ReadonlyMap<string, string>, name: string): boolean | undefined {
  const text = values.get(name);
  if (text === undefined || Object.hasOwn(BOOLEANS, text)) return BOOLEANS[text ?? ""];
  throw invalidValue(name, "true or false", shorten(text));
}

/** Maximum length of a value in a message. */
const MAX_SHOWN_LENGTH = 60;

function shorten(text: string): string {
  return text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH)}…` : text;
}
