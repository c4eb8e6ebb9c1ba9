import { ValidationError } from "../errors.ts";
import { type Citation, CITED_FIELDS, toCitation } from "../formats/citations.ts";
import { MAXIMUM_TOP } from "../odata/resources.ts";
import type { DataStream } from "./datastream.ts";

/** Fields that tell the version of a dataset. */
export const VERSION_FIELDS = ["DOI", "Version", "PublishedTimestamp"] as const;

/** Without a field of a citation, its text is empty. */
export async function requestDatasets(
  client: DataStream,
  filter: string | undefined,
  signal: AbortSignal,
  fields: readonly (typeof CITED_FIELDS)[number][] = CITED_FIELDS,
): Promise<Citation[]> {
  const request = (filter: string | undefined) =>
    client.metadata({ select: [...fields], filter, top: MAXIMUM_TOP, signal });
  let datasets;
  try {
    datasets = request(filter);
  } catch (error) {
    // A URL of Metadata with this filter is too long, although the URL of the query is not.
    if (!(error instanceof ValidationError)) throw error;
    datasets = request(undefined);
  }
  const rows = await datasets.toArray();
  return rows.map((row) => toCitation({ ...row, DOI: `${row.DOI}` }));
}
