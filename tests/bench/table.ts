import { type Comparison, median, type RuntimeName } from "./measurement.ts";

const RUNTIMES: readonly RuntimeName[] = ["Deno", "Node"];

/** Formats the median ratio, and the ratios that a quarter of the rounds are below and above. */
function formatRatios(cells: readonly Comparison[]): string {
  const ratios = cells.flatMap((cell) => cell.ratios);
  if (ratios.length === 0) return "";
  const sorted = ratios.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.round(share * (sorted.length - 1))]!.toFixed(2);
  const note = cells[0]!.note === undefined ? "" : `, ${cells[0]!.note}`;
  return `${median(ratios).toFixed(2)} (${at(0.25)} to ${at(0.75)})${note}`;
}

/** Formats comparisons as a Markdown table with a row per benchmark and a column per runtime. */
export function formatComparisons(title: string, cells: readonly Comparison[]): string {
  const rows = [...Map.groupBy(cells, ({ name }) => name)].map(([name, ofName]) => [
    name,
    ...RUNTIMES.map((name) => formatRatios(ofName.filter(({ runtime }) => runtime === name))),
  ]);
  return alignColumns([[`${title}, median (quartiles)`, ...RUNTIMES], ...rows]);
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
