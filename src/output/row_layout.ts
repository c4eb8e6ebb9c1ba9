import {
  CLOSE_OBJECT,
  COMMA,
  OPEN_OBJECT,
  passColon,
  passScalar,
  passSpace,
  passString,
} from "./json_bytes.ts";

/**
 * How a row is laid out: what stands before each of its values, and after the last, to the byte.
 * One serializer writes its rows alike, so that a row can be told by comparing four bytes at a time.
 */
export interface RowLayout {
  /** The names of the values, in order. */
  names: string[];
  /** What stands before the values, as words of four bytes; the last of each may overlap. */
  words: Int32Array;
  /** How many whole words stand before each value, and how many bytes after them. */
  wholeWords: Int32Array;
  restBytes: Int32Array;
  /** What stands after the last value. */
  tail: Uint8Array;
}

/**
 * Learns the layout of a row.
 *
 * @param at The place of its opening brace
 * @returns The layout; undefined where the row has no members, one that holds others or a name twice,
 *   or is no JSON
 */
export function learnLayout(page: Uint8Array, at: number): RowLayout | undefined {
  const decoder = new TextDecoder();
  const names: string[] = [];
  const glue: Uint8Array[] = [];
  let from = at;
  if (page[at] !== OPEN_OBJECT) return undefined;
  do {
    const name = passSpace(page, at + 1);
    const nameEnd = passString(page, name);
    if (nameEnd < 0) return undefined;
    names.push(JSON.parse(decoder.decode(page.subarray(name, nameEnd))));
    const value = passColon(page, nameEnd);
    if (value < 0) return undefined;
    glue.push(page.slice(from, value));
    from = passScalar(page, value);
    if (from < 0) return undefined;
    at = passSpace(page, from);
  } while (page[at] === COMMA);
  if (page[at] !== CLOSE_OBJECT || new Set(names).size < names.length) return undefined;
  return { names, ...toWords(glue), tail: page.slice(from, at + 1) };
}

/** Each piece is of four bytes at least: a brace or comma, a name in quotes, a colon. */
function toWords(
  glue: readonly Uint8Array[],
): Pick<RowLayout, "words" | "wholeWords" | "restBytes"> {
  const words: number[] = [];
  for (const bytes of glue) {
    const view = new DataView(bytes.buffer);
    for (let at = 0; at + 4 <= bytes.length; at += 4) words.push(view.getInt32(at, true));
    words.push(view.getInt32(bytes.length - 4, true));
  }
  return {
    words: Int32Array.from(words),
    wholeWords: Int32Array.from(glue, ({ length }) => length >> 2),
    restBytes: Int32Array.from(glue, ({ length }) => length & 3),
  };
}
