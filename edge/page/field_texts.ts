// Labels, groups and meanings of the fields of `/Records`. The English meanings are those of data packages.
import { meaningOf } from "../../src/odata/field_meanings.ts";
import TABLE from "./fields.json" with { type: "json" };
import type { Language } from "./text.ts";

const FIELD_TABLE: Readonly<Record<string, { en: string; fr: string; frenchMeaning: string }>> =
  TABLE.fields;

export const FIELD_GROUPS = TABLE.groups;

/** The name of the service if the field has no label. */
export function fieldLabel(field: string, language: Language): string {
  return FIELD_TABLE[field]?.[language] ?? field;
}

export function fieldMeaning(field: string, language: Language): string {
  return (language === "fr" ? FIELD_TABLE[field]?.frenchMeaning : undefined) ??
    meaningOf("Records", field)?.meaning ?? "";
}
