import { readFile } from "node:fs/promises";
import { amendError, DataStreamError } from "../errors.ts";
import { type DatasetVersion, describeChanges } from "./dataset_versions.ts";
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
