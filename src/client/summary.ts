import { stringify } from "@std/csv/stringify";
import { checkCsvOptions, formatHeader, withoutNul } from "../formats/csv.ts";
import { classifyRow, RESULT_AND_LIMIT_FIELDS, type TidyRow } from "../formats/tidy.ts";
import type { Row, SUMMARY_KEYS } from "../odata/resources.ts";
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
  ...RESULT_AND_LIMIT_FIELDS,
] as const;

type SummarizedRow = Pick<Row<"Observations">, typeof SUMMARY_FIELDS[number]>;

const yearOf = (row: SummarizedRow) => row.ActivityStartDate?.slice(0, 4) || null;

/** Columns that identify a group, by the option `by`. Names are requested at the end. */
const GROUP_COLUMNS: Record<
  typeof SUMMARY_KEYS[number] | "default",
  (row: SummarizedRow) => Partial<SummaryRow>
> = {
  default: (row) => ({ ...GROUP_COLUMNS.location(row), ...GROUP_COLUMNS.characteristic(row) }),
  characteristic: ({ CharacteristicName: characteristic }) => ({ characteristic }),
  location: ({ LocationId: location_id }) => ({ location_id, location_name: "" }),
  dataset: ({ DOI: dataset }) => ({ dataset, dataset_name: "" }),
  year: (row) => ({ year: yearOf(row) }),
};

/** Resources with the names of groups. */
const NAMES = [
  ["Locations", "Id", "Name", "location_id", "location_name"],
  ["Metadata", "DOI", "DatasetName", "dataset", "dataset_name"],
] as const;

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
  for (const [resource, key, name, column, nameColumn] of NAMES) {
    if (summary[0]?.[column] === undefined) continue;
    const options = { filter, within, signal, select: [key, name] };
    const rows = await requestRows(resource, options).toArray();
    const names = new Map(rows.map((row) => [row[key], String(row[name])]));
    for (const group of summary) group[nameColumn] = names.get(group[column]) ?? "";
  }
  return summary;
}

function addRow(
  groups: Map<string, SummaryRow>,
  row: SummarizedRow,
  by: SummaryOptions["by"],
): void {
  const columns = GROUP_COLUMNS[by ?? "default"](row);
  const key = JSON.stringify(columns);
  let group = groups.get(key);
  if (group === undefined) groups.set(key, group = newGroup(columns));
  const year = yearOf(row);
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

function newGroup(columns: Partial<SummaryRow>): SummaryRow {
  return {
    ...columns,
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

/** Names of the columns, in order. */
export function summaryColumns(
  rows: readonly SummaryRow[],
  by: SummaryOptions["by"],
): (keyof SummaryRow)[] {
  const first = rows[0] ?? newGroup(GROUP_COLUMNS[by ?? "default"]({} as SummarizedRow));
  return Object.keys(first) as (keyof SummaryRow)[];
}

/** CSV with the default options. Lists are joined with `; `. */
export function summaryCsv(rows: readonly SummaryRow[], by: SummaryOptions["by"]): string {
  const columns = summaryColumns(rows, by);
  const cells = rows.map((row) =>
    columns.map((name) => {
      const value = row[name];
      return Array.isArray(value) ? value.join("; ") : value ?? "";
    })
  );
  return formatHeader(columns, checkCsvOptions()) + withoutNul(stringify(cells));
}
