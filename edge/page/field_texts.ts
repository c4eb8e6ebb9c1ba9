// Labels, groups and meanings of the fields of `/Records`. The English meanings are those of data packages.
import { meaningOf } from "../../src/odata/field_meanings.ts";
import { fieldNames } from "../../src/odata/resources.ts";
import TABLE from "./fields.json" with { type: "json" };
import type { Language } from "./text.ts";

interface FieldText extends Record<Language, string> {
  group: string;
  frenchMeaning: string;
}

const FIELDS: Readonly<Record<string, FieldText>> = TABLE.fields;

export function fieldLabel(field: string, language: Language): string {
  return FIELDS[field]?.[language] ?? field;
}

/** Returns the fields of each group, in the order of the service. */
export function groupedFields(
  language: Language,
): { group: string; fields: { field: string; label: string; meaning: string }[] }[] {
  return Object.entries(TABLE.groups).map(([id, names]) => ({
    group: names[language],
    fields: fieldNames("Records").filter((field) => FIELDS[field]?.group === id).map((field) => ({
      field,
      label: fieldLabel(field, language),
      meaning: language === "fr"
        ? FIELDS[field]!.frenchMeaning
        : meaningOf("Records", field)?.meaning ?? "",
    })),
  }));
}
