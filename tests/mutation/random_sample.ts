/**
 * Returns a random sample without repetition, the same for the same seed.
 *
 * @param items Items to choose from
 * @param count Maximum number of items to return
 * @param seed Integer from 0 to 2³² − 1
 */
export function randomSample<T>(items: readonly T[], count: number, seed: number): T[] {
  const left = [...items];
  const random = mulberry32(seed);
  const chosen: T[] = [];
  while (chosen.length < count && left.length > 0) {
    const index = Math.floor(random() * left.length);
    chosen.push(left[index]!);
    left[index] = left.at(-1)!;
    left.pop();
  }
  return chosen;
}

/** Creates a generator of random numbers from 0 to 1 (Mulberry32, Tommy Ettinger, public domain). */
function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = state + 0x6d2b79f5 >>> 0;
    let mixed = Math.imul(state ^ state >>> 15, state | 1);
    mixed ^= mixed + Math.imul(mixed ^ mixed >>> 7, mixed | 61);
    return ((mixed ^ mixed >>> 14) >>> 0) / 2 ** 32;
  };
}
