import type { AnyResourceQuery } from "../../src/client/query.ts";
import { ValidationError } from "../../src/errors.ts";
import type { CsvOptions } from "../../src/formats/csv.ts";
import { type FileFormat, FORMATS } from "../../src/formats/formats.ts";
import { parseUnits } from "../../src/formats/units.ts";
import { type BoundingBox, BOX_EXAMPLE, BOX_FORM, parseBox } from "../../src/odata/bounding_box.ts";
import { MAXIMUM_TOP } from "../../src/odata/resources.ts";
import {
  invalidValue,
  parseWholeNumber,
  requireWholeNumber,
  suggestBySpelling,
} from "../../src/validation.ts";

export interface DownloadParameters {
  /** `$top` is the number of rows per page. In OData, it is that of the result. */
  query: AnyResourceQuery & { filter: string | undefined };
  /** The number of rows, without the rows; OData returns both. */
  count: boolean;
  /** Name or media type. */
  format: string | undefined;
  csv: CsvOptions;
  fileName: string | undefined;
  logged: Readonly<Record<string, string>>;
}

/** OData defines those that begin with `$`. */
export const DOWNLOAD_PARAMETERS: readonly string[] = [
  "$select",
  "$filter",
  "$top",
  "$skiptoken",
  "$count",
  "$format",
  "limit",
  "bbox",
  "tidy",
  "from",
  "to",
  "excludeQualityControl",
  "unit",
  "separator",
  "bom",
  "header",
  "escapeFormulas",
  "filename",
];

/** `DataStream` checks the fields, the filter, the position, the bounding box and the separator. */
export function readDownloadParameters(
  url: URL,
  accessParameters: readonly string[],
  formatInPath: FileFormat | undefined,
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
      tidy: readBoolean(values, "tidy"),
      from: values.get("from"),
      to: values.get("to"),
      excludeQualityControl: readBoolean(values, "excludeQualityControl"),
      units: values.has("unit") ? parseUnits(values.get("unit")!.split(";")) : undefined,
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

/** Omits `filename`, which can be any text, and the parameters of the access mode. */
export function loggedParameters(
  values: ReadonlyMap<string, string>,
  accessParameters: readonly string[],
): Record<string, string> {
  const hidden = ["filename", ...accessParameters];
  return Object.fromEntries([...values].filter(([name]) => !hidden.includes(name)));
}

/** OData options that are not supported, common other names, and API keys. */
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

export function readBoolean(
  values: ReadonlyMap<string, string>,
  name: string,
): boolean | undefined {
  const text = values.get(name);
  if (text === undefined) return undefined;
  if (Object.hasOwn(BOOLEANS, text)) return BOOLEANS[text];
  throw invalidValue(name, "true or false", shorten(text));
}

const MAX_SHOWN_LENGTH = 60;

export function shorten(text: string): string {
  return text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH)}…` : text;
}
