import { RESPONSE_FAULTS } from "./response_faults.ts";
import { BODY_FAULTS } from "./body_faults.ts";
import { COUNT_FAULTS, LARGE_COUNTS } from "./count_faults.ts";
import { LINK_FAULTS } from "./link_faults.ts";
import { PAGE_FAULTS } from "./page_faults.ts";
import type { FaultKind } from "./fault_kind.ts";
import { FIREWALL_FAULTS } from "./firewall_faults.ts";
import type { Random } from "../random.ts";

export interface Fault {
  kind: FaultKind;
  /** Number of the first request that it can change; the first request has number 1. */
  at: number;
  /** Maximum number of requests to change. */
  times: number;
  /** Number of requests that it has changed so far. */
  applied: number;
  /** Time (ms) of the first request that it changed. */
  since: number | undefined;
}

/** Groups of kinds; repeated groups have a higher probability. */
const GROUPS = [
  RESPONSE_FAULTS,
  RESPONSE_FAULTS,
  BODY_FAULTS,
  BODY_FAULTS,
  PAGE_FAULTS,
  PAGE_FAULTS,
  PAGE_FAULTS,
  LINK_FAULTS,
];

/** Draws 0 to 6 faults for about as many requests, or one or two of a firewall and fewer others. */
export function drawFaults(requests: number, hasFirewall: boolean, random: Random): Fault[] {
  const ofFirewall = hasFirewall ? random.int(1, 2) : 0;
  const number = random.pick(hasFirewall ? [0, 0, 0, 1, 2] : [0, 1, 1, 1, 2, 2, 3, 3, 4, 5, 6]);
  const kinds = [
    ...Array.from({ length: ofFirewall }, () => random.pick(FIREWALL_FAULTS)),
    ...Array.from(
      { length: number },
      () => random.pick(random.chance(0.1) ? COUNT_FAULTS : random.pick(GROUPS)),
    ),
  ];
  if (random.chance(0.08)) kinds.push(LARGE_COUNTS);
  return kinds.map((kind) => ({
    kind,
    at: kind.isPermanent ? 1 : random.int(1, requests),
    times: kind.isPermanent ? Infinity : kind.times ?? drawTimes(random),
    applied: 0,
    since: undefined,
  }));
}

/** Draws the maximum number of requests that a fault changes, which is one in most cases. */
function drawTimes(random: Random): number {
  if (random.chance(0.06)) return Infinity;
  return random.chance(0.85) ? 1 : random.int(2, 8);
}
