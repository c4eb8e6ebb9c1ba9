import { type FaultKind, toDelivery } from "./fault_kind.ts";

/**
 * Multiplies all counts by 2,000, so that the client splits a small query into groups of locations
 * like one with more than a million rows.
 */
export const LARGE_COUNTS: FaultKind = {
  name: "counts 2,000 times too high",
  on: "count",
  isRecoverable: false,
  isPermanent: true,
  count: (count) => count * 2_000,
};

const KINDS: readonly FaultKind[] = [
  { name: "count one too high", isRecoverable: true, hidesRows: true, count: (count) => count + 1 },
  { name: "count one too low", isRecoverable: true, hidesRows: true, count: (count) => count - 1 },
  { name: "count 10 % too high", count: (count) => Math.ceil(count * 1.1) + 2 },
  { name: "count 10 % too low", hidesRows: true, count: (count) => Math.floor(count * 0.9) },
  { name: "count above a million", count: (count) => 1_200_000 + count },
  { name: "count of 0", hidesRows: true, count: () => 0 },
  { name: "negative count", count: (count) => -count },
  { name: "rows instead of the count", count: () => [{ Id: 1 }, { Id: 2 }] },
  {
    name: "count rejected with 400",
    causes: () => ["length"],
    hidesRows: true,
    respond: () => toDelivery("", 400),
  },
  { name: "count rejected with 504", hidesRows: true, respond: () => toDelivery("", 504) },
];

/** Counts that are wrong, malformed or rejected. */
export const COUNT_FAULTS: readonly FaultKind[] = KINDS.map((kind) => ({
  on: "count",
  isRecoverable: false,
  ...kind,
}));
