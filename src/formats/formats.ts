import { ValidationError } from "../errors.ts";
import { fieldNames, RESOURCE_NAMES, type ResourceName } from "../odata/resources.ts";
import { invalidValue, requireOneOf, suggestBySpelling } from "../validation.ts";
import { checkCsvOptions, type CsvOptions, CsvWriter } from "./csv.ts";
import { createGeojsonWriter } from "./geojson.ts";
import { createJsonWriter, createNdjsonWriter } from "./json.ts";
import type { PageWriter, WriterState } from "./page_writer.ts";

/** An entry of {@linkcode FORMATS}. */
export interface Format {
  /** File extension, without the dot. */
  extension: string;
  /** Other file extensions of the format. Default: none. */
  aliases?: readonly string[];
  /** Media type, without parameters. */
  mediaType: string;
  /** Name on buttons and in help texts. */
  label: string;
  /** Resources that can be written in the format. */
  resources: readonly ResourceName[];
  /** Fields that every row needs; a selection must contain them. Default: none. */
  requiredFields?: readonly string[];
  /** Whether the options of CSV apply. Default false. */
  hasCsvOptions?: boolean;
  /**
   * Creates a writer of one document. Use the function {@linkcode createWriter} instead, which first
   * checks the options that all formats have in common.
   *
   * @throws {ValidationError} If an option of the format is invalid
   */
  newWriter(options: WriterOptions): PageWriter;
}

/** Options for a writer of one document. */
export interface WriterOptions {
  /** Resource of the rows. */
  resource: ResourceName;
  /** Selected fields. Default: all fields of the resource. */
  select?: readonly string[] | undefined;
  /** Options of CSV. Formats without `hasCsvOptions` reject them. */
  csv?: CsvOptions | undefined;
  /** State of an earlier writer, to continue its document. */
  state?: WriterState | undefined;
  /**
   * Query option `unchecked`: whether to accept names that are not known, here CSV columns that are not
   * selected fields. Default false.
   */
  unchecked?: boolean | undefined;
}

/** Name of a format. */
export type FormatName = "csv" | "ndjson" | "json" | "geojson";

/**
 * The formats, by name. The first one is the default.
 *
 * `--format`, the extensions of download URLs, content negotiation, the buttons of the web page,
 * `query.bytes(name)`, the hints for unknown names and the tests derive from this table. To add a format:
 *
 * 1. Add its name to {@linkcode FormatName}.
 * 2. Add an entry to this table, with a function that creates a {@linkcode PageWriter}.
 * 3. Remove the name from {@linkcode FORMAT_SYNONYMS}, if it is there.
 * 4. Add its method, such as `csv()`, to the type `Query` in `client/query.ts`.
 */
export const FORMATS: Readonly<Record<FormatName, Format>> = {
  csv: {
    extension: "csv",
    mediaType: "text/csv",
    label: "CSV",
    resources: RESOURCE_NAMES,
    hasCsvOptions: true,
    newWriter({ resource, select, csv, state, unchecked }) {
      const checked = checkCsvOptions(csv);
      const fields = select ?? fieldNames(resource);
      if (!unchecked) requireKnownColumns(checked.columns ?? [], fields);
      return new CsvWriter(checked, fields, { addsNewFields: select === undefined, state });
    },
  },
  ndjson: {
    extension: "ndjson",
    aliases: ["jsonl"],
    mediaType: "application/x-ndjson",
    label: "NDJSON",
    resources: RESOURCE_NAMES,
    newWriter: () => createNdjsonWriter(),
  },
  json: {
    extension: "json",
    mediaType: "application/json",
    label: "JSON",
    resources: RESOURCE_NAMES,
    newWriter: ({ state }) => createJsonWriter(state),
  },
  geojson: {
    extension: "geojson",
    mediaType: "application/geo+json",
    label: "GeoJSON",
    resources: ["Locations"],
    requiredFields: ["Longitude", "Latitude"],
    newWriter: ({ state }) => createGeojsonWriter(state),
  },
};

/**
 * Names of formats in other programs, and what to use instead of them. They are suggested, not accepted.
 * Options are in braces, as in the hint of a `ValidationError`.
 */
export const FORMAT_SYNONYMS: Readonly<Record<string, string>> = {
  excel: "csv with {bom: true}",
  xlsx: "csv with {bom: true}",
  tsv: 'csv with {separator: "\\t"}',
  jsonstream: "ndjson",
};

/** Names of all formats, the default first. */
// Without this annotation a bundler cannot tree-shake the call, and keeps every format.
export const FORMAT_NAMES = /* @__PURE__ */ Object.keys(FORMATS) as readonly FormatName[];

/** Returns the formats that are available for a resource, the default first. */
export function formatsOf(resource: ResourceName): FormatName[] {
  return FORMAT_NAMES.filter((name) => FORMATS[name].resources.includes(resource));
}

/** Returns the format with a file extension, ignoring case; `undefined` if no format has it. */
export function formatOfExtension(extension: string): FormatName | undefined {
  const wanted = extension.toLowerCase();
  return FORMAT_NAMES.find((name) => {
    const { extension, aliases = [] } = FORMATS[name];
    return extension === wanted || aliases.includes(wanted);
  });
}

/**
 * Creates the error for the name of a format that a resource does not have, with a hint for the names of
 * other programs. The client has a shorter one, so that its bundle does not contain the synonyms.
 */
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

/** Returns the required fields of a format that a selection does not contain. */
export function missingFields(
  format: FormatName,
  select: readonly string[] | undefined,
): readonly string[] {
  const { requiredFields = [] } = FORMATS[format];
  return select === undefined ? [] : requiredFields.filter((field) => !select.includes(field));
}

/**
 * Creates a writer of one document.
 *
 * @throws {ValidationError} If the resource is not available in the format, the selection does not
 *   contain a required field, or an option of CSV is invalid or is set for another format
 */
export function createWriter(format: FormatName, options: WriterOptions): PageWriter {
  const { resource, select, csv } = options;
  requireOneOf("format", format, formatsOf(resource), ` for ${resource}`);
  checkCsvOptions(csv);
  const csvOption = Object.entries(csv ?? {}).find(([, value]) => value !== undefined);
  if (csvOption !== undefined && !FORMATS[format].hasCsvOptions) {
    throw new ValidationError(csvOption[0], `applies to CSV only; the format is ${format}`, {
      received: csvOption[1],
      hint: "omit it",
    });
  }
  const missing = missingFields(format, select);
  if (missing.length > 0) {
    const problem = `must contain ${missing.join(" and ")} for ${FORMATS[format].label}`;
    throw new ValidationError("select", problem, {
      received: select,
      hint: "add the missing fields, or choose another format",
    });
  }
  return FORMATS[format].newWriter(options);
}

function requireKnownColumns(
  columns: readonly (readonly [field: string, header: string])[],
  fields: readonly string[],
): void {
  const unknown = columns.find(([field]) => !fields.includes(field));
  if (unknown === undefined) return;
  const [field] = unknown;
  const otherwise = "select it too, or omit the column";
  const hint = suggestBySpelling(field, fields, otherwise);
  throw new ValidationError("columns", `must be selected fields, got "${field}"`, {
    received: field,
    hint,
    canBeUnchecked: hint === otherwise,
  });
}
