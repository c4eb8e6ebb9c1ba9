import { ValidationError } from "../errors.ts";
import { fieldNames, RESOURCE_NAMES, type ResourceName } from "../odata/resources.ts";
import { invalidValue, requireOneOf, suggestBySpelling } from "../validation.ts";
import { checkCsvOptions, type CsvOptions, CsvWriter } from "./csv.ts";
import { createGeojsonWriter } from "./geojson.ts";
import { createJsonWriter, createNdjsonWriter } from "./json.ts";
import type { PageWriter, WriterState } from "./page_writer.ts";
import type { RowRules } from "./tidy.ts";

export interface Format {
  extension: string;
  aliases?: readonly string[];
  mediaType: string;
  label: string;
  resources: readonly ResourceName[];
  requiredFields?: readonly string[];
  hasCsvOptions?: boolean;
  compression?: "gz";
  /** Use {@linkcode createWriter}, which checks the common options first. */
  newWriter(options: WriterOptions): PageWriter;
}

export interface WriterOptions {
  resource: ResourceName;
  select?: readonly string[] | undefined;
  csv?: CsvOptions | undefined;
  state?: WriterState | undefined;
  rules?: RowRules | undefined;
  /** Whether CSV columns need not be selected fields. Default false. */
  unchecked?: boolean | undefined;
}

/** Name of a format. */
export type FormatName = "csv" | "ndjson" | "json" | "geojson";

/**
 * The first one is the default. A new format also needs its name in {@linkcode FormatName} and its
 * method in the type `Query` of `client/query.ts`, and must not be in {@linkcode FORMAT_SYNONYMS}.
 */
export const FORMATS: Readonly<Record<FormatName, Format>> = {
  csv: {
    extension: "csv",
    mediaType: "text/csv",
    label: "CSV",
    resources: RESOURCE_NAMES,
    hasCsvOptions: true,
    newWriter({ resource, select, csv, state, rules, unchecked }) {
      const checked = checkCsvOptions(csv);
      const fields = select ?? fieldNames(resource);
      if (!unchecked) requireKnownColumns(checked.columns ?? [], fields);
      return new CsvWriter(checked, fields, { addsNewFields: select === undefined, state, rules });
    },
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
    requiredFields: ["Longitude", "Latitude"],
    newWriter: ({ state }) => createGeojsonWriter(state),
  },
};

/** Names in other programs, suggested but not accepted. */
export const FORMAT_SYNONYMS: Readonly<Record<string, string>> = {
  excel: "csv with {bom: true}",
  xlsx: "csv with {bom: true}",
  tsv: 'csv with {separator: "\\t"}',
  jsonstream: "ndjson",
};

// Without this annotation a bundler cannot tree-shake the call, and keeps every format.
export const FORMAT_NAMES = /* @__PURE__ */ Object.keys(FORMATS) as readonly FormatName[];

export function formatsOf(resource: ResourceName): FormatName[] {
  return FORMAT_NAMES.filter((name) => FORMATS[name].resources.includes(resource));
}

export function formatOfExtension(extension: string): FormatName | undefined {
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

export function missingFields(
  format: FormatName,
  select: readonly string[] | undefined,
): readonly string[] {
  const { requiredFields = [] } = FORMATS[format];
  return select === undefined ? [] : requiredFields.filter((field) => !select.includes(field));
}

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
