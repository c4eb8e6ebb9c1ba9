import { ANSWER_FAULTS } from "./answer_faults.ts";
import { BODY_FAULTS } from "./body_faults.ts";
import { COUNT_FAULTS, LARGE_COUNTS } from "./count_faults.ts";
import { LINK_FAULTS } from "./link_faults.ts";
import { PAGE_FAULTS } from "./page_faults.ts";
import type { Kind } from "./kind.ts";
import type { Random } from "./random.ts";

/** A fault of a plan. */
export interface Fault {
  kind: Kind;
  /** Number of the request from which on it waits for one that it applies to; the first is 1. */
  at: number;
  /** Number of requests that it changes; Infinity for all from then on. */
  times: number;
  /** Number of requests that it has changed so far. */
  applied: number;
  /** Time (ms) of the first request that it changed. */
  since: number | undefined;
}

/** All kinds of faults. */
export const KINDS: readonly Kind[] = [
  ...ANSWER_FAULTS,
  ...BODY_FAULTS,
  ...PAGE_FAULTS,
  ...LINK_FAULTS,
  ...COUNT_FAULTS,
  LARGE_COUNTS,
];

/** Groups of kinds; one that stands here more often is drawn more often. */
const GROUPS = [
  ...[ANSWER_FAULTS, ANSWER_FAULTS, BODY_FAULTS, BODY_FAULTS],
  ...[PAGE_FAULTS, PAGE_FAULTS, PAGE_FAULTS, LINK_FAULTS],
];

/**
 * Draws 0 to 6 faults.
 *
 * @param requests Number of requests that the query takes without faults, roughly
 * @param random Random numbers
 */
export function drawFaults(requests: number, random: Random): Fault[] {
  const number = random.pick([0, 1, 1, 1, 2, 2, 3, 3, 4, 5, 6]);
  const kinds = Array.from(
    { length: number },
    () => random.pick(random.chance(0.1) ? COUNT_FAULTS : random.pick(GROUPS)),
  );
  if (random.chance(0.08)) kinds.push(LARGE_COUNTS);
  return kinds.map((kind) => ({
    kind,
    at: kind.always ? 1 : random.int(1, requests),
    times: kind.always ? Infinity : drawTimes(random),
    applied: 0,
    since: undefined,
  }));
}

/** Draws the number of requests that a fault changes: most often one. */
function drawTimes(random: Random): number {
  if (random.chance(0.06)) return Infinity;
  return random.chance(0.85) ? 1 : random.int(2, 8);
}
