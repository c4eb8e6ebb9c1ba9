// How the sandbox's records are distributed over its locations, and the pseudorandom numbers of its
// data.

/** Size of the sandbox's data. */
export interface World {
  /** Number of records. */
  records: number;
  /** Number of locations. */
  locations: number;
}

/**
 * Returns the number of records of the first location in a round.
 *
 * Records are distributed in rounds. In each round, the first location has a third of the records and every
 * other location has one: a client that splits a query by location must handle uneven shards.
 */
function firstShare({ locations }: World): number {
  return locations === 1 ? 1 : Math.ceil((locations - 1) / 2);
}

/** Returns the number of records in a round. */
export function roundLength(world: World): number {
  return firstShare(world) + world.locations - 1;
}

/** Returns the positions of a location's records in each round: the first, and the one after the last. */
export function slotsOf(world: World, location: number): [first: number, end: number] {
  const share = firstShare(world);
  return location === 0 ? [0, share] : [share + location - 1, share + location];
}

/** Position of a record in the data. */
interface Place {
  /** Index of the location. */
  location: number;
  /** Index among the records of the location. */
  ordinal: number;
}

/** Returns the location of the record with an index. */
export function placeOf(world: World, index: number): Place {
  const share = firstShare(world);
  const round = Math.floor(index / roundLength(world));
  const slot = index % roundLength(world);
  return slot < share
    ? { location: 0, ordinal: round * share + slot }
    : { location: slot - share + 1, ordinal: round };
}

/** Returns the number of records of a location. */
export function recordsAt(world: World, location: number): number {
  const [first, end] = slotsOf(world, location);
  const rounds = Math.floor(world.records / roundLength(world));
  const rest = world.records % roundLength(world);
  return rounds * (end - first) + Math.min(Math.max(rest - first, 0), end - first);
}

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
