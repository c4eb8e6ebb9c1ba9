// Pseudorandom numbers, from which the sandbox computes its data.

/**
 * Returns a pseudorandom number from 0 (inclusive) to 1 (exclusive) that depends only on seed and salt.
 * Rows are computed from their index, so that no row is stored.
 */
export function noise(seed: number, salt: number): number {
  let hash = Math.imul(seed ^ Math.imul(salt + 1, 0x9e3779b1), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}

/** Returns a pseudorandom item that depends only on seed and salt. */
export function pick<T>(items: readonly T[], seed: number, salt: number): T {
  return items[Math.floor(noise(seed, salt) * items.length)]!;
}
