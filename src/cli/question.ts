import type { QueryOptions } from "../odata/query_options.ts";
import type { CsvFormat } from "../output/csv_options.ts";
import type { Format } from "./format.ts";

/**
 * What a download asks for, as text: two with the same text give the same rows in the same form. The
 * page size is not part of it.
 *
 * @param baseUrl The root address of the service
 */
export function questionOf(
  { resource, select, filter, box, limit, partition }: QueryOptions,
  baseUrl: string,
  format: Format,
  csv: CsvFormat,
): string {
  const rows = limit === Infinity ? undefined : limit;
  const form = format === "csv" ? csv : undefined;
  return JSON.stringify({
    resource,
    baseUrl,
    select,
    filter,
    box,
    limit: rows,
    partition,
    format,
    csv: form,
  });
}
