// The versions of the datasets of a download. They are requested after the first of several pages, and compared when
// the download resumes and before FILE is complete, because one file must not contain rows of two versions.
import type { DatasetVersion } from "../client/dataset_versions.ts";
import { amendError, DataStreamError } from "../errors.ts";

/** Rethrows the error of a request for dataset versions, with the reason for the request in its hint. */
export function explainVersionError(error: unknown): never {
  if (!(error instanceof DataStreamError)) throw error;
  const hint = `${error.hint}; this request checks that no dataset was republished during the ` +
    "download; writing to standard output skips it";
  throw amendError(error, { hint });
}

/** Maximum number of changes that a message names. */
const MAX_CHANGES = 3;

/** Describes the differences between two lists of datasets; `undefined` if they are equal. */
export function describeChanges(
  before: readonly DatasetVersion[],
  after: readonly DatasetVersion[],
): string | undefined {
  const removed = changedDatasets(before, after);
  const added = changedDatasets(after, before);
  const texts = added.map(([doi, version, published]) => {
    const old = removed.find((dataset) => dataset[0] === doi);
    if (old === undefined) return `${doi} was added`;
    return `${doi} was version ${old[1]}, published ${old[2]}, and is now version ${version}, ` +
      `published ${published}`;
  });
  for (const [doi] of removed) {
    if (!added.some((dataset) => dataset[0] === doi)) texts.push(`${doi} was removed`);
  }
  if (texts.length === 0) return undefined;
  const shown = texts.slice(0, MAX_CHANGES);
  const others = texts.length - shown.length;
  if (others > 0) shown.push(`and ${others} more`);
  return shown.join("; ");
}

/** Returns the datasets of `list` that `other` lacks or has in another version. */
function changedDatasets(
  list: readonly DatasetVersion[],
  other: readonly DatasetVersion[],
): readonly DatasetVersion[] {
  const unchanged = new Set(other.map((dataset) => JSON.stringify(dataset)));
  return list.filter((dataset) => !unchanged.has(JSON.stringify(dataset)));
}
