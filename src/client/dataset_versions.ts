// Versions of datasets: how they are requested, and how they are compared.
import { ValidationError } from "../errors.ts";
import type { Citation, DatasetVersion } from "../formats/citations.ts";
import { MAXIMUM_TOP } from "../odata/resources.ts";
import { PUBLICATION_TIME } from "../service_constants.ts";
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

/** A dataset that was added (without `before`), removed (without `after`) or published again. */
export interface VersionChange {
  readonly doi: string;
  readonly before?: DatasetVersion | undefined;
  readonly after?: DatasetVersion | undefined;
}

/** Returns the datasets whose version or time of publication differs, and those of only one of the lists. */
export function changedVersions(
  before: readonly DatasetVersion[],
  after: readonly DatasetVersion[],
): VersionChange[] {
  const byDoi = (list: readonly DatasetVersion[]) => new Map(list.map((one) => [one[0], one]));
  const [earlier, later] = [byDoi(before), byDoi(after)];
  return [...new Set([...later.keys(), ...earlier.keys()])].map((doi) => ({
    doi,
    before: earlier.get(doi),
    after: later.get(doi),
  })).filter(({ before, after }) => JSON.stringify(before) !== JSON.stringify(after));
}

const MAX_CHANGES = 3;

/** Describes how versions differ; `undefined` if they do not. */
export function describeChanges(
  before: readonly DatasetVersion[],
  after: readonly DatasetVersion[],
): string | undefined {
  const changes = changedVersions(before, after);
  if (changes.length === 0) return undefined;
  const texts = changes.slice(0, MAX_CHANGES).map(({ doi, before, after }) => {
    if (before === undefined) return `${doi} was added`;
    if (after === undefined) return `${doi} was removed`;
    return `${doi} was ${versionText(before)}, and is now ${versionText(after)}`;
  });
  const others = changes.length - texts.length;
  return [...texts, ...others > 0 ? [`and ${others} more`] : []].join("; ");
}

function versionText([, version, published]: DatasetVersion): string {
  return `version ${version}, published ${published}`;
}

/**
 * Whether a publication is so recent that a response can have rows of the version before. Times are in ms since 1970.
 *
 * @param now Time of the service, not of this computer
 */
export function isRecent(publishedAt: number, now: number): boolean {
  return publishedAt > now - PUBLICATION_TIME;
}

/** Returns the datasets whose publication is recent; see {@linkcode isRecent}. */
export function recentlyPublished(
  versions: readonly DatasetVersion[],
  now: number,
): DatasetVersion[] {
  return versions.filter(([, , published]) => isRecent(Date.parse(published), now));
}
