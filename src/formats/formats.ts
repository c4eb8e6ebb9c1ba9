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
import { checkCsvOptions, type CsvOptions, CsvWriter } from "./csv.ts";
import { createGeojsonWriter } from "./geojson.ts";
import { GzipWriter } from "./gzip.ts";
import { createJsonWriter, createNdjsonWriter } from "./json.ts";
import type { PageWriter, WriterState } from "./page_writer.ts";
import type { RowRules } from "./tidy.ts";

export interface Format {
  extension: string;
  aliases?: readonly string[];
  mediaType: string;
  label: string;
  /** Default false: text in UTF-8. */
  isBinary?: boolean;
  resources: readonly ResourceName[];
  requiredFields?: readonly string[];
  hasCsvOptions?: boolean;
  /** Whether it is a table with names of columns, which some of its readers compare without case. Default false. */
  isTable?: boolean;
  compression?: "gz";
  /** Whether rows are written only after many have arrived: a request before them delays nothing. Default false. */
  writesLate?: boolean;
  /** Use {@linkcode createWriter}, which checks the common options first. Absent if the format is a `LoadedFormat`. */
  newWriter?(options: WriterOptions): PageWriter;
}

export interface WriterOptions {
  resource: ResourceName;
  select?: readonly string[] | undefined;
  csv?: CsvOptions | undefined;
  state?: WriterState | undefined;
  /** Set by {@linkcode createWriter}. */
  nameColumns?: (fields: readonly string[]) => readonly string[];
  rules?: RowRules | undefined;
  /** Whether CSV columns need not be selected fields. Default false. */
  unchecked?: boolean | undefined;
}

/** Name of a format. */
export type FormatName = "csv" | "csv.gz" | "ndjson" | "json" | "geojson";

/**
 * A format of an entry point of its own, such as Parquet. Opaque.
 *
 * @internal
 */
export interface LoadedFormat {
  /** Name of the format. */
  readonly name: "parquet";
  newWriter(options: unknown): unknown;
}

/** Name of a format of files and URLs. */
export type FileFormat = FormatName | LoadedFormat["name"];

/**
 * The first one is the default. A new format also needs its name in {@linkcode FormatName} and its
 * method in the type `Query` of `client/query.ts`, and must not be in {@linkcode FORMAT_SYNONYMS}.
 */
export const FORMATS: Readonly<Record<FileFormat, Format>> = {
  csv: {
    extension: "csv",
    mediaType: "text/csv",
    label: "CSV",
    resources: RESOURCE_NAMES,
    hasCsvOptions: true,
    isTable: true,
    newWriter: (options) => new CsvWriter(...csvArguments(options)),
  },
  ndjson: {
    extension: "ndjson",
    aliases: ["jsonl"],
    mediaType: "application/x-ndjson",
    label: "NDJSON",
    resources: RESOURCE_NAMES,
    newWriter: ({ state, rules }) => createNdjsonWriter(state, rules),
  },
  json: {
    extension: "json",
    mediaType: "application/json",
    label: "JSON",
    resources: RESOURCE_NAMES,
    newWriter: ({ state, rules }) => createJsonWriter(state, rules),
  },
  geojson: {
    extension: "geojson",
    mediaType: "application/geo+json",
    label: "GeoJSON",
    resources: ["Locations"],
    requiredFields: POSITION_FIELDS,
    newWriter: ({ state }) => createGeojsonWriter(state),
  },
  "csv.gz": {
    extension: "csv.gz",
    mediaType: "application/gzip",
    label: "CSV in gzip",
    isBinary: true,
    resources: RESOURCE_NAMES,
    hasCsvOptions: true,
    isTable: true,
    compression: "gz",
    newWriter: (options) => new GzipWriter(...csvArguments(options)),
  },
  parquet: {
    extension: "parquet",
    mediaType: "application/vnd.apache.parquet",
    label: "Parquet",
    isBinary: true,
    writesLate: true,
    resources: RESOURCE_NAMES,
    isTable: true,
  },
};

/** Removes the page size from the URL of a query, because a resumed download can have another one. */
export function withoutPageSize(url: string): string {
  return url.replace(/([?&])(?:\$|%24)top=\d+(?:&|$)/, "$1").replace(/[?&]$/, "");
}

function csvArguments(
  { resource, select, csv, state, nameColumns, rules, unchecked }: WriterOptions,
): ConstructorParameters<typeof CsvWriter> {
  const checked = checkCsvOptions(csv);
  const fields = select ?? fieldNames(resource);
  if (!unchecked) requireKnownColumns(checked.columns ?? [], fields);
  return [checked, fields, { addsNewFields: select === undefined, state, nameColumns, rules }];
}

/** Names in other programs, suggested but not accepted. */
export const FORMAT_SYNONYMS: Readonly<Record<string, string>> = {
  excel: "csv with {bom: true}",
  xlsx: "csv with {bom: true}",
  tsv: 'csv with {separator: "\\t"}',
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
    const { extension, aliases = [] } = FORMATS[name];
    return extension === wanted || aliases.includes(wanted);
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

export function createWriter(given: FormatName | LoadedFormat, options: WriterOptions): PageWriter {
  const { resource, select, csv } = options;
  const { name: format, newWriter } = requireFormat(given, resource);
  const { label, hasCsvOptions, requiredFields = [] } = FORMATS[format];
  checkCsvOptions(csv);
  const csvOption = Object.entries(csv ?? {}).find(([, value]) => value !== undefined);
  if (csvOption !== undefined && !hasCsvOptions) {
    throw new ValidationError(csvOption[0], `applies to CSV only; the format is ${format}`, {
      received: csvOption[1],
      hint: "omit it",
    });
  }
  const missing = requiredFields.filter((field) => select?.includes(field) === false);
  if (missing.length > 0) {
    throw new ValidationError("select", `must contain ${missing.join(" and ")} for ${label}`, {
      received: select,
      hint: "add the missing fields, or choose another format",
    });
  }
  return newWriter({
    ...options,
    nameColumns: (fields) => columnNamesIn(format, resource, fields),
  });
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
      hint: `call toParquet(query) of @weir/datastream/${name}`,
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
