import type { QueryOptions } from "../odata/query_options.ts";
import { fieldNames, type ResourceName } from "../odata/resources.ts";
import type { CsvFormat } from "../output/csv_options.ts";
import { CsvWriter } from "../output/csv_writer.ts";
import { geojsonWriter } from "../output/geojson.ts";
import { jsonWriter } from "../output/json.ts";
import { NdjsonWriter } from "../output/ndjson.ts";
import type { PageWriter, WriterState } from "../output/page_writer.ts";
import { DoiCollector, doisOf } from "./doi_collector.ts";
import type { Format } from "./format.ts";

/** The writer of a format, at its beginning or where another one has come to. */
export function writerOf(
  resource: ResourceName,
  format: Format,
  { select }: QueryOptions,
  csv: CsvFormat,
  from: WriterState | undefined,
): PageWriter {
  switch (format) {
    case "csv":
      return new CsvWriter(csv, select ?? fieldNames(resource), select === undefined, from);
    case "ndjson":
      return new NdjsonWriter();
    case "json":
      return jsonWriter(from);
    case "geojson":
      return geojsonWriter(from);
  }
}

/**
 * Makes a writer collect the DOIs of its rows, if the output has a column of them, and those of the
 * rows before are known.
 *
 * @param from The state of the writer to go on from
 */
export function collecting(
  writer: PageWriter,
  { resource, select = fieldNames(resource) }: QueryOptions,
  from: WriterState | undefined,
): PageWriter | DoiCollector {
  const before = from === undefined ? [] : doisOf(from);
  if (before === undefined || !select.includes("DOI")) return writer;
  return new DoiCollector(writer, before);
}
