import type { FileFormat, FormatName, LoadedFormat } from "./formats.ts";
import type { ParquetOptions } from "./parquet.ts";

/** Loads the code of a format, which the client does not contain. */
export async function loadFormat(
  name: FileFormat,
  options?: ParquetOptions & { url?: string },
): Promise<FormatName | LoadedFormat> {
  if (name !== "parquet") return name;
  const { parquetFormat } = await import("./parquet.ts");
  return parquetFormat(options);
}
