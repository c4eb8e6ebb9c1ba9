// The files that the page offers. A new tool is a row of `TOOLS`, and perhaps one of src/formats/code_snippets.ts.

export interface OfferedFile {
  /** Name of the program or format; the page has texts for the empty ones. */
  label: string;
  resource: "Records" | "Locations" | "Citations";
  extension: string;
  parameters?: Readonly<Record<string, string>>;
  /** Whether the file has texts in the language of the page. Default false. */
  isTranslated?: boolean;
}

/** Programs that read a download, with the file for each. */
export const TOOLS = {
  excel: {
    label: "Excel",
    resource: "Records",
    extension: "csv",
    parameters: { bom: "true", escapeFormulas: "true" },
  },
  xlsx: { label: "Excel (xlsx)", resource: "Records", extension: "xlsx", isTranslated: true },
  r: { label: "R", resource: "Records", extension: "csv" },
  python: { label: "Python", resource: "Records", extension: "csv" },
  duckdb: { label: "DuckDB", resource: "Records", extension: "parquet" },
  qgis: { label: "QGIS", resource: "Locations", extension: "geojson" },
  other: { label: "", resource: "Records", extension: "ndjson" },
} as const satisfies Record<string, OfferedFile>;

export type ToolId = keyof typeof TOOLS;

/** The file that the page proposes. `xlsx` when the checks of Excel in `docs/releasing.md` are done. */
export const DEFAULT_TOOL: ToolId = "excel";

export const TOOL_IDS = Object.keys(TOOLS) as readonly ToolId[];

export const CITATION_FILES = {
  text: { label: "", resource: "Citations", extension: "txt" },
  bibtex: { label: "BibTeX", resource: "Citations", extension: "bib" },
  ris: { label: "RIS", resource: "Citations", extension: "ris" },
} as const satisfies Record<string, OfferedFile>;
