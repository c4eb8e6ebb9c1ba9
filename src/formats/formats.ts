import { ValidationError } from "../errors.ts";
import { fieldNames, RESOURCE_NAMES, type ResourceName } from "../odata/resources.ts";
import { didYouMean, isNearMatch } from "../validation.ts";
import { CsvWriter } from "./csv.ts";
import { checkCsvOptions, type CsvOptions } from "./csv_options.ts";
import { createGeojsonWriter } from "./geojson.ts";
import { createJsonWriter, createNdjsonWriter } from "./json.ts";
import type { PageWriter, WriterState } from "./page_writer.ts";

/** A row of {@linkcode FORMATS}. */
export interface Format {
  /** File extension, without the dot. */
  extension: string;
  /** Other file extensions of the format. */
  aliases: readonly string[];
  /** Media type, without parameters. */
  mediaType: string;
  /** Name on buttons and in help texts. */
  label: string;
  /** Resources that can be written in the format. */
  resources: readonly ResourceName[];
  /** Fields that every row needs; a selection must contain them. */
  requiredFields: readonly string[];
  /**
   * Creates a writer of one document. Called by the function `createWriter`, which checks the options
   * that all formats have in common.
   *
   * @throws {ValidationError} If an option of the format is invalid
   */
  createWriter(options: WriterOptions): PageWriter;
}

/** Options for a writer of one document. */
export interface WriterOptions {
  /** Resource of the rows. */
  resource: ResourceName;
  /** Selected fields. Default: all fields of the resource. */
  select?: readonly string[] | undefined;
  /** Options of CSV. Another format rejects them. */
  csv?: CsvOptions | undefined;
  /** State of an earlier writer of the same document, to continue after its last page. */
  state?: WriterState | undefined;
  /** Whether to accept CSV columns that are not known fields. Default false. */
  unchecked?: boolean | undefined;
}

/** Name of a format. */
export type FormatName = "csv" | "ndjson" | "json" | "geojson";

/**
 * The formats, by name. The first one is the default.
 *
 * The methods of a query, `--format`, the extensions of download URLs, content negotiation and the
 * buttons of the web page derive from this table. To add a format, add its name, a row and a writer.
 */
export const FORMATS: Readonly<Record<FormatName, Format>> = {
  csv: {
    extension: "csv",
    aliases: [],
    mediaType: "text/csv",
    label: "CSV",
    resources: RESOURCE_NAMES,
    requiredFields: [],
    createWriter({ resource, select, csv, state, unchecked }) {
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
    requiredFields: [],
    createWriter: () => createNdjsonWriter(),
  },
  json: {
    extension: "json",
    aliases: [],
    mediaType: "application/json",
    label: "JSON",
    resources: RESOURCE_NAMES,
    requiredFields: [],
    createWriter: ({ state }) => createJsonWriter(state),
  },
  geojson: {
    extension: "geojson",
    aliases: [],
    mediaType: "application/geo+json",
    label: "GeoJSON",
    resources: ["Locations"],
    requiredFields: ["Longitude", "Latitude"],
    createWriter: ({ state }) => createGeojsonWriter(state),
  },
};

/** Names of all formats, the default first. */
// Bundlers keep a call at the top level, and with it all formats, unless it is marked as pure.
export const FORMAT_NAMES = /* @__PURE__ */ Object.keys(FORMATS) as readonly FormatName[];

/** Returns the formats in which a resource can be written, the default first. */
export function formatsOf(resource: ResourceName): FormatName[] {
  return FORMAT_NAMES.filter((name) => FORMATS[name].resources.includes(resource));
}

/** Returns the format of a file extension, in any case; `undefined` if there is none. */
export function formatOfExtension(extension: string): FormatName | undefined {
  const wanted = extension.toLowerCase();
  return FORMAT_NAMES.find((name) => {
    const { extension, aliases } = FORMATS[name];
    return extension === wanted || aliases.includes(wanted);
  });
}

/** Returns the required fields of a format that a selection leaves out. */
export function missingFields(
  format: FormatName,
  select: readonly string[] | undefined,
): readonly string[] {
  const { requiredFields } = FORMATS[format];
  return select === undefined ? [] : requiredFields.filter((field) => !select.includes(field));
}

/**
 * Creates a writer of one document.
 *
 * @throws {ValidationError} If the resource does not have the format, the selection leaves out a
 *   required field, an option of CSV is invalid, or the format is not CSV and there is such an option
 */
export function createWriter(format: FormatName, options: WriterOptions): PageWriter {
  const { resource, select, csv } = options;
  const names = formatsOf(resource);
  if (!names.includes(format)) {
    throw new ValidationError("format", `must be one of ${names.join(", ")} for ${resource}`, {
      received: format,
    });
  }
  const csvOption = Object.entries(csv ?? {}).find(([, value]) => value !== undefined);
  if (csvOption !== undefined && format !== "csv") {
    throw new ValidationError(csvOption[0], `is only for CSV, got it with ${format}`, {
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
  return FORMATS[format].createWriter(options);
}

function requireKnownColumns(
  columns: readonly (readonly [field: string, header: string])[],
  fields: readonly string[],
): void {
  const unknown = columns.find(([field]) => !fields.includes(field));
  if (unknown === undefined) return;
  const [field] = unknown;
  const hint = didYouMean(field, fields, "select it too, or omit the column");
  throw new ValidationError("columns", `must be selected fields, got "${field}"`, {
    received: field,
    hint,
    canBeUnchecked: !isNearMatch(hint),
  });
}
