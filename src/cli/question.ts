import type { GivenOptions } from "../odata/query_options.ts";
import type { ResourceName } from "../odata/resources.ts";
import type { CsvOptions } from "../output/csv_options.ts";
import { PRODUCTION_URL } from "../service_roots.ts";
import type { Format } from "./format.ts";

/**
 * What a download asks for, as text: two with the same text give the same rows in the same form. The
 * page size is not part of it.
 */
export function questionOf(
  resource: ResourceName,
  { select, filter, within, limit, partition }: GivenOptions,
  baseUrl: string | undefined = PRODUCTION_URL,
  format: Format,
  csv: CsvOptions | undefined,
): string {
  return JSON.stringify({
    resource,
    baseUrl,
    select,
    filter: filter === undefined ? undefined : String(filter),
    within,
    limit,
    partition,
    format,
    csv,
  });
}
