import { assert } from "@std/assert";
import process from "node:process";

/** Shortest time (ms) to compare: shorter ones are mostly noise. */
const LEAST_TIME = 0.5;
/** Largest size to try: work that takes less than `LEAST_TIME` for it passes. */
const LARGEST_SIZE = 1 << 18;
/** How many times larger the second input of a comparison is. */
const SPAN = 8;
/** Linear work takes 8 times as long for the larger input, quadratic work 64 times. */
const MOST_RATIO = 24;
/** Growth of the time, from one size to the next, that only exponential work has. */
const MOST_STEP = 50;
/**
 * Number of sizes, each twice the one before, of which one must have a low ratio. Linear work has a
 * high one where memory first has to grow; quadratic work has one at every size.
 */
const SIZES = 3;

/**
 * Asserts that work takes less than 24 times as long for 8 times the input.
 *
 * Compares two times of the same machine and never a time with a constant: the size grows until the
 * work takes half a millisecond, and each time is the shortest of several runs.
 *
 * Belongs in a file named `linear_time_test.ts`. The gate runs these files in a process of their own,
 * one after the other, because the CPU time of a process counts all tests that run in parallel in it.
 *
 * @param make Makes an input of the given size; not measured
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
  while (time < LEAST_TIME) {
    if (size >= LARGEST_SIZE) return;
    const before = time;
    size = Math.ceil(size * 1.5);
    time = await shortest(make(size), work, 3);
    const isStep = time > LEAST_TIME && time > MOST_STEP * before;
    assert(!isStep, `${before} ms, then ${time} ms for ${size}`);
  }
  const ratios: number[] = [];
  for (let index = 0; index < SIZES; index++, size *= 2) {
    ratios.push(await ratioAt(size, make, work));
    if (ratios[index]! < MOST_RATIO) return;
  }
  assert(
    false,
    `times for ${SPAN} times the input grew by ${ratios.map((ratio) => ratio.toFixed(1))}, ` +
      `at sizes up to ${size / 2}`,
  );
}

/** The time for the larger size by the time for the size; more rounds where that is not low. */
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
    if (round >= 1 && timeOfLarge < MOST_RATIO * time) break;
  }
  return timeOfLarge / time;
}

/** The shortest time (ms) of several runs of some work, which may throw. */
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
      // Other tests say which error a malformed input gives.
    }
    const { user, system } = process.cpuUsage(cpu);
    // The CPU time leaves out the waiting for a busy machine, the time on the clock other threads.
    least = Math.min(least, performance.now() - start, (user + system) / 1_000);
  }
  return least;
}
