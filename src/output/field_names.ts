import { readName } from "./row_layout.ts";

/** So many names are known by their bytes; others are read anew each time. */
const MOST_KNOWN = 1_000;

interface Known {
  bytes: Uint8Array;
  column: number;
}

/** The columns of fields, by their names as text or as bytes. */
export class FieldNames {
  /** What stands for a name that is no column's. */
  readonly none: number;
  readonly #columns: Map<string, number>;
  /** By a sum of their bytes; those with the same sum in one list. */
  readonly #known = new Map<number, Known[]>();
  #size = 0;

  /** @param fields The columns in order */
  constructor(fields: readonly string[]) {
    this.none = fields.length;
    this.#columns = new Map(fields.map((field, column) => [field, column]));
  }

  /** The column of a name. */
  columnOf(name: string): number {
    return this.#columns.get(name) ?? this.none;
  }

  /** The column of a name that stands in a page, from its first quote to its last. */
  columnAt(page: Uint8Array, at: number, end: number): number {
    let sum = 0;
    for (let place = at; place < end; place++) sum = Math.imul(sum, 31) + page[place]! | 0;
    const alike = this.#known.get(sum) ?? [];
    for (const { bytes, column } of alike) {
      if (isSame(bytes, page, at, end)) return column;
    }
    const column = this.columnOf(readName(page, at, end));
    if (this.#size++ < MOST_KNOWN) {
      this.#known.set(sum, [...alike, { bytes: new Uint8Array(page.subarray(at, end)), column }]);
    }
    return column;
  }
}

function isSame(bytes: Uint8Array, page: Uint8Array, at: number, end: number): boolean {
  if (bytes.length !== end - at) return false;
  for (let index = 0; index < bytes.length; index++) {
    if (bytes[index] !== page[at + index]) return false;
  }
  return true;
}
