// Versions of datasets: how they are requested, and how they are compared.
import { amendError, DataStreamError, ValidationError } from "../errors.ts";
import type { Citation, CitationOptions, DatasetVersion } from "../formats/citations.ts";
import { checkQuery } from "../odata/query_options.ts";
import { MAXIMUM_TOP, type ResourceName } from "../odata/resources.ts";
import { PUBLICATION_TIME } from "../service_constants.ts";
import type { AnyResourceQuery, Query } from "./query.ts";
import { startRowConversion } from "./page_reader.ts";
import { readParts } from "./read_parts.ts";
import type { Run } from "./retry.ts";

/** Members of a `DataStream`, whose module imports this one. */
interface Client {
  query(resource: ResourceName, options: AnyResourceQuery): Query<Record<string, unknown>>;
  citations(filter: string | undefined, options: CitationOptions): Promise<Citation[]>;
}

const VERSION_QUERY = { select: ["DOI", "Version", "PublishedTimestamp"], top: MAXIMUM_TOP };

function toVersion(
  { DOI, Version, PublishedTimestamp }: Record<string, unknown>,
): DatasetVersion {
  return [`${DOI}`, `${Version ?? ""}`, `${PublishedTimestamp ?? ""}`];
}

function yearsOf(extent: unknown): number[] {
  return Array.isArray(extent) ? extent.map((date) => parseInt(date)) : [];
}

export async function requestDatasetVersions(
  client: Client,
  filter: string | undefined,
  signal: AbortSignal,
): Promise<DatasetVersion[]> {
  const rows = await withShortFilter(
    filter,
    (filter) => client.query("Metadata", { ...VERSION_QUERY, filter, signal }).toArray(),
  );
  return rows.map(toVersion);
}

/** Versions of the datasets that can have rows of a query, and the time (ms since 1970) of the response. */
export interface KnownVersions {
  readonly at: number;
  readonly versions: readonly DatasetVersion[];
}

/** Facts about a query with the option `sameVersion`. */
export interface VersionCheck {
  readonly url: string;
  /** Filter of Metadata for the datasets that can have its rows. */
  readonly filter: string | undefined;
}

async function requestVersions(
  run: Run,
  { filter }: Pick<VersionCheck, "filter">,
): Promise<KnownVersions> {
  try {
    return await withShortFilter(filter, async (filter) => {
      const select = [...VERSION_QUERY.select, "TemporalExtent"];
      const query = checkQuery("Metadata", { ...VERSION_QUERY, select, filter });
      const start = startRowConversion<Record<string, unknown>>;
      const versions: DatasetVersion[] = [];
      run.years = [];
      for await (const { data } of readParts(run, query, start, { isInternal: true })) {
        versions.push(...data.map(toVersion));
        run.years.push(...data.flatMap(({ TemporalExtent }) => yearsOf(TemporalExtent)));
      }
      return { at: run.responseDate!, versions };
    });
  } catch (error) {
    if (!(error instanceof DataStreamError)) throw error;
    throw amendError(error, { hint: `${error.hint}; {sameVersion} needs this request` });
  }
}

/** Requests the versions before the first page. After a cursor, throws if they have changed since its page. */
export async function startVersions(
  run: Run,
  check: VersionCheck,
  after: { readonly versions?: KnownVersions | undefined; readonly rows: number } | undefined,
): Promise<KnownVersions> {
  if (after?.versions === undefined) return await requestVersions(run, check);
  await requireSameVersions(run, check, after.versions, after.rows);
  return after.versions;
}

/** Checks the versions after a response that is not the only one, and `rows` rows that were delivered before. */
export async function requireOneVersion(
  run: Run,
  check: VersionCheck,
  known: KnownVersions,
  rows: number,
  isEnd: boolean,
): Promise<void> {
  requireSettled(check, known, rows);
  if (isEnd) await requireSameVersions(run, check, known, rows);
}

/** Throws if the versions have changed after `rows` rows were delivered. */
async function requireSameVersions(
  run: Run,
  check: VersionCheck,
  { versions }: KnownVersions,
  rows: number,
): Promise<void> {
  const changes = describeChanges(versions, (await requestVersions(run, check)).versions);
  if (changes === undefined) return;
  throw new DataStreamError(`The data changed during the download: ${changes}`, {
    kind: "changed",
    isTemporary: false,
    url: check.url,
    hint: "run the query again",
    rows,
  });
}

/** Throws if a later response can have rows of another version than the first one, although the versions are equal. */
function requireSettled(
  { url }: VersionCheck,
  { at, versions }: KnownVersions,
  rows: number,
): void {
  const [dataset] = recentlyPublished(versions, at);
  if (dataset === undefined) return;
  const [doi, version, published] = dataset;
  const retryAfter = settledAt(versions, at) - at;
  throw new DataStreamError(
    `Version ${version} of ${doi} was published at ${published}, and its rows can still change`,
    {
      kind: "changed",
      isTemporary: false,
      url,
      hint: `run the query again after ${Math.ceil(retryAfter / 1000)} s`,
      retryAfter,
      rows,
    },
  );
}

export function requestDatasets(
  client: Client,
  filter: string | undefined,
  signal?: AbortSignal,
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

/**
 * Returns the time (ms since 1970) from which responses have no rows of a version before. A time of publication in the
 * future is wrong: the version is already known.
 */
export function settledAt(versions: readonly DatasetVersion[], now: number): number {
  const times = recentlyPublished(versions, now).map(([, , published]) => Date.parse(published));
  return times.reduce(
    (latest, time) => Math.max(latest, Math.min(time, now) + PUBLICATION_TIME),
    now,
  );
}
