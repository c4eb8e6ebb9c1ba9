// Compares two versions of Weir in the current runtime, in turns. `compare.ts` starts it with the
// URLs of bundles of `mod.ts` before and after a change.
import process from "node:process";
import type * as weir from "../../mod.ts";
import { fieldNames } from "../../src/odata/resources.ts";
import {
  type Builder,
  createCalls,
  ENDPOINT_SHAPES,
  type EndpointShape,
  runCalls,
  SHAPE_WITH_DEFAULTS,
  withThreeLevels,
} from "./endpoint_calls.ts";
import { logProgress } from "./measurement.ts";
import { pagesOf, queriesFromMemory, READS, SELECTIONS } from "./query_reads.ts";

type QueryFactory = ReturnType<typeof queriesFromMemory>;

/** Ratios of the times of one benchmark, in one runtime. */
export interface Comparison {
  name: string;
  /** CPU time before divided by CPU time after, of each round: greater than 1 if the change made it faster. */
  ratios: number[];
}

type Run = () => unknown;

const WARM_UP_ROUNDS = 4;
const ROUNDS = 11;
const ENDPOINT_CALLS = 2_000;

async function timeOf(run: Run): Promise<number> {
  const start = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(start);
  return user + system;
}

async function compare(name: string, before: Run, after: Run): Promise<void> {
  logProgress(name);
  const ratios: number[] = [];
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    let times: { before: number; after: number };
    if (round % 2 === 0) {
      const first = await timeOf(before);
      times = { before: first, after: await timeOf(after) };
    } else {
      const first = await timeOf(after);
      times = { before: await timeOf(before), after: first };
    }
    if (round >= 0) ratios.push(times.before / times.after);
  }
  const comparison: Comparison = { name, ratios };
  console.log(JSON.stringify(comparison));
}

function repeat(shape: EndpointShape, build: Builder): Run {
  const calls = createCalls(shape, 0, ENDPOINT_CALLS);
  return () => runCalls(calls, build);
}

const [, , beforeUrl, afterUrl] = process.argv;
const before: typeof weir = await import(beforeUrl!);
const after: typeof weir = await import(afterUrl!);

for (const [name, shape] of Object.entries(ENDPOINT_SHAPES)) {
  await compare(
    `endpoint(): ${name}`,
    repeat(shape, before.endpoint as Builder),
    repeat(shape, after.endpoint as Builder),
  );
}
await compare(
  "endpoint(): three levels of defaults",
  repeat(SHAPE_WITH_DEFAULTS, withThreeLevels(before.endpoint)),
  repeat(SHAPE_WITH_DEFAULTS, withThreeLevels(after.endpoint)),
);
const [queryBefore, queryAfter] = [before, after].map(({ DataStream }) =>
  queriesFromMemory(DataStream)
) as [QueryFactory, QueryFactory];
const [page] = await pagesOf(queryAfter(undefined));
const columns = fieldNames("Records");
await compare(
  "csvFromPage()",
  () => before.csvFromPage(page!, { columns }),
  () => after.csvFromPage(page!, { columns }),
);
for (const [width, select] of Object.entries(SELECTIONS)) {
  for (const [name, read] of Object.entries(READS)) {
    await compare(
      `${name}, ${width}`,
      () => read(queryBefore(select)),
      () => read(queryAfter(select)),
    );
  }
}
