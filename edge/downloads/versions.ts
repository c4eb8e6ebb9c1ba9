// Versions of the datasets of a download, and conditional requests (RFC 9110, sections 8.8 and 13).
import { sha256Hex } from "../../src/bytes.ts";
import { requestDatasetVersions } from "../../src/client/dataset_versions.ts";
import type { DataStream } from "../../src/client/datastream.ts";
import type { DatasetVersion } from "../../src/formats/citations.ts";
import { toWiderMetadataFilter } from "../../src/odata/query_options.ts";
import { PRODUCTION_URL, PUBLICATION_TIME } from "../../src/service_constants.ts";
import { VERSION } from "../../src/version.ts";
import type { Settings } from "../http/options.ts";
import type { DownloadParameters } from "../http/parameters.ts";
import type { Representation } from "../http/ranges.ts";
import type { DatasetState, Seen } from "./feed.ts";
import type { Feeds } from "./feeds.ts";

type DownloadQuery = DownloadParameters["query"];

/** Queries with the same key have the same datasets. */
export function keyOfState(query: DownloadQuery): string {
  return JSON.stringify(["versions", toWiderMetadataFilter(query)]);
}

/** Omits clauses by which Metadata cannot be filtered. */
export async function requestState(
  dataStream: DataStream,
  query: DownloadQuery,
  signal: AbortSignal,
  feeds: Pick<Feeds, "seen" | "limits">,
): Promise<DatasetState> {
  const versions = await requestDatasetVersions(dataStream, toWiderMetadataFilter(query), signal);
  const times = versions.map(([, , published]) => Date.parse(published)).filter(Number.isFinite);
  const digest = await hash(versions.map((version) => JSON.stringify(version)).sort());
  const key = await hash(keyOfState(query));
  return {
    digest,
    publishedAt: times.length > 0 ? times.reduce((a, b) => Math.max(a, b)) : undefined,
    changedAt: recordVersions(feeds, versions, [key, digest]),
  };
}

/** Remembers versions. Returns the latest time at which one of them was seen to differ from the one before it. */
export function recordVersions(
  { seen, limits: { clock } }: Pick<Feeds, "seen" | "limits">,
  versions: readonly DatasetVersion[],
  ...others: readonly (readonly [key: string, value: string])[]
): number | undefined {
  const entries = versions.map(([doi, ...version]) => [doi, JSON.stringify(version)] as const);
  return recordSeen(seen, [...entries, ...others], clock.now());
}

/** Returns the versions of a dataset that the server has seen, the newest first. */
export function seenVersions(
  { seen }: Pick<Feeds, "seen">,
  doi: string,
): { version: string; published: string; since: number }[] {
  return (seen.get(doi) ?? []).map(({ value, since }) => {
    const [version, published] = JSON.parse(value);
    return { version, published, since };
  });
}

/** Maximum number of values that the server remembers, so that queries of clients cannot fill its memory. */
const MAX_SEEN = 10_000;
/** Maximum number of values of a key. */
const MAX_VERSIONS = 10;

function recordSeen(
  seen: Seen,
  entries: readonly (readonly [key: string, value: string])[],
  now: number,
): number | undefined {
  let latest: number | undefined;
  for (const [key, value] of entries) {
    const before = seen.get(key) ?? [];
    const values = before[0]?.value === value ? before : [{ value, since: now }, ...before];
    seen.delete(key);
    seen.set(key, values.slice(0, MAX_VERSIONS));
    if (values.length > 1) latest = Math.max(values[0]!.since, latest ?? -Infinity);
  }
  for (const key of seen.keys()) {
    if (seen.size <= MAX_SEEN) break;
    seen.delete(key);
  }
  return latest;
}

/** The ETag is weak, because the server compares versions and not bytes. */
export async function validatorsOf(
  document: unknown,
  state: DatasetState | undefined,
  { access, cacheTtl, dataStreamOptions: { baseUrl = PRODUCTION_URL }, now }: Settings,
): Promise<Omit<Representation, "size">> {
  if (state === undefined || access === "caller") return {};
  const { digest, publishedAt } = state;
  return {
    etag: `W/"${await hash([VERSION, baseUrl, digest, document])}"`,
    // RFC 9110, section 8.8.2.1: a time in the future must be replaced by the current one.
    lastModified: publishedAt && Math.min(publishedAt, now()),
    settlingTime: PUBLICATION_TIME + cacheTtl,
  };
}

/** Returns the strong ETag of bytes from their hash and, if it is known, the weak one. */
export function strongTag(hash: string, weak = ""): string {
  const [, version] = /^W\/"(.*)"$/.exec(weak) ?? [];
  return `"${version === undefined ? "" : `${version}.`}${hash}"`;
}

/** RFC 9110, section 15.4.5. */
const NOT_MODIFIED_HEADERS = ["cache-control", "vary", "etag"];

export function notModified(headers: Readonly<Record<string, string>>): Response {
  const entries = Object.entries(headers).filter(([name]) => NOT_MODIFIED_HEADERS.includes(name));
  return new Response(null, { status: 304, headers: Object.fromEntries(entries) });
}

/** First 128 bits of the SHA-256, in hexadecimal. */
async function hash(value: unknown): Promise<string> {
  return (await sha256Hex(JSON.stringify(value))).slice(0, 32);
}
