import type { AnyResourceQuery } from "../../src/client/query.ts";
import { ValidationError } from "../../src/errors.ts";
import type { CsvOptions } from "../../src/formats/csv.ts";
import type { FileFormat } from "../../src/formats/formats.ts";
import { type Language, LANGUAGES } from "../../src/language.ts";
import { parseUnits } from "../../src/formats/units.ts";
import { type BoundingBox, BOX_EXAMPLE, BOX_FORM, parseBox } from "../../src/odata/bounding_box.ts";
import { MAXIMUM_TOP, SUMMARY_KEYS } from "../../src/odata/resources.ts";
import { invalidValue, requireOneOf, suggestBySpelling } from "../../src/validation.ts";
import { toWholeNumber } from "./options.ts";

type FileOption = "count" | "format" | "allowInvalid" | "language" | "fileName";

export interface DownloadParameters extends Pick<DocumentOptions, FileOption> {
  /** `$top` is the number of rows per page. In OData, it is that of the result. */
  query: AnyResourceQuery & { filter: string | undefined };
  csv: CsvOptions;
  logged: Readonly<Record<string, string>>;
}

type SummaryKey = typeof SUMMARY_KEYS[number];

/** Options of a query that the server sets. */
type ServerOption =
  | "unchecked"
  | "incomplete"
  | "maxRows"
  | "partition"
  | "sameVersion" // a feed compares versions by itself
  | "signal"
  | "onProgress";

export interface DocumentOptions extends Omit<AnyResourceQuery, ServerOption | "filter"> {
  filter?: string | undefined;
  /** The number of rows, without the rows; OData returns both. */
  count?: boolean | undefined;
  /** Name or media type. */
  format?: string;
  /** Only for formats that cannot hold all values. */
  allowInvalid?: boolean;
  /** Only for formats with citations and meanings. */
  language?: Language;
  fileName?: string;
  by?: SummaryKey;
  /** Of a file of the mirror. */
  version?: string;
}

type Reader<T> = readonly [name: string, read: (text: string, name: string) => T];
type Readers<T> = { readonly [Option in keyof T]-?: Reader<T[Option]> };

const copy = (text: string) => text;

/** A URL has `$select` for `columns`, and lines that end as in RFC 4180. */
const CSV_READERS = {
  separator: ["separator", (text) => text === "tab" ? "\t" : text],
  bom: ["bom", readBoolean],
  header: ["header", readBoolean],
  escapeFormulas: ["escapeFormulas", readBoolean],
} as const satisfies Readers<Omit<CsvOptions, "columns" | "eol">>;

/**
 * Names of parameters, and functions that read their values, by option. OData defines the names that begin with `$`.
 * `DataStream` checks the values that are only copied.
 */
const READERS = {
  select: ["$select", copy],
  filter: ["$filter", copy],
  top: ["$top", (text, name) => toWholeNumber(name, shorten(text), 1, MAXIMUM_TOP)],
  skipToken: ["$skiptoken", copy],
  count: ["$count", readBoolean],
  format: ["$format", copy],
  limit: ["limit", (text, name) => toWholeNumber(name, shorten(text), 0)],
  within: ["bbox", readBoundingBox],
  tidy: ["tidy", readBoolean],
  from: ["from", copy],
  to: ["to", copy],
  excludeQualityControl: ["excludeQualityControl", readBoolean],
  units: ["unit", (text) => parseUnits(text.split(";"))],
  ...CSV_READERS,
  allowInvalid: ["allowInvalid", readBoolean],
  language: ["lang", readLanguage],
  fileName: ["filename", copy],
  by: ["by", readSummaryKey],
  version: ["version", copy],
} as const satisfies Readers<DocumentOptions>;
export type ParameterName = typeof READERS[keyof typeof READERS][0];

/** By option. */
export const PARAMETER_NAMES: ReadonlyMap<string, ParameterName> = new Map(
  Object.entries(READERS).map(([option, [name]]) => [option, name]),
);

export const DOWNLOAD_PARAMETERS: readonly ParameterName[] = [...PARAMETER_NAMES.values()]
  .filter((name) => name !== "by" && name !== "version");

export function readDownloadParameters(
  url: URL,
  accessParameters: readonly string[],
  formatInPath: FileFormat | undefined,
): DownloadParameters {
  const { options, csv, logged } = readParameters(url, DOWNLOAD_PARAMETERS, accessParameters);
  const { count, format, allowInvalid, language, fileName, ...rows } = options;
  if (formatInPath !== undefined && format !== undefined) {
    const problem = `cannot be combined with the extension .${formatInPath}`;
    throw new ValidationError("$format", problem, { received: format, hint: "omit one of them" });
  }
  const query = { ...rows, filter: rows.filter };
  return { query, count, format, csv, allowInvalid, language, fileName, logged };
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
): { options: DocumentOptions; csv: CsvOptions; logged: Record<string, string> } {
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
  const csv: CsvOptions = {};
  const logged: Record<string, string> = {};
  // In the order of the table, so that the order in the URL does not make another document.
  for (const [option, [name, read]] of Object.entries(READERS)) {
    const text = values.get(name);
    if (text === undefined) continue;
    Object.assign(option in CSV_READERS ? csv : options, { [option]: read(text, name) });
    if (name !== "filename") logged[name] = text;
  }
  return { options, csv, logged };
}

function readBoundingBox(text: string): BoundingBox {
  const box = parseBox(text);
  if (box !== undefined) return box;
  const expected = `${BOX_FORM}, such as ${BOX_EXAMPLE}`;
  throw invalidValue("bbox", expected, shorten(text));
}

function readSummaryKey(text: string, name: string): SummaryKey {
  requireOneOf(name, text, SUMMARY_KEYS);
  return text as SummaryKey;
}

function readLanguage(text: string, name: string): Language {
  requireOneOf(name, text, LANGUAGES);
  return text as Language;
}

const BOOLEANS: Record<string, boolean> = { true: true, 1: true, false: false, 0: false };

function readBoolean(text: string, name: string): boolean {
  if (Object.hasOwn(BOOLEANS, text)) return BOOLEANS[text]!;
  throw invalidValue(name, "true or false", shorten(text));
}

/** Cuts between code points, so that no half of a surrogate pair remains. `maxLength` is in characters. */
export function shorten(text: string, maxLength = 60): string {
  return text.length > maxLength ? `${Array.from(text).slice(0, maxLength).join("")}…` : text;
}
