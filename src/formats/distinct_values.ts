import { utf8Decoder } from "../bytes.ts";
import { BytesCache } from "./json_scanner.ts";
import { EMPTY, NESTED, type RowReader, SCALAR } from "./row_reader.ts";

/** A value that a row has in a field. A number is written as text. */
export type FoundValue = readonly [field: string, value: string];

/** Collects the distinct values of some fields in the rows of a page, in order of appearance. */
export class DistinctValues {
  readonly #fields: readonly string[];
  readonly #texts = new BytesCache((page, start, end) =>
    utf8Decoder.decode(page.subarray(start, end))
  );
  /** The distinct values by field and JSON, in order of appearance, and the number of the first row with each. */
  readonly #found = new Map<string, readonly [value: FoundValue, row: number]>();
  /** Number of values that `take()` has returned. */
  #taken = 0;

  constructor(fields: readonly string[]) {
    this.#fields = fields;
  }

  /**
   * Adds the values of a row.
   *
   * @param page The bytes that contain the row
   * @param reader Reader of the row
   * @param row Number of the row
   */
  add(page: Uint8Array, reader: RowReader, row: number): void {
    for (const field of this.#fields) {
      const column = reader.findColumn(field);
      const kind = column < 0 ? EMPTY : reader.kinds[column];
      if (kind === EMPTY || kind === NESTED) continue;
      const quote = kind === SCALAR ? 0 : 1;
      const json = this.#texts.get(
        page,
        reader.starts[column]! - quote,
        reader.ends[column]! + quote,
      );
      const key = `${field} ${json}`;
      if (this.#found.has(key)) continue;
      const value = kind === SCALAR ? json : JSON.parse(json) as string;
      this.#found.set(key, [[field, value], row]);
    }
  }

  /**
   * Returns the values of the first rows, except those that an earlier call has returned.
   *
   * @param rows Number of these rows
   */
  take(rows: number): FoundValue[] {
    const added = [...this.#found.values()].slice(this.#taken);
    const taken = added.filter(([, row]) => row < rows).map(([value]) => value);
    this.#taken += taken.length;
    return taken;
  }
}
