import type { DataStream } from "../client/datastream.ts";
import { toCitedFilter } from "../client/citations.ts";
import { formatClauses } from "../odata/clause.ts";
import { MAXIMUM_TOP, type QueryOptions } from "../odata/query_options.ts";
import { RESOURCES } from "../odata/resources.ts";

/** A published dataset: its `DOI`, `Version` and `PublishedTimestamp`. */
export type DatasetVersion = readonly [doi: string, version: string, published: string];

/** Maximum number of changes that a message names. */
const MAX_CHANGES = 3;

/**
 * Requests the versions of every dataset that a query's rows can come from.
 *
 * @param query The query of the download
 * @throws {DataStreamError} If the request fails
 */
export async function readDatasetVersions(
  client: DataStream,
  query: QueryOptions,
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
    datasets = request(toMetadataFilter(query));
  } catch (error) {
    // The filter fits into a URL of the query, but not into one of Metadata.
    if (!(error instanceof RangeError)) throw error;
    datasets = request(undefined);
  }
  return (await datasets.toArray())
    .map(({ DOI, Version, PublishedTimestamp }) => [
      String(DOI),
      String(Version),
      String(PublishedTimestamp),
    ]);
}

/**
 * The part of a query's filter that Metadata can take. Without the rest, more datasets match and
 * none is missing, so a change may be reported that does not concern the query's rows.
 */
function toMetadataFilter({ clauses = [], box = [] }: QueryOptions): string | undefined {
  const names: readonly string[] = RESOURCES.Metadata.filters;
  const taken = [...clauses, ...box].filter(({ field }) => names.includes(field));
  return taken.length === 0 ? undefined : toCitedFilter(formatClauses(taken));
}

/** Describes how the datasets changed; undefined if they did not. */
export function describeChanges(
  before: readonly DatasetVersion[],
  after: readonly DatasetVersion[],
): string | undefined {
  const removed = without(before, after);
  const added = without(after, before);
  const texts = added.map(([doi, version, published]) => {
    const old = removed.find((dataset) => dataset[0] === doi);
    if (old === undefined) return `${doi} was added`;
    return `${doi} was version ${old[1]}, published ${old[2]}, and is now version ${version}, ` +
      `published ${published}`;
  });
  for (const [doi] of removed) {
    if (!added.some((dataset) => dataset[0] === doi)) texts.push(`${doi} was removed`);
  }
  if (texts.length > MAX_CHANGES) {
    texts.push(`and ${texts.splice(MAX_CHANGES).length} more`);
  }
  return texts.length === 0 ? undefined : texts.join("; ");
}

/** Returns the datasets of a list that another list does not have in the same version. */
function without(
  list: readonly DatasetVersion[],
  other: readonly DatasetVersion[],
): readonly DatasetVersion[] {
  const known = new Set(other.map((dataset) => JSON.stringify(dataset)));
  return list.filter((dataset) => !known.has(JSON.stringify(dataset)));
}
