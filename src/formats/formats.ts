import { suggestUnchecked, ValidationError } from "../errors.ts";
import { POSITION_FIELDS } from "../odata/map_position.ts";
import { columnNames, fieldNames, RESOURCE_NAMES, type ResourceName } from "../odata/resources.ts";
import {
  invalidValue,
  isObject,
  nearNames,
  readMembers,
  requireOneOf,
  suggestBySpelling,
  suggestNames,
} from "../validation.ts";
import { checkCsvOptions, type CheckedCsvOptions, type CsvOptions, CsvWriter } from "./csv.ts";
import { createGeojsonWriter } from "./geojson.ts";
import { GzipWriter } from "./gzip.ts";
import { createJsonWriter, createNdjsonWriter } from "./json.ts";
import type { PageWriter, WriterState } from "./page_writer.ts";
import type { RowNotes, RowRules } from "./tidy.ts";

export interface Format {
  /** Other extensions. Its name is the first one. */
  aliases?: readonly string[];
  mediaType: string;
  label: string;
  /** Default false: text in UTF-8. */
  isBinary?: boolean;
  resources: readonly ResourceName[];
  requiredFields?: readonly string[];
  /** Options of CSV whose defaults are other ones. Absent if it has no options of CSV. */
  csv?: CsvOptions;
  /** What counts its rows, unless it has options of CSV: line ends, or items of its list. Default: nothing. */
  rows?: "lines" | "items";
  /** Whether it is a table with names of columns, which some of its readers compare without case. Default false. */
  isTable?: boolean;
  compression?: "gz";
  /**
   * What happens to a value that the format cannot hold, if invalid values are allowed; without that, it is an error. Absent
   * if the format holds all values.
   */
  invalidValues?: "null" | "cut";
  /** Whether a table has lists. Default false: a list of texts is one text. */
  hasLists?: boolean;
  /** Maximum number of rows of a file. Default: none. */
  maxRows?: number;
  /** Whether a file also has the citations of its datasets and the meanings of its columns. Default false. */
  hasCitations?: boolean;
  /** Whether Locations with a position have a column of points. Default false. */
  hasPoints?: boolean;
  /** Whether readers of a URL ask for its length first, so that a server may fetch a small document for `HEAD`. Default false. */
  needsLength?: boolean;
  /** Whether rows are written only after many have arrived: a request before them delays nothing. Default false. */
  writesLate?: boolean;
  /** Use {@linkcode createWriter}, which checks the common options first. Absent if the format is a `LoadedFormat`. */
  newWriter?(options: WriterOptions): PageWriter;
}

export interface WriterOptions {
  resource: ResourceName;
  select?: readonly string[] | undefined;
  /** Absent if the format has no options of CSV. */
  csv?: CheckedCsvOptions | undefined;
  state?: WriterState | undefined;
  rules?: RowRules | undefined;
  /** Whether CSV columns need not be selected fields. Default false. */
  unchecked?: boolean | undefined;
}

/** Name of a format. */
export type FormatName = "csv" | "tsv" | "csv.gz" | "ndjson" | "json" | "geojson";

/**
 * A format of an entry point of its own, such as Parquet. Opaque.
 *
 * @internal
 */
export interface LoadedFormat {
  /** Name of the format. */
  readonly name: "parquet" | "xlsx";
  newWriter(options: unknown): unknown;
}

/**
 * A query of a client, such as `client.records()`.
 *
 * @typeParam S Type of its streams
 *
 * @example A function that accepts any query
 * ```ts
 * import { type FileQuery, toParquet } from "@weir/datastream/parquet";
 *
 * const toResponse = (query: FileQuery<ReadableStream<Uint8Array<ArrayBuffer>>>) =>
 *   new Response(toParquet(query), { headers: { "content-type": "application/vnd.apache.parquet" } });
 * ```
 */
export interface FileQuery<S extends ReadableStream<Uint8Array>> {
  /** URL of the first request. */
  readonly url: string;
  /** Returns the rows in a format. */
  bytes(format: LoadedFormat): S;
}

/**
 * Facts about the rows of a file, for metadata.
 *
 * @example Add the number of rows to the metadata
 * ```ts
 * import type { DocumentFacts, ParquetMetadata } from "@weir/datastream/parquet";
 *
 * const metadata = ({ rows }: DocumentFacts): ParquetMetadata => ({ rows: String(rows) });
 * ```
 */
