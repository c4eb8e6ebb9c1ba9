import {
  CLOSE_OBJECT,
  COMMA,
  OPEN_OBJECT,
  passColon,
  passSpace,
  passString,
  passValue,
} from "./json_bytes.ts";

/**
 * How a row is laid out: what stands before each of its values, and after the last, to the byte.
 *
 * One serializer writes its rows alike, so that a row can be told by comparing eight bytes at a time,
 * as doubles. Of those, two are equal where their bytes are, but for zeros, which no text has, and
 * for what is not a number, which equals nothing: such a row goes another way.
 */
export interface RowLayout {
  /** The names of the values, in order. */
  names: string[];
  /** How many bytes stand before each value. */
  lengths: Int32Array;
  /** The first and the last four of them: of less than eight, these are all. */
  firsts: Int32Array;
  lasts: Int32Array;
  /** All of them, where they are eight or more; the last eight may overlap those before. */
  words: Float64Array;
  /** What stands after the last value. */
  tail: Uint8Array;
}

/**
 * Learns the layout of a row.
 *
 * @param at The place of its opening brace
 * @returns The layout; undefined where the row has no members or a name twice, or is no JSON
 */
export function learnLayout(page: Uint8Array, at: number): RowLayout | undefined {
  const names: string[] = [];
  const glue: Uint8Array[] = [];
  let from = at;
  if (page[at] !== OPEN_OBJECT) return undefined;
  do {
    const name = passSpace(page, at + 1);
    const nameEnd = passString(page, name);
    if (nameEnd < 0) return undefined;
    names.push(readName(page, name, nameEnd));
    const value = passColon(page, nameEnd);
    if (value < 0) return undefined;
    // A copy, which the slice of a Buffer would not be.
    glue.push(new Uint8Array(page.subarray(from, value)));
    from = passValue(page, value);
    if (from < 0) return undefined;
    at = passSpace(page, from);
  } while (page[at] === COMMA);
  if (page[at] !== CLOSE_OBJECT || new Set(names).size < names.length) return undefined;
  return { names, ...toWords(glue), tail: page.slice(from, at + 1) };
}

/** Each piece is of four bytes at least: a brace or comma, a name in quotes, a colon. */
function toWords(glue: readonly Uint8Array[]): Omit<RowLayout, "names" | "tail"> {
  const views = glue.map(({ buffer }) => new DataView(buffer));
  const words: number[] = [];
  for (const view of views.filter(({ byteLength }) => byteLength >= 8)) {
    for (let at = 0; at < view.byteLength; at += 8) {
      words.push(view.getFloat64(Math.min(at, view.byteLength - 8), true));
    }
  }
  return {
    lengths: Int32Array.from(glue, ({ length }) => length),
    firsts: Int32Array.from(views, (view) => view.getInt32(0, true)),
    lasts: Int32Array.from(views, (view) => view.getInt32(view.byteLength - 4, true)),
    words: Float64Array.from(words),
  };
}

const decoder = new TextDecoder();

/** The text of a name, from its first quote to its last. */
export function readName(page: Uint8Array, at: number, end: number): string {
  return JSON.parse(decoder.decode(page.subarray(at, end)));
}
