/** From 0 to 1 (exclusive). Depends only on seed and salt, so that rows need not be stored. */
export function noise(seed: number, salt: number): number {
  let hash = Math.imul(seed ^ Math.imul(salt + 1, 0x9e3779b1), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}

export function pick<T>(items: readonly T[], seed: number, salt: number): T {
  return items[Math.floor(noise(seed, salt) * items.length)]!;
}
