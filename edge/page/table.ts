import { html } from "hono/html";
import type { Measurement } from "./chart.ts";
import type { Language } from "./drawing_text.ts";

type Html = ReturnType<typeof html>;

/** Fields to select for the table, beside the tidy columns. */
export const TABLE_FIELDS: readonly string[] = [
  "LocationId",
  "ActivityStartDate",
  "CharacteristicName",
  "ResultSampleFraction",
  "MethodSpeciation",
  "ActivityMediaName",
  "ActivityDepthHeightMeasure",
  "ActivityDepthHeightUnit",
  "ResultAnalyticalMethodID",
  "ResultAnalyticalMethodName",
  "ResultDetectionCondition",
];

export interface TableContent {
  /** In any order: the newest 20 are shown. */
  rows: readonly Measurement[];
  /** Number of results, which can be more than the rows. */
  count: number;
  nameOf: (locationId: string) => string;
  /** Further columns: a field and its label. */
  more?: readonly { field: string; label: string }[] | undefined;
  language: Language;
  /** URL at which columns are chosen; no link without it. */
  hrefOfColumns?: string | undefined;
}

/** Returns the card of the table, with its heading and notes. */
export function measurementsTable(_content: TableContent): Html {
  return html``;
}
