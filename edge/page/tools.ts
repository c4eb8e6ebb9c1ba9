// The files that the page offers. A new tool is a row of `TOOLS`, and perhaps one of code_snippets.json.

export interface OfferedFile {
  /** Name of the program or format; the page has texts for the empty ones. */
  label: string;
  path: string;
  parameters?: Readonly<Record<string, string>>;
}

/** Programs that read a download, with the file for each. */
export const TOOLS = {
  excel: {
    label: "Excel",
    path: "/Records.csv",
    parameters: { bom: "true", escapeFormulas: "true" },
  },
  r: { label: "R", path: "/Records.csv" },
  python: { label: "Python", path: "/Records.csv" },
  duckdb: { label: "DuckDB", path: "/Records.parquet" },
  qgis: { label: "QGIS", path: "/Locations.geojson" },
  other: { label: "", path: "/Records.ndjson" },
} as const satisfies Record<string, OfferedFile>;

export type ToolId = keyof typeof TOOLS;
export const TOOL_IDS = Object.keys(TOOLS) as readonly ToolId[];

export const CITATION_FILES = {
  text: { label: "", path: "/Citations.txt" },
  bibtex: { label: "BibTeX", path: "/Citations.bib" },
  ris: { label: "RIS", path: "/Citations.ris" },
} as const satisfies Record<string, OfferedFile>;

export function isTool(text: string): text is ToolId {
  return Object.hasOwn(TOOLS, text);
}
