import { assert } from "@std/assert";
import process from "node:process";

/** Ratio of the two sizes that are compared. */
const SPAN = 64;
/** Linear work takes 64 times as long for the larger input, quadratic work 4,096 times. */
const MAX_RATIO = 700;
/** Minimum time (ms) for the smaller input: quadratic work takes at least 0.2 s for the larger one. */
const MIN_TIME = 0.05;
/** Ratio of that time to the time for the first size, so that constant work does not hide how the rest grows. */
const MIN_GROWTH = 4;
/** Maximum size of the smaller input; larger inputs would measure how the memory grows. Work that takes less time for it passes. */
const MAX_SIZE = 1 << 12;
/** Growth of the time from one size to the next that only exponential work reaches. */
const MAX_STEP = 50;
/** Measurements of the two sizes; the shortest times count. The first ones include what is done once, such as parsing a URL. */
const ROUNDS = 12;
/** A ratio that five measurements confirm: half of that of quadratic work. */
const CERTAIN_RATIO = 2_000;
/** Time (ms) for which short work is repeated, and maximum number of its runs. */
const REPEATED = 10;
const MAX_RUNS = 2_000;

/**
 * Asserts that work takes less than 700 times as long for 64 times the input.
 *
 * Compares two times on the same machine, never a time with a constant. The size grows until the work takes 0.05 ms. The
 * limit is 11 times what linear work takes, and a sixth of what quadratic work takes, so that neither other programs nor
 * growing memory change the result.
 *
 * Use it only in files named `linear_time_test.ts`. The gate runs these one after another in a process
 * of their own, because the CPU time of a process includes all tests that run in parallel.
 *
 * @param make Creates an input of the given size; not measured
 * @param work The work to measure; may throw
 * @param from The smallest size; default 16
 */
export async function assertLinear<T>(
  make: (size: number) => T,
  work: (input: T) => unknown,
  from = 16,
): Promise<void> {
  const first = await shortest(make(from), work);
  let size = from;
  let time = first;
  while (time < Math.max(MIN_TIME, MIN_GROWTH * first)) {
    if (size >= MAX_SIZE) return;
    const before = time;
    size = Math.ceil(size * 1.5);
    const input = make(size);
    time = await shortest(input, work);
    if (time > MAX_STEP * before) time = Math.min(time, await shortest(input, work));
    const isStep = time > MIN_TIME && time > MAX_STEP * before;
    assert(!isStep, `${before} ms, then ${time} ms for ${size}`);
  }
  const small = make(size);
  const large = make(SPAN * size);
  let timeOfLarge = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    // The larger input first: the engine has then optimized the code for both.
    timeOfLarge = Math.min(timeOfLarge, await measure(large, work));
    time = Math.min(time, await shortest(small, work));
    if (timeOfLarge < MAX_RATIO * time) return;
    if (round >= 4 && timeOfLarge > CERTAIN_RATIO * time) break;
  }
  const ratio = (timeOfLarge / time).toFixed();
  assert(false, `${SPAN} times the size ${size} took ${ratio} times as long: ${timeOfLarge} ms`);
}

/** Returns the shortest time (ms) of several runs. Short work is repeated, so that the engine optimizes it. */
async function shortest<T>(input: T, work: (input: T) => unknown): Promise<number> {
  let least = Infinity;
  for (let run = 0, sum = 0; run < 3 || sum < REPEATED && run < MAX_RUNS; run++) {
    const time = await measure(input, work);
    least = Math.min(least, time);
    sum += time;
  }
  return least;
}

/** Returns the time (ms) of one run. The work may throw. */
async function measure<T>(input: T, work: (input: T) => unknown): Promise<number> {
  const [start, cpu] = [performance.now(), process.cpuUsage()];
  try {
    await work(input);
  } catch {
    // Other tests check the errors for malformed inputs.
  }
  const { user, system } = process.cpuUsage(cpu);
  // CPU time excludes delays on a busy machine; elapsed time excludes the work of other threads.
  return Math.min(performance.now() - start, (user + system) / 1_000);
}
