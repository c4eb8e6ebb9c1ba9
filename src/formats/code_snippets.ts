// Code that reads a download: for the web page, the documents and `weir mcp`. Each language is one function. The types of
// columns come from the schema, because a program that guesses them changes values: the identifier 007 becomes 7, the text
// NA becomes missing, and readr drops a text after many numbers. The code never contains a key or token.
import { valueTypeOf } from "../odata/field_meanings.ts";
import { fieldNames, RESOURCE_NAMES } from "../odata/resources.ts";
import { TIDY_COLUMNS, TIDY_TYPES } from "./tidy.ts";

/** Header that a program must send, with the environment variable that has its API key or token. */
export interface Credential {
  header: string;
  prefix: string;
  variable: string;
}

/** Type of a column. The other columns are text: also dates and times, which need no conversion to be sorted. */
type ColumnType = "integer" | "number" | "boolean";

interface Download {
  /** URL or path of a file. */
  url: string;
  /** Variable, table or file of the rows. */
  name: string;
  /** Columns that are not text. */
  columns: readonly (readonly [name: string, type: ColumnType])[];
  credential: Credential | undefined;
}

/** Lines of code. `false` and `undefined` are no line. */
type Lines = readonly (string | false | undefined | Lines)[];

interface Snippet {
  label: string;
  format: "csv" | "parquet";
  write(download: Download): Lines;
}

const READR_TYPES = { integer: "d", number: "d", boolean: "l" };
const POLARS_TYPES = { integer: "Int64", number: "Float64", boolean: "Boolean" };
const JULIA_TYPES = { integer: "Int64", number: "Float64", boolean: "Bool" };
/** Types of columns that are not text. */
export const PYTHON_TYPES = { integer: "int", number: "float", boolean: "bool" };
/** Arguments of `pandas.read_csv()`: only an empty cell is missing, not the text `NA`, and each number is the nearest double. */
export const PANDAS_ARGUMENTS =
  'keep_default_na=False, na_values=[""], float_precision="round_trip"';
/** Longest line of a list of columns. */
const MAX_LINE = 100;

