// Tools that read a download. A new tool is a row of `TOOLS`, and perhaps one of `SNIPPETS` in code_snippets.ts.
import type { FileFormat } from "../../src/formats/formats.ts";
import type { ResourceName } from "../../src/odata/resources.ts";

export interface Tool {
  /** Name of the program; the page has a text for the last one. */
  label: string;
  resource: ResourceName;
  format: FileFormat;
  /** Further parameters of the URL. */
  parameters: Readonly<Record<string, string>>;
}

export const TOOLS = {
  excel: {
    label: "Excel",
    resource: "Records",
    format: "csv",
    parameters: { bom: "true", escapeFormulas: "true" },
  },
  r: { label: "R", resource: "Records", format: "csv", parameters: {} },
  python: { label: "Python", resource: "Records", format: "csv", parameters: {} },
  duckdb: { label: "DuckDB", resource: "Records", format: "parquet", parameters: {} },
  qgis: { label: "QGIS", resource: "Locations", format: "geojson", parameters: {} },
  other: { label: "", resource: "Records", format: "ndjson", parameters: {} },
} as const satisfies Record<string, Tool>;

export type ToolId = keyof typeof TOOLS;

export function isTool(text: string): text is ToolId {
  return Object.hasOwn(TOOLS, text);
}
