import { ValidationError } from "../errors.ts";
import {
  describe,
  emptyOption,
  firstRepeated,
  invalidValue,
  isListOfStrings,
  requireOptions,
  requireType,
} from "../validation.ts";

/** A column: a field, or a field and its name in the header row. */
export type CsvColumn = string | readonly [field: string, header: string];

/**
 * Options of CSV.
 *
 * @example CSV for a spreadsheet: renamed columns, UTF-8 that Excel detects, escaped formulas
 * ```ts
 * import { csvFromPage, type CsvOptions } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * const options: CsvOptions = {
 *   columns: ["Id", ["ResultValue", "value"]],
 *   separator: ";",
 *   bom: true,
 *   escapeFormulas: true,
 * };
 * const page = new TextEncoder().encode('{"value":[{"Id":1,"ResultValue":7.10}]}');
 * assertEquals(new TextDecoder().decode(csvFromPage(page, options)), "Id;value\r\n1;7.10\r\n");
 * ```
 */
export interface CsvOptions {
  /**
   * Columns in order, each with an optional name for the header row. Default: the selected fields;
   * without a selection, all fields in the documented order, followed by new fields of the first
   * page.
   */
  columns?: readonly CsvColumn[] | undefined;
  /** Separator between cells: `,`, `;`, a tab, or another ASCII punctuation mark. Default `,`. */
  separator?: string | undefined;
  /** Whether the first line contains the column names. Default true. */
  header?: boolean | undefined;
  /** Whether the file begins with a byte order mark, from which Excel detects UTF-8. Default false. */
  bom?: boolean | undefined;
  /**
   * Whether to write a `'` before strings that a spreadsheet would run as a formula: those that begin
   * with `=`, `+`, `-`, `@`, a tab or a carriage return. Numbers are not changed. Default false.
   */
  escapeFormulas?: boolean | undefined;
}

/** Validated options of CSV, with their defaults. */
export interface CheckedCsvOptions {
  columns: readonly (readonly [field: string, header: string])[] | undefined;
  separator: string;
  header: boolean;
  bom: boolean;
  escapeFormulas: boolean;
}

/**
 * Checks options of CSV and sets the defaults.
 *
 * @throws {ValidationError} If an option is unknown, the separator is not accepted, or a column is
 *   malformed or repeated
 */
export function checkCsvOptions(options: CsvOptions = {}): CheckedCsvOptions {
  requireOptions("CSV", options, Object.keys(CSV_OPTIONS));
  const { separator = ",", header = true, bom = false, escapeFormulas = false } = options;
  if (typeof separator !== "string" || !SEPARATOR_PATTERN.test(separator)) {
    throw invalidValue("separator", 'one punctuation mark such as "," or ";", or a tab', separator);
  }
  for (const name of ["header", "bom", "escapeFormulas"] as const) {
    requireType(name, options[name], "boolean");
  }
  const columns = options.columns === undefined ? undefined : checkColumns(options.columns);
  return { columns, separator, header, bom, escapeFormulas };
}

const CSV_OPTIONS: Record<keyof CsvOptions, true> = {
  columns: true,
  separator: true,
  header: true,
  bom: true,
  escapeFormulas: true,
};

/** One ASCII punctuation mark that does not occur in numbers and is not a quote. */
const SEPARATOR_PATTERN = /^[\t!#$%&()*,/:;<=>?@[\]^_`{|}~]$/;

function checkColumns(columns: readonly CsvColumn[]): (readonly [field: string, header: string])[] {
  if (!Array.isArray(columns)) throw invalidValue("columns", "an array", columns);
  if (columns.length === 0) throw emptyOption("columns", columns, "omit it to write all columns");
  const pairs = columns.map((column): readonly [string, string] => {
    if (typeof column === "string") return [column, column];
    if (isPair(column)) return column;
    const problem = `must hold fields or [field, header] pairs, got ${describe(column)}`;
    throw new ValidationError("columns", problem, { received: column });
  });
  const repeated = firstRepeated(pairs.map(([field]) => field));
  if (repeated === undefined) return pairs;
  throw new ValidationError("columns", `must name each field once, got "${repeated}" twice`, {
    received: columns,
  });
}

function isPair(column: unknown): column is readonly [field: string, header: string] {
  return isListOfStrings(column) && column.length === 2;
}
