import { readFile } from "node:fs/promises";
import { toCitedFilter } from "../client/citations.ts";
import type { DataStream } from "../client/datastream.ts";
import { amendError, DataStreamError, ValidationError } from "../errors.ts";
import { formatClauses } from "../odata/clause.ts";
import type { CheckedQuery } from "../odata/query_options.ts";
import { MAXIMUM_TOP, RESOURCES } from "../odata/resources.ts";
import { FileError } from "./files.ts";
import { datasetsPathOf, partPathOf, replaceFile, RESTART } from "./part_state.ts";

/**
 * The versions of the datasets that a part's rows come from.
 *
 * They are in a file of their own, which is written once: a service can have hundreds of datasets,
 * and the state file is written for each page.
 */
export class DatasetRecord {
  readonly #path: string;
  readonly #request: () => Promise<readonly DatasetVersion[]>;
  #datasets: readonly DatasetVersion[] | undefined;
  #isWritten = true;

  /**
   * @param path The path of the file that is downloaded
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
   * Reads what an earlier run recorded.
   *
   * @param length The number of datasets, as the state file has it
   * @throws {FileError} If they are lost
   */
  async read(length: number): Promise<void> {
    const path = datasetsPathOf(this.#path);
    const datasets: unknown = await readFile(path, "utf8").then(JSON.parse).catch(() => undefined);
    if (!isDatasets(datasets) || datasets.length !== length) {
      const part = partPathOf(this.#path);
      throw new FileError(`${path} does not say which datasets ${part} is of: ${RESTART}`);
    }
    this.#datasets = datasets;
  }

  /** Requests the current versions, unless some were recorded. */
  async record(): Promise<void> {
    if (this.#datasets !== undefined) return;
    this.#datasets = await this.#requestVersions();
    this.#isWritten = false;
  }

  /** Requests the current versions; an error says what they are requested for. */
  async #requestVersions(): Promise<readonly DatasetVersion[]> {
    return await this.#request().catch((error) => {
      if (!(error instanceof DataStreamError)) throw error;
      const hint =
        `${error.hint}; weir compares the versions of the datasets when it writes a file ` +
        "of several pages, and not when it writes to standard output";
      throw amendError(error, { hint });
    });
  }

  /** Writes the record to its file, unless it is there. */
  async write(): Promise<void> {
    if (this.#isWritten) return;
    await replaceFile(datasetsPathOf(this.#path), this.#datasets);
    this.#isWritten = true;
  }

  /**
   * Requests the current versions and compares them with those that were recorded, if any.
   *
   * @throws {FileError} If they differ
   */
  async compare(): Promise<void> {
    if (this.#datasets === undefined) return;
    const changes = describeChanges(this.#datasets, await this.#requestVersions());
    if (changes === undefined) return;
    const part = partPathOf(this.#path);
    throw new FileError(
      `The service has published other data since ${part} was started (${changes}): ${RESTART}`,
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

/** A published dataset: its `DOI`, `Version` and `PublishedTimestamp`. */
export type DatasetVersion = readonly [doi: string, version: string, published: string];

/** Maximum number of changes that a message names. */
const MAX_CHANGES = 3;

/**
 * Requests the versions of every dataset that a query's rows can come from.
 *
 * @param query The query of the download
 * @throws {DataStreamError} If the request fails
 */
export async function readDatasetVersions(
  client: DataStream,
  query: CheckedQuery,
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
    // The filter fits into a URL of the query, but not into one of Metadata.
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
 * The part of a query's filter that Metadata can take. Without the rest, more datasets match and
 * none is missing, so a change may be reported that does not concern the query's rows.
 */
function toMetadataFilter({ clauses = [], box = [] }: CheckedQuery): string | undefined {
  const names: readonly string[] = RESOURCES.Metadata.filters;
  const taken = [...clauses, ...box].filter(({ field }) => names.includes(field));
  return taken.length === 0 ? undefined : toCitedFilter(formatClauses(taken));
}

/** Describes how the datasets changed; undefined if they did not. */
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

/** Returns the datasets of a list that another list does not have in the same version. */
function without(
  list: readonly DatasetVersion[],
  other: readonly DatasetVersion[],
): readonly DatasetVersion[] {
  const known = new Set(other.map((dataset) => JSON.stringify(dataset)));
  return list.filter((dataset) => !known.has(JSON.stringify(dataset)));
}
