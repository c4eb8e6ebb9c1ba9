import { ValidationError } from "../errors.ts";
import { MAXIMUM_TOP } from "../odata/resources.ts";
import type { DataStream } from "./datastream.ts";

/** A published dataset: its `DOI`, `Version` and `PublishedTimestamp`. */
export type DatasetVersion = readonly [doi: string, version: string, published: string];

/**
 * Requests the versions of all datasets that match a filter.
 *
 * @param filter Filter of Metadata, such as the result of `toWiderMetadataFilter()`. `undefined` for all
 *   datasets, which are also requested if the filter is too long for a request
 * @throws {DataStreamError} If the request fails
 */
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
  return (await datasets.toArray())
    .map(({ DOI, Version, PublishedTimestamp }) => [
      String(DOI),
      String(Version),
      String(PublishedTimestamp),
    ]);
}
