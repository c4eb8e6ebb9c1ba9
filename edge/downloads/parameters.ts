import type { AnyResourceQuery } from "../../src/client/query.ts";
import { ValidationError } from "../../src/errors.ts";
import type { CsvOptions } from "../../src/formats/csv.ts";
import { type FileFormat, FORMATS } from "../../src/formats/formats.ts";
import { parseUnits } from "../../src/formats/units.ts";
import { type BoundingBox, BOX_EXAMPLE, BOX_FORM, parseBox } from "../../src/odata/bounding_box.ts";
import { MAXIMUM_TOP, SUMMARY_KEYS } from "../../src/odata/resources.ts";
import { invalidValue, requireOneOf, suggestBySpelling } from "../../src/validation.ts";
import { toWholeNumber } from "../options.ts";

export interface DownloadParameters {
  /** `$top` is the number of rows per page. In OData, it is that of the result. */
  query: AnyResourceQuery & { filter: string | undefined };
  /** The number of rows, without the rows; OData returns both. */
  count: boolean;
  /** Name or media type. */
  format: string | undefined;
  csv: CsvOptions;
  /** Parquet only. */
  allowInvalid: boolean | undefined;
  fileName: string | undefined;
  logged: Readonly<Record<string, string>>;
}

type SummaryKey = typeof SUMMARY_KEYS[number];

export interface DocumentOptions extends AnyResourceQuery, CsvOptions {
  filter?: string | undefined;
  count?: boolean | undefined;
  format?: string;
  allowInvalid?: boolean;
  fileName?: string;
  by?: SummaryKey;
}

/** OData defines those that begin with `$`. `DataStream` checks the values that are only copied. */
const READERS = {
  $select: (select) => ({ select }),
  $filter: (filter) => ({ filter }),
  $top: (text, name) => ({ top: toWholeNumber(name, shorten(text), 1, MAXIMUM_TOP) }),
  $skiptoken: (skipToken) => ({ skipToken }),
  $count: (text, name) => ({ count: readBoolean(text, name) }),
  $format: (format) => ({ format }),
  limit: (text, name) => ({ limit: toWholeNumber(name, shorten(text), 0) }),
  bbox: (text) => ({ within: readBoundingBox(text) }),
  tidy: (text, name) => ({ tidy: readBoolean(text, name) }),
  from: (from) => ({ from }),
  to: (to) => ({ to }),
  excludeQualityControl: (text, name) => ({ excludeQualityControl: readBoolean(text, name) }),
  unit: (text) => ({ units: parseUnits(text.split(";")) }),
  separator: (text) => ({ separator: text === "tab" ? "\t" : text }),
  bom: (text, name) => ({ bom: readBoolean(text, name) }),
  header: (text, name) => ({ header: readBoolean(text, name) }),
  escapeFormulas: (text, name) => ({ escapeFormulas: readBoolean(text, name) }),
  allowInvalid: (text, name) => ({ allowInvalid: readBoolean(text, name) }),
  filename: (fileName) => ({ fileName }),
  by(text, name) {
    requireOneOf(name, text, SUMMARY_KEYS);
    return { by: text as SummaryKey };
  },
} satisfies Record<string, (text: string, name: string) => DocumentOptions>;
export type ParameterName = keyof typeof READERS;

export const DOWNLOAD_PARAMETERS: readonly ParameterName[] =
  (Object.keys(READERS) as ParameterName[]).filter((name) => name !== "by");

export function readDownloadParameters(
  url: URL,
  accessParameters: readonly string[],
  formatInPath: FileFormat | undefined,
): DownloadParameters {
  const { options, logged } = readParameters(url, DOWNLOAD_PARAMETERS, accessParameters);
  const { count = false, format, allowInvalid, fileName, ...others } = options;
  const { separator, bom, header, escapeFormulas, ...rows } = others;
  if (formatInPath !== undefined && format !== undefined) {
    const problem = `cannot be combined with the extension .${FORMATS[formatInPath].extension}`;
    throw new ValidationError("$format", problem, { received: format, hint: "omit one of them" });
  }
  const csv = { separator, bom, header, escapeFormulas };
  const query = { ...rows, filter: rows.filter };
  return { query, count, format, csv, allowInvalid, fileName, logged };
}

/** OData options that are not supported, common other names, and API keys. */
export const PARAMETER_HINTS: ReadonlyMap<string, string> = new Map([
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

/** `logged` omits `filename`, which can be any text, and the parameters of the access mode. */
export function readParameters(
  url: URL,
  names: readonly ParameterName[],
  accessParameters: readonly string[],
): { options: DocumentOptions; logged: Record<string, string> } {
  const known = [...names, ...accessParameters];
  const values = new Map<string, string>();
  for (const [name, value] of url.searchParams) {
    const fail = (problem: string, hint: string, option = name, received = value) => {
      throw new ValidationError(option, problem, { received, hint });
    };
    if (!known.includes(name)) {
      const hint = PARAMETER_HINTS.get(name.toLowerCase()) ?? suggestBySpelling(name, known);
      fail(`has an unknown parameter "${name}"`, hint, "url", name);
    }
    if (values.has(name)) fail("must not be repeated", "give it once");
    // A separator may be white space, such as a tab.
    if (value.trim() === "" && name !== "separator") {
      fail("must not be empty", "omit it, or give it a value");
    }
    values.set(name, value);
  }
  const options: DocumentOptions = {};
  const logged: Record<string, string> = {};
  // In the order of the table, so that the order in the URL does not make another document.
  for (const name of names) {
    const text = values.get(name);
    if (text === undefined) continue;
    Object.assign(options, READERS[name](text, name));
    if (name !== "filename") logged[name] = text;
  }
  return { options, logged };
}

function readBoundingBox(text: string): BoundingBox {
  const box = parseBox(text);
  if (box !== undefined) return box;
  const expected = `${BOX_FORM}, such as ${BOX_EXAMPLE}`;
  throw invalidValue("bbox", expected, shorten(text));
}

const BOOLEANS: Record<string, boolean> = { true: true, 1: true, false: false, 0: false };

function readBoolean(text: string, name: string): boolean {
  if (Object.hasOwn(BOOLEANS, text)) return BOOLEANS[text]!;
  throw invalidValue(name, "true or false", shorten(text));
}

const MAX_SHOWN_LENGTH = 60;

export function shorten(text: string): string {
  return text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH)}…` : text;
}
