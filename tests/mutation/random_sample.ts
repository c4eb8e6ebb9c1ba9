import { Random } from "../properties/random.ts";

/** Returns a random sample without repetition, the same for the same seed. */
export function randomSample<T>(items: readonly T[], count: number, seed: number): T[] {
  const left = [...items];
  const random = new Random(seed);
  const chosen: T[] = [];
  while (chosen.length < count && left.length > 0) {
    const index = random.int(0, left.length - 1);
    chosen.push(left[index]!);
    left[index] = left.at(-1)!;
    left.pop();
  }
  return chosen;
}
