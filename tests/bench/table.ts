import type { Figure, Runtime } from "./figure.ts";

/** A figure, and the part that it is of. */
export interface PartFigure extends Figure {
  part: string;
}

const RUNTIMES: readonly Runtime[] = ["Deno", "Node"];

/** The figures as a table in Markdown: a row for what was measured, a cell for each runtime. */
export function tableOf(figures: readonly PartFigure[]): string {
  const byRow = Map.groupBy(figures, ({ part, what }) => `${part}\n${what}`);
  const rows = [...byRow.values()].map((cells) => {
    const { part, what, asked = "" } = cells[0]!;
    const ofRuntime = (wanted: Runtime) =>
      cells.filter(({ runtime }) => runtime === wanted).map(({ figure }) => figure).join("; ");
    const judged = cells.filter(({ met }) => met !== undefined);
    const met = judged.length === 0 ? "" : judged.every(({ met }) => met) ? "yes" : "no";
    return [part, what, ...RUNTIMES.map(ofRuntime), asked, met];
  });
  return aligned([["part", "what", ...RUNTIMES, "asked", "met"], ...rows]);
}

function aligned(rows: readonly (readonly string[])[]): string {
  const escaped = rows.map((row) => row.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = escaped[0]!.map((_, at) => Math.max(...escaped.map((row) => row[at]!.length)));
  const lines = escaped.map((row) =>
    `| ${row.map((cell, at) => cell.padEnd(widths[at]!)).join(" | ")} |`
  );
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return [lines[0], rule, ...lines.slice(1)].join("\n");
}
