/**
 * A number in [0, 1) that is the same for the same seed and salt, and looks like chance otherwise:
 * rows are computed from their number, so that no row needs to be kept.
 */
export function noise(seed: number, salt: number): number {
  let hash = Math.imul(seed ^ Math.imul(salt + 1, 0x9e3779b1), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}

/** One of the items, the same for the same seed and salt. */
export function pick<T>(items: readonly T[], seed: number, salt: number): T {
  return items[Math.floor(noise(seed, salt) * items.length)]!;
}
