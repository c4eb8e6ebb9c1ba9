/** The shape of the sandbox's data: how its records are spread over its locations. */
export interface World {
  /** How many records there are. */
  records: number;
  /** How many locations there are. */
  locations: number;
}

/** Where a record belongs. */
interface Place {
  /** The location's index. */
  location: number;
  /** Which of the location's records it is, counted from 0. */
  ordinal: number;
}

/**
 * Records come in rounds: the first location takes a third of each, the others take one record
 * each. A skew like that is what a client that splits by location must cope with.
 */
function firstShare({ locations }: World): number {
  return locations === 1 ? 1 : Math.ceil((locations - 1) / 2);
}

/** How many records a round has. */
export function roundLength(world: World): number {
  return firstShare(world) + world.locations - 1;
}

/** The places that a location has in each round, first and past the last. */
export function slotsOf(world: World, location: number): [first: number, end: number] {
  const share = firstShare(world);
  return location === 0 ? [0, share] : [share + location - 1, share + location];
}

/** Where the record with that index belongs. */
export function placeOf(world: World, index: number): Place {
  const share = firstShare(world);
  const round = Math.floor(index / roundLength(world));
  const slot = index % roundLength(world);
  return slot < share
    ? { location: 0, ordinal: round * share + slot }
    : { location: slot - share + 1, ordinal: round };
}

/** How many records a location has. */
export function recordsAt(world: World, location: number): number {
  const [first, end] = slotsOf(world, location);
  const rounds = Math.floor(world.records / roundLength(world));
  const rest = world.records % roundLength(world);
  return rounds * (end - first) + Math.min(Math.max(rest - first, 0), end - first);
}

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
