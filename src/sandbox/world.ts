// The distribution of the sandbox's records over its locations.

/** Size and kind of the sandbox's data. */
export interface World {
  /** Number of records. */
  records: number;
  /** Number of locations. */
  locations: number;
  /** Whether names and comments have characters that programs treat specially. */
  hostileNames: boolean;
}

/**
 * Returns the number of records of the first location in a round.
 *
 * Records are distributed in rounds. In each round, the first location has a third of the records and every
 * other location has one. A client that splits a query by location must therefore handle uneven shards.
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