export interface DocumentFacts {
  /** Number of rows. */
  readonly rows: number;
  /** Fields of the service in the file, in order. */
  readonly columns: readonly string[];
  /**
   * Numbers of rows by fact, such as `invalidValues`, with a value that did not fit its column and is null. Absent if they
   * are 0.
   */
  readonly notes: RowNotes;
}

/** Name of a format of files and URLs. */
export type FileFormat = FormatName | LoadedFormat["name"];

/**
 * By name, which is the extension. The first one is the default. A new format also needs its name in
 * {@linkcode FormatName} or, if `load_format.ts` loads its module, in {@linkcode LoadedFormat}.
 */
export const FORMATS: Readonly<Record<FileFormat, Format>> = {
  csv: {
    mediaType: "text/csv",
    label: "CSV",
    resources: RESOURCE_NAMES,
    csv: {},
    isTable: true,
    newWriter: (options) => new CsvWriter(...csvArguments(options)),
  },
  ndjson: {
    aliases: ["jsonl"],
    mediaType: "application/x-ndjson",
    label: "NDJSON",
    resources: RESOURCE_NAMES,
    rows: "lines",
    newWriter: ({ state, rules }) => createNdjsonWriter(state, rules),
  },
  json: {
    mediaType: "application/json",
    label: "JSON",
    resources: RESOURCE_NAMES,
    rows: "items",
    newWriter: ({ state, rules }) => createJsonWriter(state, rules),
  },
  geojson: {
    mediaType: "application/geo+json",
    label: "GeoJSON",
    resources: ["Locations"],
    requiredFields: POSITION_FIELDS,
    needsLength: true,
    rows: "items",
    newWriter: ({ state }) => createGeojsonWriter(state),
  },
  "csv.gz": {
    mediaType: "application/gzip",
    label: "CSV in gzip",
    isBinary: true,
    resources: RESOURCE_NAMES,
    csv: {},
    isTable: true,
    compression: "gz",
    newWriter: (options) => new GzipWriter(...csvArguments(options)),
  },
  tsv: {
    mediaType: "text/tab-separated-values",
    label: "TSV",
    resources: RESOURCE_NAMES,
    csv: { separator: "\t" },
    isTable: true,
    newWriter: (options) => new CsvWriter(...csvArguments(options)),
  },
  parquet: {
    mediaType: "application/vnd.apache.parquet",
    label: "Parquet",
    isBinary: true,
    needsLength: true,
    writesLate: true,
    invalidValues: "null",
    hasLists: true,
    hasPoints: true,
    resources: RESOURCE_NAMES,
    isTable: true,
  },
  xlsx: {
    mediaType: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    label: "Excel",
    isBinary: true,
    needsLength: true,
    invalidValues: "cut",
    resources: RESOURCE_NAMES,
    isTable: true,
    // A sheet has 1,048,576, with the header.
    maxRows: 1_048_575,
    hasCitations: true,
  },
};

/** Formats of summaries. The first one is the default. */
export const SUMMARY_FORMATS = ["csv", "ndjson", "parquet", "xlsx"] as const satisfies FileFormat[];
export type SummaryFormat = typeof SUMMARY_FORMATS[number];

/** Removes the page size from the URL of a query, because a resumed download can have another one. */
export function withoutPageSize(url: string): string {
  return url.replace(/([?&])(?:\$|%24)top=\d+(?:&|$)/, "$1").replace(/[?&]$/, "");
}

function csvArguments(
  { resource, select, csv, state, rules, unchecked }: WriterOptions,
): ConstructorParameters<typeof CsvWriter> {
  const fields = select ?? fieldNames(resource);
  if (!unchecked) requireKnownColumns(csv!.columns ?? [], fields);
  return [csv!, fields, { addsNewFields: select === undefined, state, resource, rules }];
}

/** Names in other programs, suggested but not accepted. */
const FORMAT_SYNONYMS: Readonly<Record<string, string> & { [N in FileFormat]?: never }> = {
  excel: "xlsx",
  xls: "xlsx",
  jsonstream: "ndjson",
};

// Without this annotation a bundler cannot tree-shake the call, and keeps every format.
export const FORMAT_NAMES = /* @__PURE__ */ Object.keys(FORMATS) as readonly FileFormat[];

export function formatsOf(resource: ResourceName): FileFormat[] {
  return FORMAT_NAMES.filter((name) => FORMATS[name].resources.includes(resource));
}

export function formatOfExtension(extension: string): FileFormat | undefined {
  const wanted = extension.toLowerCase();
  return FORMAT_NAMES.find((name) => {
    const { aliases = [] } = FORMATS[name];
    return name === wanted || aliases.includes(wanted);
  });
}

