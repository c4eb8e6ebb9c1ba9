import { ValidationError } from "../errors.ts";
import { describe, firstRepeated, requireOptions } from "../validation.ts";

/** A column: a field, or a field and the name that the header row has for it. */
export type CsvColumn = string | readonly [field: string, header: string];

/**
 * Options for CSV.
 *
 * @example For a spreadsheet: columns by other names, UTF-8 that Excel knows, no formula that runs
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
   * The columns in order, with other names in the header row where wanted. Default: the fields
   * selected, else all in the documented order and new ones of the first page after them.
   */
  columns?: readonly CsvColumn[] | undefined;
  /** What stands between two cells: `,`, `;`, a tab, or another mark of ASCII. Default `,`. */
  separator?: string | undefined;
  /** Whether the first line names the columns. Default true. */
  header?: boolean | undefined;
  /** Whether the file begins with a byte order mark, by which Excel knows UTF-8. Default false. */
  bom?: boolean | undefined;
  /**
   * Whether a text that a spreadsheet would take for a formula (it begins with `=`, `+`, `-`, `@`, a
   * tab or a carriage return) gets a `'` in front. Numbers never do. Default false.
   */
  escapeFormulas?: boolean | undefined;
}

/** The options of CSV, checked and whole. */
export interface CsvFormat extends Required<Omit<CsvOptions, "columns">> {
  columns: readonly (readonly [field: string, header: string])[] | undefined;
  separator: string;
  header: boolean;
  bom: boolean;
  escapeFormulas: boolean;
}

const KEYS: Record<keyof CsvOptions, true> = {
  columns: true,
  separator: true,
  header: true,
  bom: true,
  escapeFormulas: true,
};

/** One ASCII punctuation mark or a tab: nothing that is part of a number, a quote or a line end. */
const SEPARATOR = /^[\t!#$%&()*,/:;<=>?@[\]^_`{|}~]$/;

/**
 * Checks options of CSV and sets the defaults.
 *
 * @throws {ValidationError} If an option is unknown, the separator is not accepted, or a column is
 *   malformed or repeated
 */
export function toCsvFormat(options: CsvOptions = {}): CsvFormat {
  requireOptions("CSV", options, Object.keys(KEYS));
  const { separator = ",", header = true, bom = false, escapeFormulas = false } = options;
  if (typeof separator !== "string" || !SEPARATOR.test(separator)) {
    const problem = `must be one punctuation mark such as "," or ";", or a tab, got ${
      describe(separator)
    }`;
    throw new ValidationError("separator", problem, { received: separator });
  }
  const columns = options.columns === undefined ? undefined : toColumns(options.columns);
  return { columns, separator, header, bom, escapeFormulas };
}

function toColumns(columns: readonly CsvColumn[]): (readonly [field: string, header: string])[] {
  const reject = (problem: string, received: unknown, hint?: string): never => {
    throw new ValidationError("columns", problem, { received, ...(hint && { hint }) });
  };
  if (!Array.isArray(columns)) return reject(`must be a list, got ${describe(columns)}`, columns);
  if (columns.length === 0) {
    reject("must not be empty", columns, "leave it out to write all columns");
  }
  const pairs = columns.map((column): readonly [string, string] => {
    if (typeof column === "string") return [column, column];
    if (isPair(column)) return column;
    return reject(`must hold fields or [field, header] pairs, got ${describe(column)}`, column);
  });
  const repeated = firstRepeated(pairs.map(([field]) => field));
  if (repeated !== undefined) {
    reject(`must name each field once, got "${repeated}" twice`, columns);
  }
  return pairs;
}

function isPair(column: unknown): column is readonly [field: string, header: string] {
  return Array.isArray(column) && column.length === 2 &&
    column.every((text) => typeof text === "string");
}
