/**
 * Compares `endpoint()` with `@octokit/endpoint` in the current runtime.
 *
 * Both take turns; the result is the median ratio of their times. Arguments differ in every call, so
 * that no result can be cached.
 */
import { endpoint as octokit } from "@octokit/endpoint";
import { endpoint as weir } from "../../mod.ts";
import {
  type Builder,
  type BuilderWithDefaults,
  callWithDefaults,
  DIRECT_CALLS,
  type EndpointCall,
  repeatCall,
  VARIED_CALLS,
  withThreeLevels,
} from "./endpoint_calls.ts";
import { formatNumber, logProgress, median, report, requireAtLeast } from "./measurement.ts";

/** Minimum ratio of the time of `@octokit/endpoint` to Weir's. */
const MIN_RATIO = 2;
/** The same for `VARIED_CALLS`. */
const MIN_VARIED_RATIO = 1.5;
const ROUNDS = 41;
const CALLS = 2_000;

/** Returns the time (ms) of `CALLS` calls. */
function time(call: EndpointCall, build: Builder, from: number): number {
  const start = performance.now();
  repeatCall(call, build, from, CALLS);
  return performance.now() - start;
}

function compare(
  name: string,
  call: EndpointCall,
  ours: Builder,
  theirs: Builder,
  minRatio = MIN_RATIO,
): void {
  logProgress(name);
  const times: { ours: number; theirs: number }[] = [];
  for (let round = -5; round < ROUNDS; round++) {
    const from = (round + 5) * CALLS;
    const oursFirst = round % 2 === 0;
    const first = time(call, oursFirst ? ours : theirs, from);
    const second = time(call, oursFirst ? theirs : ours, from);
    if (round < 0) continue; // warm-up
    times.push(oursFirst ? { ours: first, theirs: second } : { ours: second, theirs: first });
  }
  const perSecond = (milliseconds: number[]) => formatNumber(CALLS / median(milliseconds) * 1000);
  const ratio = median(times.map(({ ours, theirs }) => theirs / ours));
  const ourRate = perSecond(times.map(({ ours }) => ours));
  const theirRate = perSecond(times.map(({ theirs }) => theirs));
  report({
    name: `${name}, compared with @octokit/endpoint`,
    value: `${formatNumber(ratio)} times (${ourRate} and ${theirRate} calls/s)`,
    ...requireAtLeast(minRatio, [ratio]),
  });
}

for (const [name, call] of Object.entries(DIRECT_CALLS)) {
  compare(name, call, weir as Builder, octokit as Builder);
}
compare(
  "three levels of defaults",
  callWithDefaults,
  withThreeLevels(weir),
  withThreeLevels(octokit as unknown as BuilderWithDefaults),
);
for (const [name, call] of Object.entries(VARIED_CALLS)) {
  compare(name, call, weir as Builder, octokit as Builder, MIN_VARIED_RATIO);
}
