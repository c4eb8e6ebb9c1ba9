import { utf8Decoder } from "../bytes.ts";
import { BytesCache } from "./json_scanner.ts";
import { NESTED, type RowReader, SCALAR } from "./row_reader.ts";

/** A number is written as text. */
export type FoundValue = readonly [field: string, value: string];

/** Collects distinct values in order of appearance. */
export class DistinctValues {
  readonly #fields: readonly string[];
  readonly #texts = new BytesCache((page, start, end) =>
    utf8Decoder.decode(page.subarray(start, end))
  );
  /** By field and JSON, with the number of the first row with each value. */
  readonly #found = new Map<string, readonly [value: FoundValue, row: number]>();
  #taken = 0;

  constructor(fields: readonly string[]) {
    this.#fields = fields;
  }

  add(reader: RowReader, row: number): void {
    for (const field of this.#fields) {
      const column = reader.findColumn(field);
      const kind = reader.kinds[column];
      const json = kind === NESTED ? undefined : reader.lookUp(this.#texts, column);
      if (json === undefined) continue;
      const key = `${field} ${json}`;
      if (this.#found.has(key)) continue;
      const value = kind === SCALAR ? json : JSON.parse(json) as string;
      this.#found.set(key, [[field, value], row]);
    }
  }

  /** Returns the values of the first rows, except those that an earlier call has returned. */
  take(rows: number): FoundValue[] {
    const added = [...this.#found.values()].slice(this.#taken);
    const taken = added.filter(([, row]) => row < rows).map(([value]) => value);
    this.#taken += taken.length;
    return taken;
  }
}
