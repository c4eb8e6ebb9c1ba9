// Compares the CPU time of `endpoint()` with that of `@octokit/endpoint` in the current runtime, in
// turns, and prints the median ratio. The arguments are created before the time is measured.
import process from "node:process";
import { endpoint as octokit } from "@octokit/endpoint";
import { endpoint as weir } from "../../mod.ts";
import {
  type Builder,
  type BuilderWithDefaults,
  createCalls,
  ENDPOINT_SHAPES,
  type EndpointCall,
  type EndpointShape,
  runCalls,
  SHAPE_WITH_DEFAULTS,
  withThreeLevels,
} from "./endpoint_calls.ts";
import { formatNumber, logProgress, median, report } from "./measurement.ts";

/** Minimum ratio of the time of `@octokit/endpoint` to Weir's. */
const MIN_RATIO = 1.5;
/** Until V8 has optimised both for the shape, after those before it. */
const WARM_UP_ROUNDS = 20;
const ROUNDS = 21;
const CALLS = 1_000;

/** Returns the CPU time (ms) of calls. Unlike elapsed time, it does not depend on other programs. */
function time(calls: readonly EndpointCall[], build: Builder): number {
  const start = process.cpuUsage();
  runCalls(calls, build);
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}

function compare(name: string, shape: EndpointShape, ours: Builder, theirs: Builder): void {
  logProgress(name);
  const times: { ours: number; theirs: number }[] = [];
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
    const calls = createCalls(shape, round * CALLS, CALLS);
    const oursFirst = round % 2 === 0;
    const first = time(calls, oursFirst ? ours : theirs);
    const second = time(calls, oursFirst ? theirs : ours);
    if (round < WARM_UP_ROUNDS) continue;
    times.push(oursFirst ? { ours: first, theirs: second } : { ours: second, theirs: first });
  }
  const perSecond = (milliseconds: number[]) => formatNumber(CALLS / median(milliseconds) * 1000);
  const ratio = median(times.map(({ ours, theirs }) => theirs / ours));
  const ourRate = perSecond(times.map(({ ours }) => ours));
  const theirRate = perSecond(times.map(({ theirs }) => theirs));
  report({
    name: `${name}, compared with @octokit/endpoint`,
    value: `${formatNumber(ratio)} times (${ourRate} and ${theirRate} calls/s)`,
    target: `at least ${MIN_RATIO}`,
    isMet: ratio >= MIN_RATIO,
  });
}

for (const [name, shape] of Object.entries(ENDPOINT_SHAPES)) {
  compare(name, shape, weir as Builder, octokit as Builder);
}
compare(
  "three levels of defaults",
  SHAPE_WITH_DEFAULTS,
  withThreeLevels(weir),
  withThreeLevels(octokit as unknown as BuilderWithDefaults),
);
