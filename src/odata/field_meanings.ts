// Meanings of the fields, and types of their values, for files, data packages and the page of fields.
import TEXTS from "./field_meanings.json" with { type: "json" };
import type { Language } from "../language.ts";
import type { FieldType } from "./fields.ts";
import { type Field, type ResourceName, RESOURCES } from "./resources.ts";

export interface FieldMeaning {
  readonly label: string;
  /** A phrase, without a capital letter at its start and a full stop at its end. */
  readonly meaning: string;
  /** Unit of all values. */
  readonly unit?: string | undefined;
  /** Field that has the unit of the value, which can differ from row to row. */
  readonly unitField?: string | undefined;
}

/** `Latitude` of Locations is `MonitoringLocationLatitude`, as in Records. */
type LocationField = `MonitoringLocation${Exclude<Field<"Locations">, "Id" | Field<"Records">>}`;
type Described = { meaning: string; en: string; fr?: string; frenchMeaning?: string };
type DescribedField = Field<"Metadata"> | LocationField | Field<"Observations"> | Field<"Records">;
/** In the order of `docs/data.md`. `Id` differs between resources. */
const FIELDS: Readonly<Record<DescribedField, Described>> = TEXTS.fields;
const TABLE: Readonly<Record<string, Described>> = FIELDS;

/** In English if the language has no text: only the fields of Records are in French. */
export function meaningOf(
  resource: ResourceName,
  field: string,
  language: Language = "en",
): FieldMeaning | undefined {
  const name = [`${resource}.${field}`, field, `MonitoringLocation${field}`]
    .find((name) => Object.hasOwn(TABLE, name));
  if (name === undefined) return undefined;
  const unitField = field.replace(/(Measure|Value)$/, "Unit");
  const { en, meaning, fr = en, frenchMeaning = meaning } = TABLE[name]!;
  const isFrench = language === "fr";
  return {
    label: isFrench ? fr : en,
    meaning: isFrench ? frenchMeaning : meaning,
    unit: /itude$/.test(field) ? "degrees" : undefined,
    unitField: unitField === field ? undefined : unitField,
  };
}

/** Type of values, which can be null. A date has the form `YYYY-MM-DD`. */
export type ValueType = "integer" | "number" | "date" | "text" | "texts";

const VALUE_TYPES: Readonly<Record<FieldType, ValueType>> = {
  "integer": "integer",
  "number": "number",
  "number?": "number",
  "text": "text",
  "text?": "text",
  "texts": "texts",
  "dates?": "texts",
};

/** Returns `undefined` for a new field of the service. */
export function valueTypeOf(resource: ResourceName, field: string): ValueType | undefined {
  const fields: Readonly<Record<string, FieldType>> = RESOURCES[resource].fields;
  if (!Object.hasOwn(fields, field)) return undefined;
  return field.endsWith("Date") ? "date" : VALUE_TYPES[fields[field]!];
}
