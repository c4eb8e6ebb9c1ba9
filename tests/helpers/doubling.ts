import { assert } from "@std/assert";
import process from "node:process";

/** Minimum time (ms) to compare; shorter ones are mostly noise. */
const MIN_TIME = 0.5;
/**
 * Maximum size to try; work that takes less than `MIN_TIME` for it passes. Quadratic work takes longer
 * than that already for it, and larger inputs would measure how memory grows.
 */
const MAX_SIZE = 1 << 15;
/** Ratio of the two sizes in a comparison. */
const SPAN = 8;
/** Linear work takes 8 times as long for the larger input, quadratic work 64 times. */
const MAX_RATIO = 24;
/** Growth of the time from one size to the next that only exponential work reaches. */
const MAX_STEP = 50;
/**
 * Number of sizes, each twice the previous one, of which one must have a low ratio. Linear work has
 * a high ratio only at sizes where memory has to grow first; quadratic work has it at every size.
 */
const SIZES = 3;

/**
 * Asserts that work takes less than 24 times as long for 8 times the input.
 *
 * Compares two times on the same machine, never a time with a constant. The size grows until the
 * work takes half a millisecond. Each time is the minimum of several runs.
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
  let size = from;
  let time = await shortest(make(size), work, 3);
  while (time < MIN_TIME) {
    if (size >= MAX_SIZE) return;
    const before = time;
    size = Math.ceil(size * 1.5);
    time = await shortest(make(size), work, 3);
    const isStep = time > MIN_TIME && time > MAX_STEP * before;
    assert(!isStep, `${before} ms, then ${time} ms for ${size}`);
  }
  const ratios: number[] = [];
  for (let index = 0; index < SIZES; index++, size *= 2) {
    ratios.push(await ratioAt(size, make, work));
    if (ratios[index]! < MAX_RATIO) return;
  }
  assert(
    false,
    `times for ${SPAN} times the input grew by ${ratios.map((ratio) => ratio.toFixed(1))}, ` +
      `at sizes up to ${size / 2}`,
  );
}

/** Returns the ratio of the time for `SPAN * size` to that for `size`; repeats high measurements. */
async function ratioAt<T>(
  size: number,
  make: (size: number) => T,
  work: (input: T) => unknown,
): Promise<number> {
  const [small, large] = [make(size), make(SPAN * size)];
  let [time, timeOfLarge] = [Infinity, Infinity];
  for (let round = 0; round < 6; round++) {
    time = Math.min(time, await shortest(small, work, 3));
    timeOfLarge = Math.min(timeOfLarge, await shortest(large, work, 1));
    if (round >= 1 && timeOfLarge < MAX_RATIO * time) break;
  }
  return timeOfLarge / time;
}

/** Returns the minimum time (ms) of several runs. The work may throw. */
export async function shortest<T>(
  input: T,
  work: (input: T) => unknown,
  runs: number,
): Promise<number> {
  let least = Infinity;
  for (let run = 0; run < runs; run++) {
    const [start, cpu] = [performance.now(), process.cpuUsage()];
    try {
      await work(input);
    } catch {
      // Other tests check the errors for malformed inputs.
    }
    const { user, system } = process.cpuUsage(cpu);
    // CPU time excludes delays on a busy machine; elapsed time excludes the work of other threads.
    least = Math.min(least, performance.now() - start, (user + system) / 1_000);
  }
  return least;
}
