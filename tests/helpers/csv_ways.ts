import { csvOfBytes } from "../../src/output/csv_bytes.ts";
import { toCell, toLines } from "../../src/output/csv_lines.ts";
import { type CsvOptions, toCsvFormat } from "../../src/output/csv_options.ts";
import { readSourcePage } from "../../src/output/json_source.ts";

/** The lines of a page by the fast way alone, without a header; undefined where it does not know the page. */
export function fastLines(
  page: string,
  fields: readonly string[],
  options: CsvOptions = {},
): string | undefined {
  const format = toCsvFormat(options);
  const target = { fields, isOpen: false, before: new Uint8Array(), format };
  const written = csvOfBytes(new TextEncoder().encode(page), target, Infinity);
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
