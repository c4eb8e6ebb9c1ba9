// Requested after the first of several pages. Compared on resuming and before FILE is complete,
// because a file must not contain rows of two versions.
import { amendError, DataStreamError } from "../errors.ts";
import type { DatasetVersion } from "../formats/citations.ts";

export function explainVersionError(error: unknown): never {
  if (!(error instanceof DataStreamError)) throw error;
  const hint = `${error.hint}; this request checks that no dataset was republished during the ` +
    "download; writing to standard output skips it";
  throw amendError(error, { hint });
}

/** Changes that a message names. */
const MAX_CHANGES = 3;

/** `undefined` if they are equal. */
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

function changedDatasets(
  list: readonly DatasetVersion[],
  other: readonly DatasetVersion[],
): readonly DatasetVersion[] {
  const unchanged = new Set(other.map((dataset) => JSON.stringify(dataset)));
  return list.filter((dataset) => !unchanged.has(JSON.stringify(dataset)));
}