/** By id, in the order of the page. */
const SNIPPETS = {
  r: {
    label: "R",
    format: "csv",
    write: (download) => [
      startR(download),
      `${download.name} <- read.csv(${rSource(download)},`,
      `  colClasses = "character", na.strings = "", blank.lines.skip = FALSE)`,
      conversionsInR(
        download,
        (name, column, convert) => `${name}$${column} <- ${convert}(${name}$${column})`,
        (name) => `${name}[numbers] <- lapply(${name}[numbers], as.numeric)`,
      ),
    ],
  },
  readr: {
    label: "readr",
    format: "csv",
    write: (download) => [
      "library(readr)",
      startR(download),
      `${download.name} <- read_csv(${rSource(download)},`,
      `  na = "", trim_ws = FALSE,`,
      list(
        "  col_types = cols(",
        ['.default = "c"', ...typed(download, READR_TYPES, (name, type) => `${name} = "${type}"`)],
        "))",
      ),
    ],
  },
  "data.table": {
    label: "data.table",
    format: "csv",
    write: (download) => [
      "library(data.table)",
      startR(download),
      `${download.name} <- fread(${rSource(download)},`,
      `  sep = ",", header = TRUE, colClasses = "character", na.strings = "", strip.white = FALSE)`,
      "# fread() keeps both of two quotes.",
      `${download.name}[, names(${download.name}) := lapply(.SD, gsub, pattern = '""', replacement = '"', fixed = TRUE)]`,
      conversionsInR(
        download,
        (name, column, convert) => `${name}[, ${column} := ${convert}(${column})]`,
        (name) => `${name}[, (numbers) := lapply(.SD, as.numeric), .SDcols = numbers]`,
      ),
    ],
  },
  python: {
    label: "Python",
    format: "csv",
    write(download) {
      const { url, name, credential } = download;
      const columns = typed(download, PYTHON_TYPES, (column, type) => `${column}=${type}`);
      const isTyped = columns.length > 0;
      return [
        isTyped && "from collections import defaultdict",
        credential && "import os",
        "import pandas as pd",
        "",
        `${name} = pd.read_csv("${url}",`,
        isTyped ? list("  dtype=defaultdict(", ["lambda: str", ...columns], "),") : "  dtype=str,",
        `  ${PANDAS_ARGUMENTS}${credential ? "," : ")"}`,
        credential && `  storage_options={"${credential.header}": ${inPython(credential)}})`,
      ];
    },
  },
  polars: {
    label: "Polars",
    format: "csv",
    write(download) {
      const { url, name, credential } = download;
      const columns = typed(download, POLARS_TYPES, (column, type) => `"${column}": pl.${type}`);
      const start = `${name} = pl.read_csv(${credential ? "urlopen(request).read()" : `"${url}"`},`;
      return [
        credential && ["import os", "from urllib.request import Request, urlopen"],
        "import polars as pl",
        "",
        credential && [
          `request = Request("${url}",`,
          `  headers={"${credential.header}": ${inPython(credential)}})`,
        ],
        columns.length > 0
          ? [start, list("  infer_schema=False, schema_overrides={", columns, "})")]
          : `${start} infer_schema=False)`,
      ];
    },
  },
  duckdb: {
    label: "DuckDB",
    format: "parquet",
    write: ({ url, name, credential }) => [
      "INSTALL httpfs; LOAD httpfs;",
      "SET http_timeout = 3600;",
      credential && [
        "CREATE SECRET (TYPE http, EXTRA_HTTP_HEADERS MAP {",
        `  '${credential.header}': '${credential.prefix}' || getenv('${credential.variable}')});`,
      ],
      `CREATE TABLE ${name} AS`,
      `  SELECT * FROM read_parquet('${url.replaceAll("'", "''")}');`,
    ],
  },
  julia: {
    label: "Julia",
    format: "csv",
    write(download) {
      const { url, name, credential } = download;
      const columns = typed(download, JULIA_TYPES, (column, type) => `:${column} => ${type}`);
      const isTyped = columns.length > 0;
      const types = isTyped ? "(_, column) -> get(types, column, String)" : "String";
      return [
        "using CSV, DataFrames, Downloads",
        "",
        `file = Downloads.download("${url.replaceAll("$", "\\$")}"${credential ? ";" : ")"}`,
        credential &&
        `  headers = ["${credential.header}" => "${credential.prefix}" * ENV["${credential.variable}"]])`,
        isTyped && list("types = Dict(", columns, ")"),
        `${name} = CSV.read(file, DataFrame; types = ${types})`,
      ];
    },
  },
  curl: {
    label: "curl",
    format: "csv",
    write({ url, name, credential }) {
      const [start, end] = ["curl --fail --remove-on-error", `--output ${name}.csv '${url}'`];
      if (!credential) return [`${start} ${end}`];
      const { header, prefix, variable } = credential;
      return [`${start} --header "${header}: ${prefix}$${variable}" \\`, `  ${end}`];
    },
  },
  powershell: {
    label: "PowerShell",
    format: "csv",
    write: ({ url, name, credential }) => [
      `Invoke-WebRequest -Uri '${url}' -OutFile ${name}.csv${credential ? " `" : ""}`,
      credential &&
      `  -Headers @{ '${credential.header}' = "${credential.prefix}$env:${credential.variable}" }`,
    ],
  },
} as const satisfies Record<string, Snippet>;

export type SnippetId = keyof typeof SNIPPETS;
export const SNIPPET_IDS = Object.keys(SNIPPETS) as readonly SnippetId[];

/**
 * Returns the code for each program.
 *
 * @param name The variable, table or file of the rows
 */
