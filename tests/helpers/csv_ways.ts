import { csvOfBytes } from "../../src/formats/csv_transcoder.ts";
import { toCell, toLines } from "../../src/formats/csv_cells.ts";
import { type CsvFormat, type CsvOptions, toCsvFormat } from "../../src/formats/csv_options.ts";
import { readSourcePage } from "../../src/formats/raw_json.ts";
import { PageFault, type WriterState, type WrittenPage } from "../../src/formats/page_writer.ts";

/** The lines of a page by the fast way alone, without a header; undefined where it does not know the page. */
export function fastLines(
  page: string,
  fields: readonly string[],
  options: CsvOptions = {},
): string | undefined {
  const format = toCsvFormat(options);
  const target = { fields, isOpen: false, before: new Uint8Array(), format };
  const written = csvOfBytes(new TextEncoder().encode(page), target);
  return written && new TextDecoder("utf-8", { ignoreBOM: true }).decode(written.bytes);
}

/** The lines of a page by the general way alone, without a header. */
export function generalLines(
  page: string,
  fields: readonly string[],
  options: CsvOptions = {},
): string {
  const format = toCsvFormat(options);
  const { rows } = readSourcePage(new TextEncoder().encode(page));
  const cells = rows.map((row) => fields.map((field) => toCell(row.get(field), format)));
  const bytes = new TextEncoder().encode(toLines(cells, format.separator));
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

/** Writes pages as rows of strings, never from bytes to bytes: what a `CsvWriter` has to give. */
export class GeneralCsv {
  #fields: readonly string[];
  #isBegun = false;

  /** @param format Without columns, a byte order mark or escaped formulas */
  constructor(readonly format: CsvFormat, known: readonly string[], readonly isOpen: boolean) {
    this.#fields = known;
  }

  get state(): WriterState {
    return { isBegun: this.#isBegun, fields: this.#fields };
  }

  write(page: Uint8Array): WrittenPage {
    const { rows, ids, envelope } = readSourcePage(page);
    const names = this.isOpen ? rows.flatMap((row) => [...row.keys()]) : [];
    const added = [...new Set(names)].filter((name) => !this.#fields.includes(name));
    if (this.#isBegun && added.length > 0) {
      throw new PageFault(
        `Field "${added[0]}" came after the header was written`,
        "the rows so far are not all; select the fields wanted",
      );
    }
    const fields = [...this.#fields, ...added];
    if (rows.length === 0 || fields.length === 0) {
      return { bytes: new Uint8Array(), rows: rows.length, ids, envelope };
    }
    const cells = rows.map((row) => fields.map((field) => toCell(row.get(field), this.format)));
    const lines = this.#isBegun || !this.format.header ? cells : [fields, ...cells];
    this.#isBegun = true;
    this.#fields = fields;
    const bytes = new TextEncoder().encode(toLines(lines, this.format.separator));
    return { bytes, rows: rows.length, ids, envelope };
  }
}
