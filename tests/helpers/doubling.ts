import { assert } from "@std/assert";

/** Shortest time (ms) to compare: shorter ones are mostly noise. */
const LEAST_TIME = 2;
/** Largest size to try: work that takes less than `LEAST_TIME` for it passes. */
const LARGEST_SIZE = 1 << 21;
/** Linear work takes twice as long for twice the input; the rest is for noise. */
const MOST_RATIO = 3;
/** Growth of the time, from one size to the next, that only exponential work has. */
const MOST_STEP = 50;
/**
 * Number of sizes, each twice the one before, of which one must have a low ratio. Linear work has a
 * high one where memory first has to grow; quadratic work has one at every size.
 */
const SIZES = 3;

/**
 * Asserts that work takes less than three times as long for twice the input.
 *
 * Compares two times of the same machine and never a time with a constant: the size grows until the
 * work takes a few milliseconds, and each time is the shortest of several runs.
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
    `times grew by ${ratios.map((ratio) => ratio.toFixed(2))} up to size ${size}`,
  );
}

/** The time for twice a size by the time for the size; more rounds where that is not low. */
async function ratioAt<T>(
  size: number,
  make: (size: number) => T,
  work: (input: T) => unknown,
): Promise<number> {
  const [once, twice] = [make(size), make(2 * size)];
  let [time, timeOfTwice] = [Infinity, Infinity];
  for (let round = 0; round < 8; round++) {
    time = Math.min(time, await shortest(once, work, 2));
    timeOfTwice = Math.min(timeOfTwice, await shortest(twice, work, 2));
    if (round >= 2 && timeOfTwice < MOST_RATIO * time) break;
  }
  return timeOfTwice / time;
}

async function shortest<T>(
  input: T,
  work: (input: T) => unknown,
  runs: number,
): Promise<number> {
  let least = Infinity;
  for (let run = 0; run < runs; run++) {
    const start = performance.now();
    try {
      await work(input);
    } catch {
      // Other tests say which error a malformed input gives.
    }
    least = Math.min(least, performance.now() - start);
  }
  return least;
}
