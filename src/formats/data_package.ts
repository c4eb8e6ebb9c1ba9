// Describes a file of rows as a Frictionless Data Package, version 1 (https://specs.frictionlessdata.io).
import { sha256Hex } from "../bytes.ts";
import type { Language } from "../language.ts";
import { meaningOf, type ValueType, valueTypeOf } from "../odata/field_meanings.ts";
import TEXTS from "../odata/field_meanings.json" with { type: "json" };
import type { ResourceName } from "../odata/resources.ts";
import { VERSION } from "../version.ts";
import type { Citation, DatasetVersion } from "./citations.ts";
import { type CsvDialect, type CsvOptions, describeCsv } from "./csv.ts";
import {
  columnNamesIn,
  csvOptionsOf,
  type FileFormat,
  FORMATS,
  hasPointColumn,
  withoutPageSize,
} from "./formats.ts";
import { CENSORINGS, TIDY_COLUMNS, TIDY_TYPES, type TidyRow, type TidyType } from "./tidy.ts";

/** Column of a file. `unit` and `unitField` are additions of Weir. */
export interface PackageField {
  name: string;
  type: string;
  title?: string;
  description?: string;
  unit?: string | undefined;
  unitField?: string | undefined;
  constraints?: { enum: readonly string[] };
}

/** A file, or a document of a server. `rows` is an addition of Weir. */
export interface PackageResource {
  profile: "tabular-data-resource" | "data-resource";
  name: string;
  path: string;
  title: string;
  format: string;
  compression?: "gz" | undefined;
  mediatype: string;
  encoding: "utf-8";
  bytes?: number | undefined;
  /** Algorithm, colon and hexadecimal digits. */
  hash?: string | undefined;
  rows?: number | undefined;
  dialect?: CsvDialect;
  schema: { fields: PackageField[]; missingValues?: readonly string[] };
}

export interface DataPackage<More> {
  profile: "tabular-data-package" | "data-package";
  name: string;
  title: string;
  created: string;
  licenses?: { name?: string; path?: string; title: string }[];
  sources?: (Record<string, string> & { title: string; path: string })[];
  resources: [PackageResource];
  weir: PackageOrigin & More;
}

interface PackageOrigin {
  version: string;
  /** URL of the first request, without the API key. */
  url: string;
  /** Versions of the datasets that can have matching rows, if they are known. */
  datasets?: readonly DatasetVersion[] | undefined;
  /** Hash of all other members, as JSON without white space; absent in the metadata of a file. */
  packageHash?: string;
}

/** A file to describe. Undefined facts are left out. */
export interface DescribedFile<More> extends Pick<PackageResource, "bytes" | "hash" | "rows"> {
  fileName: string;
  resource: ResourceName;
  format: FileFormat;
  csv?: CsvOptions | undefined;
  /** Fields of the service in the file, in order. */
  columns: readonly string[];
  tidy?: boolean | undefined;
  /** Time at which the file was made. */
  created: Date;
  url: string;
  /** Language of the meanings of columns. Default: English. */
  language?: Language | undefined;
  citations?: readonly Citation[] | undefined;
  datasets?: readonly DatasetVersion[] | undefined;
  /** Further members of `weir`. */
  more: More;
}

export function toDataPackage<More>(file: DescribedFile<More>): DataPackage<More> {
  const { fileName, resource, format, citations = [], url, datasets, language, more } = file;
  const { mediaType, compression, isTable, hasLists = !isTable } = FORMATS[format];
  const csv = csvOptionsOf(format, file.csv);
  const described = csv && describeCsv(csv);
  const isCsv = described !== undefined;
  const name = fileName.toLowerCase().replace(/[^-a-z0-9._/]+/g, "-");
  const columnNames = columnNamesIn(format, resource, file.columns);
  const title = `${resource} of DataStream${file.tidy ? ", with columns for analysis" : ""}`;
  const licenses = licensesOf(citations);
  return {
    profile: isCsv ? "tabular-data-package" : "data-package",
    name,
    title,
    created: file.created.toISOString(),
    ...(licenses.length > 0 && { licenses }),
    ...(citations.length > 0 && { sources: citations.map(toSource) }),
    resources: [{
      profile: isCsv ? "tabular-data-resource" : "data-resource",
      name,
      path: fileName,
      title,
      format: compression ? format.slice(0, -compression.length - 1) : format,
      ...(compression && { compression }),
      mediatype: mediaType,
      encoding: "utf-8",
      bytes: file.bytes,
      hash: file.hash,
      rows: file.rows,
      ...(isCsv && { dialect: described.dialect }),
      schema: {
        fields: [
          ...file.columns.map((field, index) =>
            toField(resource, field, columnNames[index]!, hasLists, language)
          ),
          ...file.tidy
            ? TIDY_COLUMNS.map((name) => ({
              name,
              type: TYPES[TIDY_TYPES[name]],
              description: tidyMeaningOf(name, language),
              ...TIDY_FIELDS[name],
            }))
            : [],
          ...hasPointColumn(format, resource, file.columns) ? [GEOMETRY_FIELD] : [],
        ],
        ...(isCsv && { missingValues: described.missingValues }),
      },
    }],
    weir: { version: VERSION, url, datasets, ...more },
  };
}

