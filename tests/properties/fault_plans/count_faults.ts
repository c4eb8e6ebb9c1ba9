import type { Kind } from "./kind.ts";

function count(
  name: string,
  change: (count: number) => { value: unknown },
  { passes = false, hidesRows = false } = {},
): Kind {
  return { name, on: "count", passes, hidesRows, count: change };
}

/**
 * All counts two thousand times too high: a small query is split into groups of locations as one of
 * more than a million rows is.
 */
export const LARGE_COUNTS: Kind = {
  ...count("counts two thousand times too high", (count) => ({ value: count * 2_000 })),
  always: true,
};

/** Counts that are wrong, malformed or refused. */
export const COUNT_FAULTS: readonly Kind[] = [
  count("count one too high", (count) => ({ value: count + 1 }), {
    passes: true,
    hidesRows: true,
  }),
  count("count one too low", (count) => ({ value: count - 1 }), {
    passes: true,
    hidesRows: true,
  }),
  count(
    "count 10 % too high",
    (count) => ({ value: Math.ceil(count * 1.1) + 2 }),
  ),
  count("count 10 % too low", (count) => ({ value: Math.floor(count * 0.9) }), {
    hidesRows: true,
  }),
  count("count three times too high", (count) => ({ value: count * 3 + 2 })),
  count(
    "count a third of the rows",
    (count) => ({ value: Math.floor(count / 3) }),
    {
      hidesRows: true,
    },
  ),
  count("count above a million", (count) => ({ value: 1_200_000 + count })),
  count("count of 0", () => ({ value: 0 }), { hidesRows: true }),
  count("negative count", (count) => ({ value: -count })),
  count("count with a fraction", (count) => ({ value: count + 0.5 })),
  count("count in words", () => ({ value: "many" })),
  count("count of null", () => ({ value: null })),
  count("empty list in place of the count", () => ({ value: [] })),
  count(
    "rows in place of the count",
    () => ({ value: [{ Id: 1 }, { Id: 2 }] }),
  ),
  {
    name: "count refused with 400",
    on: "count",
    passes: false,
    hidesRows: true,
    answer: () => Promise.resolve({ status: 400, body: '{"message":null}' }),
  },
  {
    name: "count refused with 504",
    on: "count",
    passes: false,
    hidesRows: true,
    answer: () => Promise.resolve({ status: 504, body: "" }),
  },
];
