import { parseFilter } from "../../src/odata/parse_filter.ts";

/** A service of so many rows that the sandbox would take long to write them. */
export interface LargeService {
  /** Every request so far, its path and query decoded. */
  readonly asked: string[];
  /** The count of each request that asked for one. */
  readonly counts: number[];
  fetch(request: Request): Promise<Response>;
}

/**
 * Observations with an Id and a LocationId alone, the first location with a third of all rows, one
 * row in a hundred without a year. It knows the filters that a client splits by, and no others.
 */
export function largeService(rows: number, locations: number): LargeService {
  const asked: string[] = [];
  const counts: number[] = [];
  const locationOf = new Uint16Array(rows);
  for (let row = 0; row < rows; row++) {
    // Multiplied by a prime and cut, so that neighbours are far apart.
    locationOf[row] = row % 3 === 0 ? 0 : 1 + (row * 7919 >>> 2) % (locations - 1);
  }
  const yearOf = (row: number) => row % 100 === 99 ? NaN : 2000 + row % 23;
  const idOf = (location: number) => 1001 + 7 * location;

  function matching(filter: string | undefined): (row: number) => boolean {
    const tests = parseFilter(filter ?? "LocationId gt 0").map(({ field, operator, values }) => {
      const wanted = values.map(({ text }) => Number(text));
      const set = new Set(wanted);
      const holds: Record<string, (value: number) => boolean> = {
        gt: (value) => value > wanted[0]!,
        gte: (value) => value >= wanted[0]!,
        lt: (value) => value < wanted[0]!,
        in: (value) => set.has(value),
      };
      const test = holds[operator]!;
      if (field === "ActivityStartYear") return (row: number) => test(yearOf(row));
      const held = Uint8Array.from({ length: locations }, (_, index) => test(idOf(index)) ? 1 : 0);
      return (row: number) => held[locationOf[row]!] === 1;
    });
    return (row) => tests.every((test) => test(row));
  }

  function answer({ url }: Request): unknown {
    const { pathname, search, origin } = new URL(url);
    const options = new URLSearchParams(search);
    asked.push(decodeURIComponent(pathname + search).replace("/v1/odata/v4", ""));
    const filter = options.get("$filter") ?? undefined;
    if (pathname.endsWith("/Metadata")) {
      return {
        value: [{ TemporalExtent: ["2003-02-01", "2020-12-31"] }, { TemporalExtent: null }],
      };
    }
    if (pathname.endsWith("/Locations")) {
      // Those on an odd place lie in the box.
      const ids = Array.from({ length: locations }, (_, index) => ({ Id: idOf(index) }));
      return { value: filter?.includes("Latitude") ? ids.filter(({ Id }) => Id % 2 === 1) : ids };
    }
    const meets = matching(filter);
    if (options.get("$count") === "true") {
      let count = 0;
      for (let row = 0; row < rows; row++) if (meets(row)) count++;
      counts.push(count);
      return { value: String(count) };
    }
    const value: { Id: number; LocationId: number }[] = [];
    const top = Number(options.get("$top"));
    const after = Number(/\d+/.exec(options.get("$skiptoken") ?? "0")![0]);
    for (let row = after; row < rows; row++) {
      if (!meets(row)) continue;
      if (value.length === top) {
        const token = `$skiptoken=Id:${value.at(-1)!.Id}&$top=${top}`;
        return { value, "@odata.nextLink": `${origin}${pathname}?${token}` };
      }
      value.push({ Id: row + 1, LocationId: idOf(locationOf[row]!) });
    }
    return { value };
  }

  // deno-lint-ignore require-await -- a rejection, as fetch gives it, not a throw
  return { asked, counts, fetch: async (request) => Response.json(answer(request)) };
}
