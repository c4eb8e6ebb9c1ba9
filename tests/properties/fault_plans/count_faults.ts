import type { FaultKind } from "./fault_kind.ts";

function countFault(
  name: string,
  change: (count: number) => { value: unknown },
  { isRecoverable = false, hidesRows = false } = {},
): FaultKind {
  return { name, on: "count", isRecoverable, hidesRows, count: change };
}

/**
 * Multiplies all counts by 2,000, so that the client splits a small query into groups of locations
 * like one with more than a million rows.
 */
export const LARGE_COUNTS: FaultKind = {
  ...countFault("counts 2,000 times too high", (count) => ({ value: count * 2_000 })),
  isPermanent: true,
};

/** Counts that are wrong, malformed or rejected. */
export const COUNT_FAULTS: readonly FaultKind[] = [
  countFault("count one too high", (count) => ({ value: count + 1 }), {
    isRecoverable: true,
    hidesRows: true,
  }),
  countFault("count one too low", (count) => ({ value: count - 1 }), {
    isRecoverable: true,
    hidesRows: true,
  }),
  countFault("count 10 % too high", (count) => ({ value: Math.ceil(count * 1.1) + 2 })),
  countFault("count 10 % too low", (count) => ({ value: Math.floor(count * 0.9) }), {
    hidesRows: true,
  }),
  countFault("count above a million", (count) => ({ value: 1_200_000 + count })),
  countFault("count of 0", () => ({ value: 0 }), { hidesRows: true }),
  countFault("negative count", (count) => ({ value: -count })),
  countFault("rows instead of the count", () => ({ value: [{ Id: 1 }, { Id: 2 }] })),
  {
    name: "count rejected with 400",
    on: "count",
    isRecoverable: false,
    hidesRows: true,
    respond: () => Promise.resolve({ status: 400, body: '{"message":null}' }),
  },
  {
    name: "count rejected with 504",
    on: "count",
    isRecoverable: false,
    hidesRows: true,
    respond: () => Promise.resolve({ status: 504, body: "" }),
  },
];
