import type { CsvOptions } from "../../../mod.ts";
import { checkCsvOptions, CsvWriter } from "../../../src/formats/csv.ts";
import { writePage, type WriterState } from "../../../src/formats/page_writer.ts";
import { readStrictly } from "./malformed_pages.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

export function transcodedLines(
  page: string,
  fields: readonly string[],
  options: CsvOptions = {},
): string {
  const csv = checkCsvOptions({ ...options, header: false });
  return decoder.decode(writePage(new CsvWriter(csv, fields), encoder.encode(page)));
}

/** Returns the CSV lines of a page from the rows of `JSON.parse()`, without a header. */
export function parsedLines(
  page: string,
  fields: readonly string[],
  options: CsvOptions = {},
): string {
  return new ParsedCsvWriter({ ...options, header: false }, fields, false).write(page);
}

/** A value of which numbers are objects with their digits. */
type Json = string | boolean | null | { digits: string } | Json[] | { [name: string]: Json };

/** Writes pages from the rows of `JSON.parse()`; the reference implementation for `CsvWriter`. */
export class ParsedCsvWriter {
  #fields: readonly string[];
  #isBegun = false;

  /** @param options Options without columns and byte order mark */
  constructor(
    readonly options: CsvOptions,
    fields: readonly string[],
    readonly addsNewFields: boolean,
  ) {
    this.#fields = fields;
  }

  get state(): WriterState {
    return { isBegun: this.#isBegun, fields: this.#fields };
  }

  /** @throws {SyntaxError} If it is not a page, or has a new field after the first page */
  write(page: string): string {
    const reading = readStrictly(encoder.encode(page));
    if ("error" in reading) throw new SyntaxError("not a page");
    const rows = reading.rows.map((row) => new Map(Object.entries(row as Record<string, Json>)));
    const names = this.addsNewFields ? rows.flatMap((row) => [...row.keys()]) : [];
    const added = [...new Set(names)].filter((name) => !this.#fields.includes(name));
    if (this.#isBegun && added.length > 0) {
      throw new SyntaxError(`Field "${added[0]}" first appears after the header was written`);
    }
    const fields = [...this.#fields, ...added];
    if (rows.length === 0 || fields.length === 0) return "";
    const cells = rows.map((row) => fields.map((field) => this.#toCell(row.get(field))));
    const lines = this.#isBegun || this.options.header === false ? cells : [fields, ...cells];
    this.#isBegun = true;
    this.#fields = fields;
    return decoder.decode(encoder.encode(lines.map((line) => this.#toRecord(line)).join("")));
  }

  #toCell(value: Json | undefined): string {
    if (value === undefined || value === null) return "";
    if (typeof value === "boolean") return String(value);
    const isList = Array.isArray(value) && value.every((item) => typeof item === "string");
    const text = isList ? value.join("; ") : typeof value === "string" ? value : toText(value);
    const isFormula = (isList || typeof value === "string") && /^[=+\-@\t\r]/.test(text);
    return this.options.escapeFormulas && isFormula ? `'${text}` : text;
  }

  /** Formats a record (RFC 4180). An empty record of one cell has quotes. */
  #toRecord(cells: readonly string[]): string {
    const { separator = "," } = this.options;
    if (cells.length === 1 && cells[0] === "") return '""\r\n';
    const quote = (cell: string) =>
      cell.includes(separator) || /["\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
    return `${cells.map(quote).join(separator)}\r\n`;
  }
}

/** Stringifies JSON with the digits of the source. */
function toText(value: Json): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(toText).join()}]`;
  if (typeof value.digits === "string") return value.digits;
  const members = Object.entries(value as Record<string, Json>);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${toText(member)}`).join()}}`;
}
