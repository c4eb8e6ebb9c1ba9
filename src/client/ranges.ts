import { type Clause, numberClause } from "../odata/clause.ts";

/**
 * A range of a numeric field, such as the year: `from <= number < below`.
 *
 * The functions of this module create adjacent ranges from a list of numbers. The first has no lower bound and the
 * last has no upper bound. Together they cover every row whose field is not null, even if the list is incomplete.
 */
export interface Range {
  /** Lowest number; `undefined` for no lower bound. */
  from: number | undefined;
  /** Number above the range; `undefined` for no upper bound. */
  below: number | undefined;
}

/** Returns the clauses that the rows of a range match. */
export function rangeClauses<F extends string>(field: F, { from, below }: Range): Clause<F>[] {
  const bound = (operator: "gte" | "lt", number: number | undefined): Clause<F>[] =>
    number === undefined ? [] : [numberClause(field, operator, number)];
  return [...bound("gte", from), ...bound("lt", below)];
}

/** Returns one range per number of an ascending list; for an empty list one range without bounds. */
export function rangeOfEach(numbers: readonly number[]): Range[] {
  return numbers.length === 0
    ? [{ from: undefined, below: undefined }]
    : numbers.map((_, index) => rangeOf(numbers, index, index + 1));
}

/** Consecutive numbers of a list, from the index `first` to before the index `end`, and their row count. */
interface Group {
  first: number;
  end: number;
  rows: number;
}

/**
 * Splits an ascending list of numbers into adjacent ranges that have at most `max` rows or one number.
 *
 * A range with too many rows is halved, and one half is counted. Neighbours that together have at most
 * `max` rows are merged again. The result can have more ranges than necessary: finding the minimum would
 * take more counts.
 *
 * @param max Maximum number of rows of a range with several numbers
 * @param numbers Values of the field, ascending
 * @param rows Number of rows of all ranges together
 * @param count Counts the rows of a range
 */
export async function rangesOfAtMost(
  max: number,
  numbers: readonly number[],
  rows: number,
  count: (range: Range) => Promise<number>,
): Promise<Range[]> {
  const groups: Group[] = [];
  const stack: Group[] = [{ first: 0, end: numbers.length, rows }];
  for (let group = stack.pop(); group !== undefined; group = stack.pop()) {
    if (group.rows <= max || group.end - group.first <= 1) {
      const before = groups.at(-1);
      if (before !== undefined && before.rows + group.rows <= max) {
        before.end = group.end;
        before.rows += group.rows;
      } else groups.push(group);
      continue;
    }
    const middle = Math.ceil((group.first + group.end) / 2);
    const counted = await count(rangeOf(numbers, group.first, middle));
    // Counts are estimates, so this can be negative. They only decide where to split: every range is
    // requested, even if its count is 0.
    const uncounted = Math.max(0, group.rows - counted);
    stack.push({ first: middle, end: group.end, rows: uncounted });
    stack.push({ first: group.first, end: middle, rows: counted });
  }
  return groups.map(({ first, end }) => rangeOf(numbers, first, end));
}

function rangeOf(numbers: readonly number[], first: number, end: number): Range {
  return {
    from: first === 0 ? undefined : numbers[first],
    below: end === numbers.length ? undefined : numbers[end],
  };
}
