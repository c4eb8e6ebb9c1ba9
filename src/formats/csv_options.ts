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

/**
 * Checks options of CSV, and fills in the rest.
 *
 * @throws {TypeError} If an option is unknown, the separator could be part of a number or a line
 *   end, or there is no column, or one twice
 */
export function toCsvFormat(options: CsvOptions = {}): CsvFormat {
  requireOptions("CSV", options, Object.keys(KEYS));
  const { separator = ",", header = true, bom = false, escapeFormulas = false } = options;
  if (typeof separator !== "string" || !/^[\t!#$%&()*,/:;<=>?@[\]^_`{|}~]$/.test(separator)) {
    throw new TypeError(
      `Cannot separate cells by ${
        describe(separator)
      }: wanted one mark such as "," or ";", or a tab`,
    );
  }
  const columns = options.columns === undefined ? undefined : toColumns(options.columns);
  const twice = firstRepeated(columns?.map(([field]) => field) ?? []);
  if (columns?.length === 0 || twice !== undefined) {
    throw new TypeError(
      twice === undefined
        ? "Cannot write CSV without columns: leave them out for all"
        : `Cannot write column "${twice}" twice: wanted each field once`,
    );
  }
  return { columns, separator, header, bom, escapeFormulas };
}

function toColumns(columns: readonly CsvColumn[]): (readonly [field: string, header: string])[] {
  const isPair = (column: unknown): column is [string, string] =>
    Array.isArray(column) && column.length === 2 &&
    column.every((text) => typeof text === "string");
  const wrong = (column: unknown): never => {
    throw new TypeError(
      `A column must be a field, or a field and its header in a list, got ${describe(column)}`,
    );
  };
  if (!Array.isArray(columns)) return wrong(columns);
  return columns.map((column) =>
    typeof column === "string" ? [column, column] : isPair(column) ? column : wrong(column)
  );
}
