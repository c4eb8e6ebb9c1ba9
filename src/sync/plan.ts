// What a run does with each dataset of a mirror.
import { isRecent } from "../client/dataset_versions.ts";
import type { DatasetRow, Mirrored } from "./manifest.ts";

/** What a run does with a dataset. `wait`: some of its rows can still be of the version before. */
export type Step = "keep" | "fetch" | "wait" | "gone";

export interface PlannedDataset {
  doi: string;
  step: Step;
  /** `undefined` if the service does not have it any more. */
  row: DatasetRow | undefined;
  /** `undefined` if it is not in the mirror. */
  mirrored: Mirrored | undefined;
}

/**
 * Compares the datasets of a mirror with those of the service.
 *
 * @param mirrored Datasets of the mirror, by DOI
 * @param rows Datasets that match the query now
 * @param sizes Sizes (bytes) of the files in the folder, by path: a file that is missing or was changed is fetched
 * @param now Time of the service (ms since 1970)
 * @param fetchesAll Whether unchanged datasets are fetched too
 */
export function planDatasets(
  mirrored: ReadonlyMap<string, Mirrored>,
  rows: readonly DatasetRow[],
  sizes: ReadonlyMap<string, number>,
  now: number,
  fetchesAll: boolean,
): PlannedDataset[] {
  const planned = new Map<string, PlannedDataset>();
  for (const row of rows) {
    const { DOI: doi, PublishedTimestamp } = row;
    const known = mirrored.get(doi);
    const isWhole = known?.files.every(({ path, bytes }) => sizes.get(path) === bytes);
    const step = isWhole && isSameVersion(known!.row, row) && !fetchesAll
      ? "keep"
      : isRecent(Date.parse(PublishedTimestamp), now) && Date.parse(PublishedTimestamp) <= now
      ? "wait"
      : "fetch";
    planned.set(doi, { doi, step, row, mirrored: known });
  }
  for (const [doi, known] of mirrored) {
    if (!planned.has(doi)) planned.set(doi, { doi, step: "gone", row: undefined, mirrored: known });
  }
  return [...planned.values()];
}

export function isSameVersion(before: DatasetRow, after: DatasetRow): boolean {
  return before.Version === after.Version && before.PublishedTimestamp === after.PublishedTimestamp;
}
