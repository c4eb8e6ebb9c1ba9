// The versions of the datasets of a download. They are requested after the first of several pages and kept in
// FILE.part.datasets.json. They are compared when the download resumes and before FILE is complete, because
// one file must not contain rows of two versions.
import { readFile } from "node:fs/promises";
import type { DatasetVersion } from "../client/dataset_versions.ts";
import { amendError, DataStreamError } from "../errors.ts";
import { FileError } from "./output.ts";
import { datasetsPathOf, partPathOf, replaceFile, RESTART } from "./part_state.ts";

/**
 * FILE.part.datasets.json: the versions of the datasets that match the query of a download.
 *
 * It is written once, not after each page, because a service can have hundreds of datasets.
 */
export class DatasetVersionFile {
  readonly #path: string;
  readonly #request: () => Promise<readonly DatasetVersion[]>;
  #datasets: readonly DatasetVersion[] | undefined;
  #needsWrite = false;

  /**
   * @param path Path of FILE
   * @param request Requests the current versions
   */
  constructor(path: string, request: () => Promise<readonly DatasetVersion[]>) {
    this.#path = path;
    this.#request = request;
  }

  /** Number of datasets; `undefined` if they were neither fetched nor read. */
  get length(): number | undefined {
    return this.#datasets?.length;
  }

  /**
   * Reads the versions that an earlier run wrote.
   *
   * @param length Number of datasets according to FILE.part.json
   * @throws {FileError} If the file is missing or damaged
   */
  async read(length: number): Promise<void> {
    const path = datasetsPathOf(this.#path);
    const datasets: unknown = await readFile(path, "utf8").then(JSON.parse).catch(() => undefined);
    if (!isDatasets(datasets) || datasets.length !== length) {
      throw new FileError(`${path} is missing or damaged: ${RESTART}`);
    }
    this.#datasets = datasets;
  }

  /** Requests the current versions, unless they were already fetched or read. */
  async fetch(): Promise<void> {
    if (this.#datasets !== undefined) return;
    this.#datasets = await this.#requestVersions();
    this.#needsWrite = true;
  }

  /** Requests the current versions. Adds the reason for this request to the error's hint. */
  async #requestVersions(): Promise<readonly DatasetVersion[]> {
    return await this.#request().catch((error) => {
      if (!(error instanceof DataStreamError)) throw error;
      const hint =
        `${error.hint}; this request checks that no dataset was republished during the ` +
        "download; writing to standard output skips it";
      throw amendError(error, { hint });
    });
  }

  /** Writes the fetched versions, unless they are already written. */
  async write(): Promise<void> {
    if (!this.#needsWrite) return;
    await replaceFile(datasetsPathOf(this.#path), this.#datasets);
    this.#needsWrite = false;
  }

  /**
   * Requests the current versions and compares them with those that were fetched or read earlier.
   * Does nothing if there are none.
   *
   * @throws {FileError} If they differ
   */
  async compare(): Promise<void> {
    if (this.#datasets === undefined) return;
    const changes = describeChanges(this.#datasets, await this.#requestVersions());
    if (changes === undefined) return;
    const part = partPathOf(this.#path);
    throw new FileError(
      `DataStream has published new data since ${part} was started (${changes}): ${RESTART}`,
    );
  }
}

function isDatasets(value: unknown): value is readonly DatasetVersion[] {
  return Array.isArray(value) &&
    value.every((dataset) =>
      Array.isArray(dataset) && dataset.length === 3 &&
      dataset.every((text) => typeof text === "string")
    );
}

/** Maximum number of changes that a message names. */
const MAX_CHANGES = 3;

/** Describes the differences between two lists of datasets; `undefined` if they are equal. */
function describeChanges(
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