export function createCodeSnippets(
  urls: { csv: string; parquet: string },
  name: string,
  credential?: Credential,
): { id: SnippetId; label: string; code: string }[] {
  return SNIPPET_IDS.map((id) => {
    const { label, format } = SNIPPETS[id];
    return { id, label, code: createCode(id, urls[format], name, credential) };
  });
}

/**
 * Returns the code for one program.
 *
 * @param url URL, or path of a file, which has all fields of Records
 */
export function createCode(
  id: SnippetId,
  url: string,
  name: string,
  credential?: Credential,
): string {
  const snippet: Snippet = SNIPPETS[id];
  return flatten(snippet.write({ url, name, columns: columnsOf(url), credential })).join("\n");
}

function flatten(lines: Lines): string[] {
  return lines.flatMap((line) => typeof line === "string" ? line : line ? flatten(line) : []);
}

/** Returns the columns of a download that are not text. */
function columnsOf(url: string): [name: string, type: ColumnType][] {
  const { pathname, searchParams } = new URL(url, "http://localhost/");
  const resource = RESOURCE_NAMES.find((name) => pathname.includes(`/${name}.`)) ?? "Records";
  const fields = searchParams.get("$select")?.split(",") ?? fieldNames(resource);
  const tidy = searchParams.get("tidy") === "true" ? TIDY_COLUMNS : [];
  const types = [
    ...fields.map((field) => [field, valueTypeOf(resource, field)] as const),
    ...tidy.map((column) => [column, TIDY_TYPES[column]] as const),
  ];
  return types.flatMap(([column, type]) =>
    type === "integer" || type === "number" || type === "boolean" ? [[column, type]] : []
  );
}

/** Without a longer time limit, R interrupts a download after 60 seconds. */
function startR({ url, name, credential }: Download): Lines {
  if (!/^https?:/.test(url)) return [];
  const { header, prefix, variable } = credential ?? {};
  const value = `Sys.getenv("${variable}")`;
  return [
    "options(timeout = 3600)",
    credential && [
      `download.file("${url}", "${name}.csv", mode = "wb",`,
      `  headers = c("${header}" = ${prefix ? `paste0("${prefix}", ${value})` : value}))`,
    ],
  ];
}

function rSource({ url, name, credential }: Download): string {
  return credential ? `"${name}.csv"` : `"${url}"`;
}

/** Returns statements that convert columns from text: `one` converts a column, and `many` those in `numbers`. */
function conversionsInR(
  { name, columns }: Download,
  one: (name: string, column: string, convert: string) => string,
  many: (name: string) => string,
): Lines {
  const numbers = columns.filter(([, type]) => type !== "boolean").map(([column]) => column);
  const booleans = columns.filter(([, type]) => type === "boolean").map(([column]) => column);
  return [
    numbers.length > 1
      ? [list("numbers <- c(", numbers.map((column) => `"${column}"`), ")"), many(name)]
      : numbers.map((column) => one(name, column, "as.numeric")),
    booleans.map((column) => one(name, column, "as.logical")),
  ];
}

/** Writes each column with the name of its type in a language. */
function typed(
  { columns }: Download,
  types: Readonly<Record<ColumnType, string>>,
  write: (column: string, type: string) => string,
): string[] {
  return columns.map(([column, type]) => write(column, types[type]));
}

function inPython({ prefix, variable }: Credential): string {
  return `${prefix && `"${prefix}" + `}os.environ["${variable}"]`;
}

/** Returns the lines of a list that is broken where a line would be too long. */
function list(start: string, items: readonly string[], end: string): string[] {
  const lines = [start];
  const indent = " ".repeat(start.search(/\S/) + 2);
  for (const [index, item] of items.entries()) {
    const text = item + (index < items.length - 1 ? ", " : end);
    const line = lines.at(-1)!;
    if (index > 0 && line.length + text.trimEnd().length > MAX_LINE) lines.push(`${indent}${text}`);
    else lines[lines.length - 1] = line + text;
  }
  return lines.map((line) => line.trimEnd());
}
