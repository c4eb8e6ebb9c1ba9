// Reads workbooks that Weir has written, part by part. Other programs read them in `tests/package/xlsx_readers_test.ts`.
import { assert, assertEquals } from "@std/assert";
import { crc32, inflateRawSync } from "node:zlib";
import { toXlsx, type XlsxOptions } from "../../src/formats/xlsx.ts";
import type { FileQuery } from "../../src/formats/formats.ts";
import { readAll } from "./parquet.ts";

/** A cell with the type and the format that a program sees. */
export interface XlsxCell {
  type: "text" | "number" | "boolean";
  value: string;
  format: string;
}

export interface Workbook {
  /** Parts by path. */
  parts: Map<string, string>;
  /** Rows of each sheet by its name. `undefined` is an empty cell. */
  sheets: Record<string, (XlsxCell | undefined)[][]>;
}

/** Returns the parts of a ZIP file by path, and checks their lengths and CRCs. */
export function unzip(bytes: Uint8Array): Map<string, Uint8Array> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const end = bytes.length - 22;
  assertEquals(view.getUint32(end, true), 0x06054b50);
  const parts = new Map<string, Uint8Array>();
  let at = view.getUint32(end + 16, true);
  for (let count = view.getUint16(end + 10, true); count > 0; count--) {
    assertEquals(view.getUint32(at, true), 0x02014b50);
    const [method, nameLength] = [view.getUint16(at + 10, true), view.getUint16(at + 28, true)];
    const [crc, compressed, length] = [16, 20, 24].map((field) => view.getUint32(at + field, true));
    const local = view.getUint32(at + 42, true);
    const name = decode(bytes.subarray(at + 46, at + 46 + nameLength));
    const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    assertEquals(decode(bytes.subarray(local + 30, local + 30 + nameLength)), name);
    const raw = bytes.subarray(start, start + compressed!);
    const content = method === 0 ? raw : inflateRawSync(raw);
    assertEquals([content.length, crc32(content)], [length, crc]);
    parts.set(name, content);
    at += 46 + nameLength;
  }
  return parts;
}

export function readWorkbook(bytes: Uint8Array): Workbook {
  const parts = new Map([...unzip(bytes)].map(([name, part]) => [name, decode(part)]));
  const styles = parts.get("xl/styles.xml")!;
  const formats = new Map(
    [...styles.matchAll(/numFmtId="(\d+)" formatCode="([^"]*)"/g)].map((
      [, id, code],
    ) => [id, code]),
  );
  const cellStyles = [...styles.split("<cellXfs")[1]!.matchAll(/<xf numFmtId="(\d+)"/g)]
    .map(([, id]) => formats.get(id) ?? (id === "49" ? "@" : "General"));
  const names = [...parts.get("xl/workbook.xml")!.matchAll(/<sheet name="([^"]*)"/g)];
  const sheets = names.map(([, name], index) => {
    const xml = parts.get(`xl/worksheets/sheet${index + 1}.xml`)!;
    assert(!/[\ufffe\uffff]/.test(xml), "a character that XML does not allow");
    const rows = [...xml.matchAll(/<row r="(\d+)">(.*?)<\/row>/gs)].map(
      ([, number, cells], row) => {
        assertEquals(Number(number), row + 1);
        const found: (XlsxCell | undefined)[] = [];
        for (const [, letters, line, style, type, text, value] of cells!.matchAll(CELL)) {
          assertEquals(line, number);
          found[columnOf(letters!)] = {
            type: type === "inlineStr" ? "text" : type === "b" ? "boolean" : "number",
            value: unescape(text ?? value!),
            format: cellStyles[Number(style ?? 0)]!,
          };
        }
        return Array.from(found);
      },
    );
    return [name!, rows] as const;
  });
  return { parts, sheets: Object.fromEntries(sheets) };
}

const CELL =
  /<c r="([A-Z]+)(\d+)"(?: s="(\d+)")?(?: t="(\w+)")?>(?:<is><t(?: xml:space="preserve")?>([^<]*)<\/t><\/is>|<v>([^<]*)<\/v>)<\/c>/g;

const decode = (bytes: Uint8Array) => new TextDecoder("utf-8", { fatal: true }).decode(bytes);

function columnOf(letters: string): number {
  return [...letters].reduce((sum, letter) => 26 * sum + letter.charCodeAt(0) - 0x40, 0) - 1;
}

function unescape(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&")
    .replace(/_x([\dA-F]{4})_/gi, (_, digits) => String.fromCharCode(parseInt(digits, 16)));
}

/** Returns the workbook of a query. */
export async function workbookOf(
  query: FileQuery<ReadableStream<Uint8Array>>,
  options?: XlsxOptions,
): Promise<Workbook> {
  return readWorkbook(new Uint8Array(await readAll(toXlsx(query, options))));
}

/** Returns the cells as CSV has them. */
export function textsOf(cells: readonly (XlsxCell | undefined)[], width: number): string[] {
  return Array.from({ length: width }, (_, column) => {
    const { type, value = "", format } = cells[column] ?? {};
    if (type === "boolean") return value === "1" ? "true" : "false";
    return type === "number" && format === "yyyy\\-mm\\-dd" ? dateOf(Number(value)) : value;
  });
}

function dateOf(serial: number): string {
  return new Date((serial - 25_569) * 86_400_000).toISOString().slice(0, 10);
}
