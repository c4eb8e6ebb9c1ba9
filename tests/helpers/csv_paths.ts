import {
  checkCsvOptions,
  type CheckedCsvOptions,
  type CsvOptions,
  CsvWriter,
  formatRecord,
  toCell,
} from "../../src/formats/csv.ts";
import { PageFault, type WriterState, type WrittenPage } from "../../src/formats/page_writer.ts";
import { parsePage } from "./parsed_page.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Returns the CSV lines of a page from the transcoder, without a header. */
export function transcodedLines(
  page: string,
  fields: readonly string[],
  options: CsvOptions = {},
): string {
  const csv = checkCsvOptions({ ...options, header: false });
  return decoder.decode(new CsvWriter(csv, fields).write(encoder.encode(page)).bytes);
}

/** Returns the CSV lines of a page from parsed rows, without a header. */
export function parsedLines(
  page: string,
  fields: readonly string[],
  options: CsvOptions = {},
): string {
  const csv = checkCsvOptions(options);
  const { rows } = parsePage(encoder.encode(page));
  const lines = rows.map((row) =>
    formatRecord(fields.map((field) => toCell(row.get(field), csv)), csv.separator)
  );
  return decoder.decode(encoder.encode(lines.join("")));
}

/** Writes pages from parsed rows; the reference implementation for `CsvWriter`. */
export class ParsedCsvWriter {
  #fields: readonly string[];
  #isBegun = false;

  /** @param csv Options without columns, byte order mark and escaped formulas */
  constructor(
    readonly csv: CheckedCsvOptions,
    fields: readonly string[],
    readonly addsNewFields: boolean,
  ) {
    this.#fields = fields;
  }

  get state(): WriterState {
    return { isBegun: this.#isBegun, fields: this.#fields };
  }

  write(page: Uint8Array): WrittenPage {
    const { rows, ids, envelope } = parsePage(page);
    const names = this.addsNewFields ? rows.flatMap((row) => [...row.keys()]) : [];
    const added = [...new Set(names)].filter((name) => !this.#fields.includes(name));
    if (this.#isBegun && added.length > 0) {
      throw new PageFault(
        `Field "${added[0]}" first appears after the header was written`,
        "the result is incomplete; select the fields you need",
      );
    }
    const fields = [...this.#fields, ...added];
    if (rows.length === 0 || fields.length === 0) {
      return { bytes: new Uint8Array(), rows: rows.length, ids, envelope };
    }
    const cells = rows.map((row) => fields.map((field) => toCell(row.get(field), this.csv)));
    const lines = this.#isBegun || !this.csv.header ? cells : [fields, ...cells];
    this.#isBegun = true;
    this.#fields = fields;
    const text = lines.map((line) => formatRecord(line, this.csv.separator)).join("");
    return { bytes: encoder.encode(text), rows: rows.length, ids, envelope };
  }
}
