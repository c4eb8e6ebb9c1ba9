import { ValidationError } from "../errors.ts";
import type { Citation, DatasetVersion } from "../formats/citations.ts";
import { MAXIMUM_TOP } from "../odata/resources.ts";
import type { DataStream } from "./datastream.ts";

export async function requestDatasetVersions(
  client: DataStream,
  filter: string | undefined,
  signal: AbortSignal,
): Promise<DatasetVersion[]> {
  const select = ["DOI", "Version", "PublishedTimestamp"] as const;
  const rows = await withShortFilter(
    filter,
    (filter) => client.metadata({ select, filter, top: MAXIMUM_TOP, signal }).toArray(),
  );
  return rows.map(({ DOI, Version, PublishedTimestamp }) =>
    [`${DOI}`, Version ?? "", PublishedTimestamp ?? ""] as const
  );
}

export function requestDatasets(
  client: DataStream,
  filter: string | undefined,
  signal: AbortSignal,
): Promise<Citation[]> {
  return withShortFilter(filter, (filter) => client.citations(filter, { signal }));
}

/** Omits a filter with which a URL of Metadata is too long, although the URL of the query is not. */
async function withShortFilter<T>(
  filter: string | undefined,
  request: (filter: string | undefined) => Promise<T>,
): Promise<T> {
  try {
    return await request(filter);
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    return await request(undefined);
  }
}
