import process from "node:process";

export type RuntimeName = "Deno" | "Node";

/** Ratios of two times in one runtime: a cell of a table. */
export interface Comparison {
  /** Description of the benchmark; the table has one row for each. */
  name: string;
  runtime: RuntimeName;
  /** First time divided by the second one, of each round: above 1 if the second function is faster. */
  ratios: readonly number[];
  /** Text to add, such as calls per second. */
  note?: string | undefined;
}

/** Prepares work, such as its arguments, and returns the function to measure. */
export type Prepare = () => () => unknown;

const WARM_UP_ROUNDS = 4;
const ROUNDS = 11;

/**
 * Measures the CPU time of two functions in turns, so that other programs matter little, and prints a
 * comparison as a line of JSON, which `runInRuntimes()` reads.
 *
 * @param note Returns a text for the median time (ms) of the second function
 */
export async function compare(
  name: string,
  first: Prepare,
  second: Prepare,
  note?: (milliseconds: number) => string,
): Promise<void> {
  logProgress(name);
  const ratios: number[] = [];
  const times: number[] = [];
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    const order = round % 2 === 0 ? [first, second] : [second, first];
    const measured = new Map<Prepare, number>();
    for (const prepare of order) measured.set(prepare, await timeOf(prepare()));
    if (round < 0) continue;
    times.push(measured.get(second)!);
    ratios.push(measured.get(first)! / times.at(-1)!);
  }
  const runtime = "Deno" in globalThis ? "Deno" : "Node";
  const comparison: Comparison = { name, runtime, ratios, note: note?.(median(times)) };
  console.log(JSON.stringify(comparison));
}

async function timeOf(work: () => unknown): Promise<number> {
  const start = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}

export function logProgress(step: string): void {
  console.error(`  ${step}`);
}

/** Returns the median of values; of an even number of values, the greater of the middle two. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}
