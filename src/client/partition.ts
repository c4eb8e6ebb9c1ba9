import type { Clause } from "../odata/clause.ts";

/** The most rows that one request may be expected to return (water-quality-api, Client guidance). */
export const MOST_ROWS = 1_000_000;

/**
 * A stretch of rows by a number that each has: from one, below another; open where there is none.
 *
 * Ranges that follow one another, open at both ends, hold every row that has a number, whatever
 * the numbers between them: no list of numbers needs to be whole for that.
 */
export interface Range {
  from: number | undefined;
  below: number | undefined;
}

/** The clauses that the rows of a range meet. */
export function toRangeClauses<F extends string>(field: F, { from, below }: Range): Clause<F>[] {
  const bound = (operator: "gte" | "lt", number: number | undefined): Clause<F>[] =>
    number === undefined
      ? []
      : [{ field, operator, values: [{ text: String(number), quoted: false }] }];
  return [...bound("gte", from), ...bound("lt", below)];
}

/** A range for each of the numbers, which rise; open at both ends. */
export function rangeOfEach(numbers: readonly number[]): Range[] {
  return numbers.length === 0
    ? [{ from: undefined, below: undefined }]
    : numbers.map((_, index) => rangeOf(numbers, index, index + 1));
}

/** Some of the numbers, by their indices, and how many rows they have. */
interface Group {
  first: number;
  end: number;
  rows: number;
}

/**
 * Ranges of the numbers, in order and open at both ends, as few as are worth their counts, each with
 * no more rows than wanted, or of one number alone.
 *
 * A range with too many rows is halved, and one half counted; neighbours that fit together are
 * joined again.
 *
 * @param numbers The numbers that rows have, rising
 * @param rows How many rows there are in all
 * @param count Counts the rows of a range
 */
export async function rangesOfAtMost(
  most: number,
  numbers: readonly number[],
  rows: number,
  count: (range: Range) => Promise<number>,
): Promise<Range[]> {
  const groups: Group[] = [];
  const left: Group[] = [{ first: 0, end: numbers.length, rows }];
  for (let group = left.pop(); group !== undefined; group = left.pop()) {
    if (group.rows <= most || group.end - group.first <= 1) {
      const before = groups.at(-1);
      if (before !== undefined && before.rows + group.rows <= most) {
        before.end = group.end;
        before.rows += group.rows;
      } else groups.push(group);
      continue;
    }
    const middle = Math.ceil((group.first + group.end) / 2);
    const counted = await count(rangeOf(numbers, group.first, middle));
    // Counts are estimates: what they say decides where to split, never what to leave out.
    const rest = Math.max(0, group.rows - counted);
    left.push({ first: middle, end: group.end, rows: rest });
    left.push({ first: group.first, end: middle, rows: counted });
  }
  return groups.map(({ first, end }) => rangeOf(numbers, first, end));
}

function rangeOf(numbers: readonly number[], first: number, end: number): Range {
  return {
    from: first === 0 ? undefined : numbers[first],
    below: end === numbers.length ? undefined : numbers[end],
  };
}
