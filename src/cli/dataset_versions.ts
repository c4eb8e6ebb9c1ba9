// The versions of the datasets of a file. They are requested after the first of several pages, and compared on resuming
// and before FILE is complete, because a file must not contain rows of two versions.
import { describeChanges, recentlyPublished, requestDatasets } from "../client/dataset_versions.ts";
import { amendError, DataStreamError } from "../errors.ts";
import { type Citation, type DatasetVersion, versionsOf } from "../formats/citations.ts";

type RequestDatasets = () => Promise<readonly Citation[]>;

export interface KnownDatasets {
  /** All datasets that match the query, if they are known. */
  citations?: readonly Citation[] | undefined;
  /** Versions of the datasets; absent if some rows may be of others. */
  datasets?: readonly DatasetVersion[] | undefined;
}

/**
 * Returns the datasets for the package of a file: none if they cannot be requested. The versions are not known if a
 * dataset was published so recently that the first page may have an earlier version.
 */
export async function knownDatasets(
  requestLatest: RequestDatasets,
  startedAt: number,
): Promise<KnownDatasets> {
  let citations;
  try {
    citations = await requestLatest();
  } catch (error) {
    if (error instanceof DataStreamError) return {};
    throw error;
  }
  const datasets = versionsOf(citations);
  const recent = recentlyPublished(datasets, startedAt).map(([doi]) => doi);
  if (recent.length === 0) return { citations, datasets };
  const withoutVersion = { version: "", published: "" };
  return {
    citations: citations.map((citation) =>
      recent.includes(citation.doi) ? { ...citation, ...withoutVersion } : citation
    ),
  };
}

/** Adds to an error of the request what it is for. */
export async function requestCheckedDatasets(
  ...query: Parameters<typeof requestDatasets>
): Promise<readonly Citation[]> {
  try {
    return await requestDatasets(...query);
  } catch (error) {
    if (!(error instanceof DataStreamError)) throw error;
    const hint = `${error.hint}; this request checks that no dataset was republished during the ` +
      "download; writing to standard output skips it";
    throw amendError(error, { hint });
  }
}

/** Describes how the datasets have changed; `undefined` if they have not, or no versions are known. */
export async function findChanges(
  datasets: readonly DatasetVersion[] | undefined,
  requestLatest: RequestDatasets,
): Promise<string | undefined> {
  return datasets && describeChanges(datasets, versionsOf(await requestLatest()));
}
