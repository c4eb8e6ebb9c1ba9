import { stringify } from "@std/csv/stringify";
import { classifyRow, RESULT_FIELDS, type ResultRow, type TidyRow } from "../formats/tidy.ts";
import type { SUMMARY_KEYS } from "../odata/resources.ts";
import type { AnyResourceQuery, Query } from "./query.ts";

/** @internal Options of `client.summary()`. */
export interface SummaryOptions extends
  Pick<
    AnyResourceQuery,
    | "filter"
    | "within"
    | "from"
    | "to"
    | "excludeQualityControl"
    | "maxRows"
    | "signal"
    | "onProgress"
  > {
  /** What to group the rows by. Default: location and characteristic. */
  by?: typeof SUMMARY_KEYS[number] | undefined;
}

/**
 * Summary of a group of rows. The last five numbers are counts of {@linkcode TidyRow.censoring}.
 *
 * @internal
 */
export interface SummaryRow extends Record<TidyRow["censoring"], number> {
  /** DOI of the dataset, if the rows are grouped by dataset. */
  dataset?: string;
  /** Name of the dataset, if the rows are grouped by dataset. */
  dataset_name?: string;
  /** `Id` of the location, if the rows are grouped by location. */
  location_id?: number;
  /** Name of the location, if the rows are grouped by location. */
  location_name?: string;
  /** Characteristic, if the rows are grouped by it. */
  characteristic?: string;
  /** Year, if the rows are grouped by it; null for rows without a date. */
  year?: string | null;
  /** Number of rows. */
  results: number;
  /** First year of a row; null if no row has a date. */
  first_year: string | null;
  /** Last year of a row; null if no row has a date. */
  last_year: string | null;
  /** Units of the results, or of the limits that bound them. */
  units: string[];
  /** Chemical forms: `MethodSpeciation`. */
  forms: string[];
  /** Fractions: `ResultSampleFraction`. */
  fractions: string[];
}

const SUMMARY_FIELDS = [
  "LocationId",
  "DOI",
  "CharacteristicName",
  "MethodSpeciation",
  "ResultSampleFraction",
  "ActivityStartDate",
  ...RESULT_FIELDS,
] as const;

interface SummarizedRow extends ResultRow {
  LocationId: number;
  DOI: string;
  CharacteristicName: string;
  MethodSpeciation: string | null;
  ResultSampleFraction: string | null;
  ActivityStartDate: string | null;
}

type RequestRows = (
  resource: "Observations" | "Locations" | "Metadata",
  query: AnyResourceQuery,
) => Query<Record<string, unknown>>;

/** Keeps only the groups in memory. */
export async function summarize(
  requestRows: RequestRows,
  { by, ...query }: SummaryOptions,
): Promise<SummaryRow[]> {
  const groups = new Map<string, SummaryRow>();
  const observations = requestRows("Observations", { ...query, select: SUMMARY_FIELDS });
  for await (const rows of observations.pages()) {
    for (const row of rows) addRow(groups, row as unknown as SummarizedRow, by);
  }
  const summary = [...groups.values()].sort(compareGroups);
  const { filter, within, signal } = query;
  if (summary.some(({ location_id }) => location_id !== undefined)) {
    const options = { filter, within, signal, select: ["Id", "Name"] };
    const rows = await requestRows("Locations", options).toArray();
    const names = new Map(rows.map(({ Id, Name }) => [Id, String(Name)]));
    for (const group of summary) group.location_name = names.get(group.location_id) ?? "";
  }
  if (by === "dataset" && summary.length > 0) {
    const options = { filter, within, signal, select: ["DOI", "DatasetName"] };
    const rows = await requestRows("Metadata", options).toArray();
    const names = new Map(rows.map(({ DOI, DatasetName }) => [DOI, String(DatasetName)]));
    for (const group of summary) group.dataset_name = names.get(group.dataset) ?? "";
  }
  return summary;
}

function addRow(
  groups: Map<string, SummaryRow>,
  row: SummarizedRow,
  by: SummaryOptions["by"],
): void {
  const year = row.ActivityStartDate?.slice(0, 4) || null;
  const key = by === "dataset"
    ? row.DOI
    : by === "year"
    ? String(year)
    : `${by === "characteristic" ? "" : row.LocationId} ${
      by === "location" ? "" : row.CharacteristicName
    }`;
  let group = groups.get(key);
  if (group === undefined) groups.set(key, group = newGroup(row, year, by));
  const { censoring, number } = classifyRow(row);
  group.results++;
  group[censoring]++;
  if (year !== null) {
    if (group.first_year === null || year < group.first_year) group.first_year = year;
    if (group.last_year === null || year > group.last_year) group.last_year = year;
  }
  const unit = number === undefined
    ? null
    : number === "result"
    ? row.ResultUnit
    : row.ResultDetectionQuantitationLimitUnit;
  add(group.units, unit);
  add(group.forms, row.MethodSpeciation);
  add(group.fractions, row.ResultSampleFraction);
}

/** Rows without a year come last. */
function compareGroups(one: SummaryRow, other: SummaryRow): number {
  for (const name of ["location_id", "characteristic", "dataset", "year"] as const) {
    const [a, b] = [one[name] ?? "\uffff", other[name] ?? "\uffff"];
    if (a !== b) return a < b ? -1 : 1;
  }
  return 0;
}

function newGroup(row: SummarizedRow, year: string | null, by: SummaryOptions["by"]): SummaryRow {
  const hasLocation = by === undefined || by === "location";
  const hasCharacteristic = by === undefined || by === "characteristic";
  return {
    ...by === "dataset" ? { dataset: row.DOI, dataset_name: "" } : {},
    ...hasLocation ? { location_id: row.LocationId, location_name: "" } : {},
    ...hasCharacteristic ? { characteristic: row.CharacteristicName } : {},
    ...by === "year" ? { year } : {},
    results: 0,
    first_year: null,
    last_year: null,
    units: [],
    forms: [],
    fractions: [],
    none: 0,
    left: 0,
    right: 0,
    unknown: 0,
    missing: 0,
  };
}

function add(list: string[], text: string | null): void {
  if (text !== null && text.trim() !== "" && !list.includes(text)) list.push(text);
}

/** RFC 4180. Lists are joined with `; `. */
export function summaryCsv(rows: readonly SummaryRow[], by: SummaryOptions["by"]): string {
  const first = rows[0] ?? newGroup({} as SummarizedRow, null, by);
  const columns = Object.keys(first) as (keyof SummaryRow)[];
  const cells = rows.map((row) =>
    columns.map((name) => {
      const value = row[name];
      return Array.isArray(value) ? value.join("; ") : value ?? "";
    })
  );
  return stringify([columns, ...cells]);
}