/** The client has a shorter hint, so that its bundle does not contain the synonyms. */
export function unknownFormat(resource: ResourceName, received: string): ValidationError {
  const names = formatsOf(resource);
  const wanted = received.toLowerCase();
  const found = formatOfExtension(wanted);
  const hint = Object.hasOwn(FORMAT_SYNONYMS, wanted)
    ? `use ${FORMAT_SYNONYMS[wanted]}`
    : found === undefined || names.some((name) => name === wanted)
    ? suggestBySpelling(received, names, "")
    : names.includes(found)
    ? `use ${found}`
    : `${FORMATS[found].label} is only for ${FORMATS[found].resources.join(", ")}`;
  return invalidValue("format", `one of ${names.join(", ")} for ${resource}`, received, hint);
}

export function createWriter(
  given: FormatName | LoadedFormat,
  options: Omit<WriterOptions, "csv"> & { csv?: CsvOptions | undefined },
): PageWriter {
  const { resource, select } = options;
  const { name: format, newWriter } = requireFormat(given, resource);
  const csv = csvOptionsOf(format, options.csv);
  const { label, requiredFields = [] } = FORMATS[format];
  const missing = requiredFields.filter((field) => select?.includes(field) === false);
  if (missing.length > 0) {
    throw new ValidationError("select", `must contain ${missing.join(" and ")} for ${label}`, {
      received: select,
      hint: "add the missing fields, or choose another format",
    });
  }
  return newWriter({ ...options, csv });
}

/**
 * Returns the options of CSV of a format, with its defaults; `undefined` if it has none.
 *
 * @throws {ValidationError} If an option is invalid, or given for a format that has none
 */
export function csvOptionsOf(
  format: FileFormat,
  csv: CsvOptions = {},
): CheckedCsvOptions | undefined {
  const { csv: defaults } = FORMATS[format];
  checkCsvOptions(csv);
  const given = Object.entries(csv).filter(([, value]) => value !== undefined);
  if (defaults) return checkCsvOptions({ ...defaults, ...Object.fromEntries(given) });
  for (const [option, received] of given) {
    throw new ValidationError(option, `applies to CSV only; the format is ${format}`, {
      received,
      hint: "omit it",
    });
  }
  return undefined;
}

/** Whether a file has a column of points: the positions of Locations. */
export function hasPointColumn(
  format: FileFormat,
  resource: ResourceName,
  fields: readonly string[],
): boolean {
  return FORMATS[format].hasPoints === true && resource === "Locations" &&
    POSITION_FIELDS.every((field) => fields.includes(field));
}

/** Returns the names of the columns of fields in a file. */
export function columnNamesIn(
  format: FileFormat,
  resource: ResourceName,
  fields: readonly string[],
): readonly string[] {
  return FORMATS[format].isTable ? columnNames(resource, fields) : fields;
}

function requireFormat(
  given: FormatName | LoadedFormat,
  resource: ResourceName,
): { name: FileFormat; newWriter(options: WriterOptions): PageWriter } {
  if (isObject(given)) {
    const { name, newWriter } = readMembers("format", given, ["name", "newWriter"]) as {
      name: FileFormat;
      newWriter(options: WriterOptions): PageWriter;
    };
    if (typeof newWriter === "function" && formatsOf(resource).includes(name)) {
      return { name, newWriter };
    }
  }
  const name = given as FormatName;
  const { newWriter } = Object.hasOwn(FORMATS, name) ? FORMATS[name] : {};
  if (newWriter === undefined && Object.hasOwn(FORMATS, name)) {
    throw new ValidationError("format", `must not be the name "${name}"`, {
      received: name,
      hint: `call the function of @weir/datastream/${name}`,
    });
  }
  const names = formatsOf(resource).filter((name) => FORMATS[name].newWriter !== undefined);
  requireOneOf("format", name, names, ` for ${resource}`);
  return { name, newWriter: newWriter! };
}

function requireKnownColumns(
  columns: readonly (readonly [field: string, ...unknown[]])[],
  fields: readonly string[],
): void {
  const unknown = columns.find(([field]) => !fields.includes(field));
  if (unknown === undefined) return;
  const [field] = unknown;
  const suggestion = suggestNames(nearNames(field, fields));
  const hint = suggestion ?? "select it too, or omit the column";
  const problem = `must be selected fields, got "${field}"`;
  const error = new ValidationError("columns", problem, { received: field, hint });
  throw suggestUnchecked(error, suggestion === undefined);
}
