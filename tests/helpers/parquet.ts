import { parquetMetadata, parquetReadObjects } from "hyparquet";
import type { IterableStream, Query } from "../../mod.ts";
import { type ParquetOptions, toParquet } from "../../src/formats/parquet.ts";
import { readCsv } from "./rfc4180.ts";

export async function readAll(stream: ReadableStream<Uint8Array>): Promise<ArrayBuffer> {
  return await new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer();
}

export type ParquetRow = Record<string, unknown>;

export interface ParquetFile {
  bytes: ArrayBuffer;
  rows: ParquetRow[];
  /** Type of each column, such as `DOUBLE`, `STRING` or `LIST`. */
  types: Record<string, string>;
  /** Number of rows of each row group. */
  groups: number[];
  metadata: Record<string, string>;
  /** Length (bytes) of the metadata at the end. */
  footer: number;
}

export async function readParquet(bytes: ArrayBuffer): Promise<ParquetFile> {
  const { schema, row_groups, key_value_metadata = [], metadata_length } = parquetMetadata(bytes);
  const types: [string, string][] = [];
  for (let index = 1; index < schema.length; index++) {
    const { name, type, logical_type, num_children } = schema[index]!;
    types.push([name, logical_type?.type ?? type!]);
    if (num_children) index += 2;
  }
  return {
    bytes,
    rows: row_groups.length === 0 ? [] : await parquetReadObjects({ file: bytes, utf8: false }),
    types: Object.fromEntries(types),
    groups: row_groups.map(({ num_rows }) => Number(num_rows)),
    metadata: Object.fromEntries(key_value_metadata.map(({ key, value }) => [key, value ?? ""])),
    footer: metadata_length,
  };
}

/** Writes a query as a Parquet file, and reads it with hyparquet. */
export async function parquetOf(
  query: Pick<Query<unknown>, "url" | "bytes">,
  options?: ParquetOptions,
): Promise<ParquetFile> {
  return await readParquet(
    await readAll(toParquet<IterableStream<Uint8Array<ArrayBuffer>>>(query, options)),
  );
}

/** Returns the cell of CSV with a value of a Parquet file; `csv` tells how a number is written. */
export function cellOf(value: unknown, csv: string): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.join("; ");
  if (value instanceof Date) {
    const text = value.toISOString();
    if (/^\d{4}-\d\d-\d\d$/.test(csv)) return text.slice(0, 10);
    // CSV has only the digits of the seconds that the service sent.
    return Date.parse(csv) === value.getTime() ? csv : text;
  }
  if (typeof value === "number") return Number(csv) === value ? csv : String(value);
  return String(value);
}

/** Returns the names of the columns and the cells that CSV would have. */
export function cellsOf(rows: readonly ParquetRow[], csv: string): string[][] {
  const [header = [], ...lines] = readCsv(csv);
  return [
    header,
    ...rows.map((row, at) => header.map((name, index) => cellOf(row[name], lines[at]![index]!))),
  ];
}
