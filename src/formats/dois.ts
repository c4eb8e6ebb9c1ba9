import { BytesCache, parseBytes } from "./json_scanner.ts";
import { EMPTY, NESTED, type RowReader, SCALAR } from "./row_reader.ts";

/** Collects the distinct DOIs of the rows of a page, in order of appearance. */
export class DoiCollector {
  readonly #parsed = new BytesCache(parseBytes);
  /** The distinct DOIs, in order of appearance, and the number of the first row with each. */
  readonly #found = new Map<string, number>();
  /** Number of DOIs that `take()` has returned. */
  #taken = 0;

  /**
   * Adds the DOI of a row.
   *
   * @param page The bytes that contain the row
   * @param reader Reader of the row
   * @param row Number of the row
   */
  add(page: Uint8Array, reader: RowReader, row: number): void {
    const column = reader.doiColumn;
    const kind = column < 0 ? EMPTY : reader.kinds[column];
    if (kind === EMPTY || kind === SCALAR || kind === NESTED) return;
    const [start, end] = [reader.starts[column]! - 1, reader.ends[column]! + 1];
    const doi = this.#parsed.get(page, start, end) as string;
    if (!this.#found.has(doi)) this.#found.set(doi, row);
  }

  /**
   * Returns the DOIs of the first rows, except those that an earlier call has returned.
   *
   * @param rows Number of these rows
   */
  take(rows: number): string[] {
    const dois = [...this.#found].slice(this.#taken);
    const taken = dois.filter(([, row]) => row < rows).map(([doi]) => doi);
    this.#taken += taken.length;
    return taken;
  }
}
