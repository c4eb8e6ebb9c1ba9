// Rows that are objects in memory as a Parquet file. Rows of the service are written from their bytes by `parquet.ts`.
import { ByteWriter } from "hyparquet-writer/src/bytewriter.js";
import { ParquetWriter } from "hyparquet-writer/src/parquet-writer.js";
import type { Bytes } from "../bytes.ts";
import { VERSION } from "../version.ts";
import { type NamedType, schemaOf, typeEmptyList } from "./parquet_chunks.ts";

/** Values of the type `integer` are numbers, those of `texts` are lists. */
export function rowsToParquet(
  columns: readonly NamedType[],
  rows: readonly Readonly<Record<string, unknown>>[],
): Bytes {
  const writer = new ByteWriter();
  const createdBy = `@weir/datastream ${VERSION}`;
  const file = new ParquetWriter({ writer, schema: schemaOf(columns), createdBy });
  file.write({
    columnData: columns.map(([name, type]) => ({
      name,
      data: rows.map(({ [name]: value }) =>
        type === "integer" && typeof value === "number" ? BigInt(value) : value
      ),
    })),
  });
  file.finish();
  const bytes = writer.getBytes().slice() as Bytes;
  if (rows.length === 0) typeEmptyList(bytes);
  return bytes;
}
