import type { Measurement, RuntimeName } from "./measurement.ts";

export interface SuiteMeasurement extends Measurement {
  suite: string;
}

const RUNTIMES: readonly RuntimeName[] = ["Deno", "Node"];

/** Formats measurements as a Markdown table with a row per benchmark and a column per runtime. */
export function formatTable(measurements: readonly SuiteMeasurement[]): string {
  const byRow = Map.groupBy(measurements, ({ suite, name }) => `${suite}\n${name}`);
  const rows = [...byRow.values()].map((cells) => {
    const { suite, name, target = "" } = cells[0]!;
    const valueIn = (column: RuntimeName) =>
      cells.filter(({ runtime }) => runtime === column).map(({ value }) => value).join("; ");
    const results = cells.flatMap(({ isMet }) => isMet ?? []);
    const met = results.length === 0 ? "" : results.every((isMet) => isMet) ? "yes" : "no";
    return [suite, name, ...RUNTIMES.map(valueIn), target, met];
  });
  return alignColumns([["suite", "benchmark", ...RUNTIMES, "target", "met"], ...rows]);
}

export function alignColumns(rows: readonly (readonly string[])[]): string {
  const escaped = rows.map((row) => row.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = escaped[0]!.map((_, at) => Math.max(...escaped.map((row) => row[at]!.length)));
  const lines = escaped.map((row) =>
    `| ${row.map((cell, at) => cell.padEnd(widths[at]!)).join(" | ")} |`
  );
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return [lines[0], rule, ...lines.slice(1)].join("\n");
}
