// Labels, groups, meanings and use of the fields of `/Records`, from the table that data packages have their meanings from.
import { TIDY_COLUMNS } from "../../src/formats/tidy.ts";
import TABLE from "../../src/odata/field_meanings.json" with { type: "json" };
import { type Field, fieldNames, RESOURCES } from "../../src/odata/resources.ts";
import type { Form } from "./form.ts";
import type { Language, Locale } from "./text.ts";

interface FieldText extends Record<Language, string> {
  group: string;
  meaning: string;
  frenchMeaning: string;
  /** `main` for a download of main columns, `result` if it has no tidy columns, `table` for the table and the chart. */
  use?: readonly string[];
}

const FIELDS: Readonly<Record<Field<"Records">, FieldText>> = TABLE.fields;

const fieldsFor = (use: string) =>
  fieldNames("Records").filter((field) => FIELDS[field].use?.includes(use));
/** Fields of `/Records` that most readers need. The tidy columns have the result. */
export const MAIN_FIELDS: readonly string[] = fieldsFor("main");
/** Fields of `/Observations` for the table and the chart, in addition to the tidy columns. */
export const TABLE_FIELDS: readonly string[] = ["LocationId", ...fieldsFor("table")];
/** Fields of the optional columns of the table. */
export const FURTHER_FIELDS: readonly Field<"Records">[] = fieldNames("Records").filter((field) =>
  field in RESOURCES.Observations.fields && !["Id", "DOI", ...TABLE_FIELDS].includes(field)
);

type ChosenColumns = Pick<Form, "columns" | "tidy">;

/** Fields of a download of `/Records`. */
export function selectedFields({ columns, tidy }: ChosenColumns): readonly string[] {
  if (columns === "all") return fieldNames("Records");
  return tidy === "1" ? MAIN_FIELDS : [...MAIN_FIELDS, ...fieldsFor("result")];
}

export function countColumns(chosen: ChosenColumns): number {
  return selectedFields(chosen).length + (chosen.tidy === "1" ? TIDY_COLUMNS.length : 0);
}

export function fieldLabel(field: Field<"Records">, { language }: Locale): string {
  return FIELDS[field][language];
}

export function fieldMeaning(field: Field<"Records">, { language }: Locale): string {
  return FIELDS[field][language === "fr" ? "frenchMeaning" : "meaning"];
}

/** Returns the fields of each group, in the order of the service. */
export function groupedFields({ language }: Locale): [group: string, fields: Field<"Records">[]][] {
  return Object.entries(TABLE.groups).map(([id, names]) => [
    names[language],
    fieldNames("Records").filter((field) => FIELDS[field].group === id),
  ]);
}
