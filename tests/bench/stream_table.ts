import { formatNumber, median, type RuntimeName } from "./measurement.ts";
import { alignColumns } from "./table.ts";

/** Name of a runtime of the suite `stream`. */
export type StreamRuntime = RuntimeName | "workerd";

/** Values of one row of the table; lower is better. */
export interface StreamRow {
  name: string;
  runtime: StreamRuntime;
  unit: "ms" | "MB" | "of the page's time" | "requests" | "times";
  /** Values of the rounds before the change; empty for a program without Weir. */
  before: readonly number[];
  /** Values of the same rounds after the change. */
  after: readonly number[];
  /** Maximum of the median after the change. */
  limit?: number;
}

/** Minimum of the median of `before / after`. */
const MIN_RATIO = 0.95;

/** Returns the values before the change divided by those after it, round by round. */
export function ratiosOf({ before, after }: StreamRow): number[] {
  return before.map((value, round) => value / after[round]!);
}

/** Whether a row is not worse than before the change, and within its limit. */
export function isMet(row: StreamRow): boolean {
  if (row.limit !== undefined) return median(row.after) <= row.limit;
  return row.before.length === 0 || median(ratiosOf(row)) >= MIN_RATIO;
}

/** Formats rows as a Markdown table. */
export function formatStreamTable(rows: readonly StreamRow[]): string {
  const format = (values: readonly number[]) =>
    values.length === 0 ? "" : formatNumber(median(values));
  const lines = rows.map((row) => {
    const { name, runtime, unit, before, after, limit } = row;
    const cells = [name, runtime, format(before), format(after), unit];
    if (before.length === 0) return [...cells, "", "", ""];
    const target = limit === undefined ? `ratio at least ${MIN_RATIO}` : `at most ${limit}`;
    return [...cells, median(ratiosOf(row)).toFixed(2), target, isMet(row) ? "yes" : "no"];
  });
  const head = ["benchmark", "runtime", "before", "after", "unit", "ratio", "target", "met"];
  return alignColumns([head, ...lines]);
}
