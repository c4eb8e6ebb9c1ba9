export interface World {
  records: number;
  locations: number;
  /** Names and comments have characters that programs treat specially. */
  hostileNames: boolean;
}

/** The first location has a third of each round, so that shards of a query are uneven. */
function firstShare({ locations }: World): number {
  return locations === 1 ? 1 : Math.ceil((locations - 1) / 2);
}

export function roundLength(world: World): number {
  return firstShare(world) + world.locations - 1;
}

/** Positions in a round: the first, and the one after the last. */
export function slotsOf(world: World, location: number): [first: number, end: number] {
  const share = firstShare(world);
  return location === 0 ? [0, share] : [share + location - 1, share + location];
}

interface Place {
  location: number;
  /** Among the records of the location. */
  ordinal: number;
}

export function placeOf(world: World, index: number): Place {
  const share = firstShare(world);
  const round = Math.floor(index / roundLength(world));
  const slot = index % roundLength(world);
  return slot < share
    ? { location: 0, ordinal: round * share + slot }
    : { location: slot - share + 1, ordinal: round };
}

export function recordsAt(world: World, location: number): number {
  const [first, end] = slotsOf(world, location);
  const rounds = Math.floor(world.records / roundLength(world));
  const rest = world.records % roundLength(world);
  return rounds * (end - first) + Math.min(Math.max(rest - first, 0), end - first);
}