/** Adds the hash of the other members, by which `weir verify` finds a changed package. */
export async function sealPackage<M>(found: DataPackage<M>): Promise<DataPackage<M>> {
  const { packageHash: _, ...weir } = found.weir;
  const hash = await sha256Hex(JSON.stringify({ ...found, weir }));
  return { ...found, weir: { ...weir, packageHash: `sha256:${hash}` } as typeof found.weir };
}

/** The package in the metadata of the file itself: the same if it is renamed or made again. */
export type EmbeddedPackage = Omit<DataPackage<unknown>, "name" | "created" | "resources"> & {
  resources: [Omit<PackageResource, "name" | "path">];
  weir: {
    /** Options of the query, by the names of the interface that it came from. */
    query?: Readonly<Record<string, unknown>> | undefined;
  };
};

export function embeddedPackage(
  file: Omit<DescribedFile<object>, "fileName" | "created">,
): EmbeddedPackage {
  const url = withoutPageSize(file.url);
  const described = toDataPackage({ ...file, url, fileName: "", created: new Date(0) });
  const { name: _, created: __, resources: [{ name: ___, path: ____, ...resource }], ...others } =
    described;
  return { ...others, resources: [resource] };
}

/** Types of Table Schema. In CSV, lists are text. */
const TYPES: Readonly<Record<ValueType | TidyType, string>> = {
  integer: "integer",
  number: "number",
  boolean: "boolean",
  date: "date",
  time: "datetime",
  text: "string",
  texts: "array",
};

function toField(
  resource: ResourceName,
  field: string,
  name: string,
  hasLists: boolean,
  language: Language | undefined,
): PackageField {
  const type = valueTypeOf(resource, field);
  const found = meaningOf(resource, field, language);
  if (type === undefined || found === undefined) return { name, type: "any" };
  const { label, meaning, unit, unitField } = found;
  return {
    name,
    type: TYPES[type === "texts" && !hasLists ? "text" : type],
    title: label,
    description: meaning,
    ...(unit && { unit }),
    ...(unitField && { unitField }),
  };
}

const TIDY_MEANINGS: Readonly<Record<keyof TidyRow, Readonly<Record<Language, string>>>> =
  TEXTS.tidy;

export function tidyMeaningOf(column: keyof TidyRow, language: Language = "en"): string {
  return TIDY_MEANINGS[column][language];
}

/** What the columns of `tidy` have in addition to a meaning. */
const TIDY_FIELDS: Readonly<
  Partial<Record<keyof TidyRow, Pick<PackageField, "unitField" | "constraints">>>
> = {
  value: { unitField: "unit" },
  censoring: { constraints: { enum: CENSORINGS } },
  lower: { unitField: "unit" },
  upper: { unitField: "unit" },
};

/** The column of GeoParquet. Table Schema has no type for bytes. */
const GEOMETRY_FIELD: PackageField = {
  name: "geometry",
  type: "any",
  title: "Geometry",
  description:
    "point in WGS 84 (OGC:CRS84) or NAD83 as WKB; null for another reference system, or without a position",
};

export function toSource(
  citation: Citation,
): Record<string, string> & { title: string; path: string } {
  const { doi, link, name, version, published, citation: text, licence } = citation;
  const known = Object.entries({ version, published, citation: text, licence })
    .filter(([, value]) => value !== "");
  return { title: name, path: link, doi, ...Object.fromEntries(known) };
}

export function licensesOf(
  citations: readonly Citation[],
): NonNullable<DataPackage<unknown>["licenses"]> {
  const licences = new Set(citations.map(({ licence }) => licence.trim()).filter(Boolean));
  return [...licences].map((licence) =>
    /^https?:\/\//i.test(licence)
      ? { path: licence, title: licence }
      : { name: licence.replace(/[^-\w.]+/g, "-"), title: licence }
  );
}
