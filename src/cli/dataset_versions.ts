import { readFile } from "node:fs/promises";
import { toCitedFilter } from "../client/citations.ts";
import type { DataStream } from "../client/datastream.ts";
import type { AnyResourceQuery } from "../client/query.ts";
import { amendError, DataStreamError, ValidationError } from "../errors.ts";
import { formatClauses } from "../odata/clause.ts";
import { boundingBox } from "../odata/filter.ts";
import { parseFilter } from "../odata/parse_filter.ts";

import { MAXIMUM_TOP, RESOURCES } from "../odata/resources.ts";
import { FileError } from "./output.ts";
import { datasetsPathOf, partPathOf, replaceFile, RESTART } from "./part_state.ts";

/** A published dataset: its `DOI`, `Version` and `PublishedTimestamp`. */
export type DatasetVersion = readonly [doi: string, version: string, published: string];

/**
 * The versions of the datasets that the rows of a part come from.
 *
 * They have a file of their own, which is written once: a service can have hundreds of datasets, and
 * the state file is written for each page.
 */
export class DatasetRecord {
  readonly #path: string;
  readonly #request: () => Promise<readonly DatasetVersion[]>;
  #datasets: readonly DatasetVersion[] | undefined;
  #isWritten = true;

  /**
   * @param path Path of the file that is downloaded
   * @param request Requests the current versions
   */
  constructor(path: string, request: () => Promise<readonly DatasetVersion[]>) {
    this.#path = path;
    this.#request = request;
  }

  /** Number of recorded datasets; undefined if none were recorded. */
  get length(): number | undefined {
    return this.#datasets?.length;
  }

  /**
   * Reads the versions that an earlier run recorded.
   *
   * @param length Number of datasets according to the state file
   * @throws {FileError} If the record is missing or invalid
   */
  async read(length: number): Promise<void> {
    const path = datasetsPathOf(this.#path);
    const datasets: unknown = await readFile(path, "utf8").then(JSON.parse).catch(() => undefined);
    if (!isDatasets(datasets) || datasets.length !== length) {
      throw new FileError(
        `${path} does not list the datasets of ${partPathOf(this.#path)}: ${RESTART}`,
      );
    }
    this.#datasets = datasets;
  }

  /** Requests the current versions, unless some were recorded. */
  async record(): Promise<void> {
    if (this.#datasets !== undefined) return;
    this.#datasets = await this.#requestVersions();
    this.#isWritten = false;
  }

  /** Requests the current versions. An error says why they are requested. */
  async #requestVersions(): Promise<readonly DatasetVersion[]> {
    return await this.#request().catch((error) => {
      if (!(error instanceof DataStreamError)) throw error;
      const hint = `${error.hint}; weir compares dataset versions for a file of several pages, ` +
        "not for standard output";
      throw amendError(error, { hint });
    });
  }

  /** Writes the record to its file, unless it is already written. */
  async write(): Promise<void> {
    if (this.#isWritten) return;
    await replaceFile(datasetsPathOf(this.#path), this.#datasets);
    this.#isWritten = true;
  }

  /**
   * Requests the current versions and compares them with the recorded ones, if any.
   *
   * @throws {FileError} If they differ
   */
  async compare(): Promise<void> {
    if (this.#datasets === undefined) return;
    const changes = describeChanges(this.#datasets, await this.#requestVersions());
    if (changes === undefined) return;
    const part = partPathOf(this.#path);
    throw new FileError(
      `The service has published new data since ${part} was started (${changes}): ${RESTART}`,
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

/**
 * Requests the versions of every dataset that the rows of a query can come from.
 *
 * @param query Query of the download
 * @throws {DataStreamError} If the request fails
 */
export async function requestDatasetVersions(
  client: DataStream,
  query: AnyResourceQuery,
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
    // The filter fits into a URL of the query, but not into a URL of Metadata.
    if (!(error instanceof ValidationError)) throw error;
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
 * Returns the clauses of a query that Metadata can be filtered by. Without the others, more datasets
 * match and none is missing, so a reported change may not concern the rows of the query.
 */
function toMetadataFilter({ filter, within }: AnyResourceQuery): string | undefined {
  const names: readonly string[] = RESOURCES.Metadata.filters;
  const clauses = [...parseIfPossible(filter), ...(within ? boundingBox(within).clauses : [])]
    .filter(({ field }) => names.includes(field));
  return clauses.length === 0 ? undefined : toCitedFilter(formatClauses(clauses));
}

/** Returns the clauses of a filter; none if it is unchecked and cannot be parsed. */
function parseIfPossible(filter: AnyResourceQuery["filter"]): ReturnType<typeof parseFilter> {
  try {
    return filter === undefined ? [] : parseFilter(String(filter));
  } catch (error) {
    if (error instanceof ValidationError) return [];
    throw error;
  }
}

/** Describes the differences between two lists of datasets; `undefined` if there are none. */
function describeChanges(
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

/** Returns the datasets of a list that are not in another list in the same version. */
function without(
  list: readonly DatasetVersion[],
  other: readonly DatasetVersion[],
): readonly DatasetVersion[] {
  const known = new Set(other.map((dataset) => JSON.stringify(dataset)));
  return list.filter((dataset) => !known.has(JSON.stringify(dataset)));
}
