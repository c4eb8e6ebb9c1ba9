// Meanings of the fields, for data packages and the page of fields.
import MEANINGS from "./field_meanings.json" with { type: "json" };
import type { ResourceName } from "./resources.ts";

export interface FieldMeaning {
  /** A phrase, without a capital letter at its start and a full stop at its end. */
  readonly meaning: string;
  /** Unit of all values. */
  readonly unit?: string | undefined;
  /** Field that has the unit of the value, which can differ from row to row. */
  readonly unitField?: string | undefined;
  /** Whether the text is a date, `YYYY-MM-DD`. */
  readonly isDate: boolean;
}

/** By field, in the order of `docs/data.md`. `Id` differs between resources. */
const TABLE: Readonly<Record<string, string>> = MEANINGS;

export function meaningOf(resource: ResourceName, field: string): FieldMeaning | undefined {
  // `Latitude` of Locations is `MonitoringLocationLatitude` in Records.
  const property = field.replace(/^MonitoringLocation/, "");
  const name = [`${resource}.${field}`, field, property].find((name) => Object.hasOwn(TABLE, name));
  if (name === undefined) return undefined;
  const unitField = field.replace(/(Measure|Value)$/, "Unit");
  return {
    meaning: TABLE[name]!,
    unit: /itude$/.test(field) ? "degrees" : undefined,
    unitField: unitField === field ? undefined : unitField,
    isDate: field.endsWith("Date"),
  };
}

/** Splits a field name into words: "Result detection condition" for `ResultDetectionCondition`. */
export function labelOf(field: string): string {
  const words = field.replace(/([a-z])(?=[A-Z])/g, "$1 ").split(" ");
  return words.map((word, index) => index > 0 && /[a-z]/.test(word) ? word.toLowerCase() : word)
    .join(" ");
}
