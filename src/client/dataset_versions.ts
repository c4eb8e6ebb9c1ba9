import { ValidationError } from "../errors.ts";
import { MAXIMUM_TOP } from "../odata/resources.ts";
import type { DataStream } from "./datastream.ts";

export type DatasetVersion = readonly [doi: string, version: string, published: string];

export async function requestDatasetVersions(
  client: DataStream,
  filter: string | undefined,
  signal: AbortSignal,
): Promise<DatasetVersion[]> {
  const request = (filter: string | undefined) =>
    client.metadata({
      select: ["DOI", "Version", "PublishedTimestamp"],
      filter,
      top: MAXIMUM_TOP,
      signal,
    });
  let datasets;
  try {
    datasets = request(filter);
  } catch (error) {
    // A URL of Metadata with this filter is too long, although the URL of the query is not.
    if (!(error instanceof ValidationError)) throw error;
    datasets = request(undefined);
  }
  const rows = await datasets.toArray();
  return rows.map((row) => [`${row.DOI}`, `${row.Version}`, `${row.PublishedTimestamp}`]);
}
