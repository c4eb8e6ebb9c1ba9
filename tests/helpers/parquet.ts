import { parquetMetadata, parquetReadObjects } from "hyparquet";
import { DataStream, type IterableStream, type Query } from "../../mod.ts";
import { type ParquetOptions, toParquet } from "../../src/formats/parquet.ts";
import { FakeClock } from "./fake_clock.ts";
import { readCsv } from "./rfc4180.ts";
import { ROOT } from "./upstream.ts";

/** Replaces a page by its number; the first one has number 1. */
export type Replace = (number: number, response: Response) => Promise<Response>;

/** Creates a client of a service with rows, which are JSON with rising Ids. */
export function clientOf(rows: readonly string[], replace?: Replace): DataStream {
  const ids = rows.map((row) => Number(/"Id":(\d+)/.exec(row)![1]));
  let number = 0;
  return new DataStream({
    baseUrl: ROOT,
    clock: new FakeClock(),
    requestsPerSecond: Infinity,
    async fetch({ url }) {
      const { searchParams, origin, pathname } = new URL(url);
      if (searchParams.has("$count")) return Response.json({ value: rows.length });
      const after = Number(searchParams.get("$skiptoken")?.slice(3) ?? -1);
      const start = ids.findLastIndex((id) => id <= after) + 1;
      const end = Math.min(rows.length, start + Number(searchParams.get("$top")));
      const link = `,"@odata.nextLink":"${origin}${pathname}?$skiptoken=Id:${ids[end - 1]}"`;
      const body = `{"value":[${rows.slice(start, end).join()}]${end < rows.length ? link : ""}}`;
      const response = new Response(body, { headers: { "content-type": "application/json" } });
      return await replace?.(++number, response) ?? response;
    },
  });
}

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
