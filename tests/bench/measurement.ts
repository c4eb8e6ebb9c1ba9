export type RuntimeName = "Deno" | "Node";

/** Result of a benchmark in one runtime: one cell of the table. */
export interface Measurement {
  /** Description of the benchmark; the table has one row for each. */
  name: string;
  runtime: RuntimeName;
  value: string;
  target?: string;
  isMet?: boolean;
}

export const CURRENT_RUNTIME: RuntimeName = "Deno" in globalThis ? "Deno" : "Node";

/** Writes a measurement as a line of JSON, which `bench.ts` reads. */
export function report(
  measurement: Omit<Measurement, "runtime"> & { runtime?: RuntimeName },
): void {
  console.log(JSON.stringify({ runtime: CURRENT_RUNTIME, ...measurement }));
}

export function logProgress(step: string): void {
  console.error(`  ${step}`);
}

/** Formats a number with three significant digits and thousands separators. */
export function formatNumber(value: number): string {
  return value.toLocaleString("en", { minimumSignificantDigits: 3, maximumSignificantDigits: 3 });
}

/** Returns the median of values; of an even number of values, the greater of the middle two. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}
