import { BytesMap } from "./json_scanner.ts";
import type { FoundValue } from "./page_writer.ts";
import { EMPTY, NESTED, type RowReader, SCALAR } from "./row_reader.ts";

/** Collects the distinct values of some fields in the rows of a page, in order of appearance. */
export class DistinctValues {
  /** The fields, and the values that were found by their bytes, so that most rows create no string. */
  readonly #known: readonly (readonly [field: string, values: BytesMap<true>])[];
  /** The distinct values, in order of appearance, and the number of the first row with each. */
  readonly #found = new Map<string, readonly [value: FoundValue, row: number]>();
  /** Number of values that `take()` has returned. */
  #taken = 0;

  constructor(fields: readonly string[]) {
    this.#known = fields.map((field) => [field, new BytesMap()]);
  }

  /**
   * Adds the values of a row.
   *
   * @param page The bytes that contain the row
   * @param reader Reader of the row
   * @param row Number of the row
   */
  add(page: Uint8Array, reader: RowReader, row: number): void {
    for (const [field, known] of this.#known) {
      const column = reader.findColumn(field);
      const kind = column < 0 ? EMPTY : reader.kinds[column];
      if (kind === EMPTY || kind === NESTED) continue;
      const [start, end] = [reader.starts[column]!, reader.ends[column]!];
      if (known.get(page, start, end)) continue;
      known.set(page, start, end, true);
      const json = reader.json(column);
      const value = [field, kind === SCALAR ? json : JSON.parse(json) as string] as const;
      const key = value.join(" ");
      if (!this.#found.has(key)) this.#found.set(key, [value, row]);
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
