import { utf8Decoder } from "../bytes.ts";
import { hashOf, startsWith } from "./json_scanner.ts";
import { ESCAPED_STRING, NEEDS_QUOTES, PLAIN_STRING, type RowValues } from "./row_reader.ts";

/** Name of the field that contains the DOI of a row's dataset. */
export const DOI_FIELD = "DOI";

/**
 * Collects the distinct DOIs of the rows of a page, in order of appearance.
 *
 * Repeated DOIs are recognized by their hash and their bytes, so that most rows create no string.
 */
export class DoiCollector {
  /** The last DOI with each hash, as JSON bytes without quotes. */
  readonly #known = new Map<number, Uint8Array>();
  /** The distinct DOIs, in order of appearance, and the number of the first row with each. */
  readonly #found = new Map<string, number>();
  /** Number of DOIs that `take()` has returned. */
  #taken = 0;

  /**
   * Adds the DOI of a row.
   *
   * @param page The bytes that contain the row
   * @param values Values of the row
   * @param column Column of the DOI
   * @param row Number of the row
   */
  add(
    page: Uint8Array,
    { starts, ends, kinds }: RowValues,
    column: number,
    row: number,
  ): void {
    const kind = kinds[column];
    if (kind !== PLAIN_STRING && kind !== NEEDS_QUOTES && kind !== ESCAPED_STRING) return;
    const [start, end] = [starts[column]!, ends[column]!];
    const hash = hashOf(page, start, end);
    const same = this.#known.get(hash);
    if (same?.length === end - start && startsWith(page, start, same)) return;
    this.#known.set(hash, page.slice(start, end));
    this.addText(JSON.parse(utf8Decoder.decode(page.subarray(start - 1, end + 1))), row);
  }

  /** Adds a DOI, unless it is empty. */
  addText(doi: string, row: number): void {
    if (doi && !this.#found.has(doi)) this.#found.set(doi, row);
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
