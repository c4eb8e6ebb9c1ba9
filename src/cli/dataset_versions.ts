// The versions of the datasets of a file. They are requested before its first page, and compared after its last one and
// when it is continued, because a file must not contain rows of two versions.
import { recentlyPublished, requestDatasets } from "../client/dataset_versions.ts";
import { amendError, DataStreamError } from "../errors.ts";
import type { FilePackage } from "../files/part_file.ts";
import { type Citation, type DatasetVersion, versionsOf } from "../formats/citations.ts";
import { toWiderMetadataFilter } from "../odata/query_options.ts";
import type { CommandQuery } from "./command_query.ts";

/** Datasets that match a query, before its first page. */
export interface PlannedDatasets {
  citations?: readonly Citation[];
  /** Datasets that were published so recently that the first page can have rows of the version before. */
  recent: readonly DatasetVersion[];
  /** Why the datasets are not known. */
  error?: DataStreamError;
}

/** A file of one page needs no versions, so that another answer of the service than the datasets is not thrown. */
export async function planDatasets(
  { client, input, serviceTime }: CommandQuery,
): Promise<PlannedDatasets> {
  try {
    const citations = await requestDatasets(client, toWiderMetadataFilter(input), input.signal);
    return { citations, recent: recentlyPublished(versionsOf(citations), serviceTime()) };
  } catch (error) {
    if (!(error instanceof DataStreamError) || error.kind !== "status") throw error;
    const hint = `${error.hint}; this request checks that no dataset was republished during the ` +
      "download; writing to standard output skips it";
    return { recent: [], error: amendError(error, { hint }) };
  }
}

/** Throws if the versions were not answered. */
export function requireVersions({ citations, error }: PlannedDatasets): DatasetVersion[] {
  if (citations === undefined) throw error;
  return versionsOf(citations);
}

/** Returns what a package says about the datasets: no versions if some rows can have others. */
export function knownDatasets({ citations, recent }: PlannedDatasets): {
  citations?: readonly Citation[] | undefined;
  datasets?: readonly DatasetVersion[] | undefined;
} {
  if (citations === undefined || recent.length === 0) {
    return { citations, datasets: citations && versionsOf(citations) };
  }
  const dois = recent.map(([doi]) => doi);
  const withoutVersion = { version: "", published: "" };
  return {
    citations: citations.map((one) => dois.includes(one.doi) ? { ...one, ...withoutVersion } : one),
  };
}

/** Returns the datasets that have rows in a file; all that match the query if the rows have no DOI. */
function datasetsIn({ sources = [], weir: { datasets, cursor } }: FilePackage): readonly string[] {
  return cursor.distinct?.DOI ?? datasets?.map(([doi]) => doi) ??
    sources.map(({ doi = "" }) => doi);
}

/** Returns the datasets of a file that the service does not have any more. */
export function goneDatasets(finished: FilePackage, now: readonly DatasetVersion[]): string[] {
  return datasetsIn(finished).filter((doi) => now.every(([other]) => other !== doi));
}

/** Returns the datasets of a file that have no rows in a new one. `dois` are those of its rows, if they have DOIs. */
export function lostDatasets(
  finished: FilePackage,
  rows: number,
  dois: readonly string[] | undefined,
): readonly string[] {
  if (finished.resources[0].rows === 0) return [];
  return dois !== undefined
    ? datasetsIn(finished).filter((doi) => !dois.includes(doi))
    : rows === 0
    ? datasetsIn(finished)
    : [];
}
