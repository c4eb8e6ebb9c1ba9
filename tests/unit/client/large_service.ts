import { parseFilter } from "../../../src/odata/parse_filter.ts";

/**
 * Creates a service of observations with only an Id and a LocationId, with more rows than the sandbox could generate
 * quickly.
 *
 * The first location has a third of the rows, and 1 % of the rows have no year by default. The service supports
 * only the filters by which the client splits a query.
 *
 * @param unlocated Number of rows without a location. Default: none
 */
export function largeService(
  rows: number,
  locations: number,
  hasUndated = true,
  unlocated = 0,
): { fetch(request: Request): Promise<Response> } {
  const locationOf = new Uint16Array(rows);
  for (let row = 0; row < rows; row++) {
    // A product with a prime distributes consecutive rows over the locations.
    locationOf[row] = row % 3 === 0 ? 0 : 1 + (row * 7919 >>> 2) % (locations - 1);
  }
  const yearOf = (row: number) => hasUndated && row % 100 === 99 ? NaN : 2000 + row % 23;
  const idOf = (location: number) => 1001 + 7 * location;
  const locationIdOf = (row: number) => row < rows - unlocated ? idOf(locationOf[row]!) : null;

  function createMatcher(filter: string | undefined): (row: number) => boolean {
    const tests = (filter === undefined ? [] : parseFilter(filter)).map(
      ({ field, operator, values }) => {
        const operands = new Set(values.map(({ text }) => Number(text)));
        const [first] = operands as Iterable<number> as [number];
        const valueOf = field === "ActivityStartYear"
          ? yearOf
          : (row: number) => locationIdOf(row) ?? NaN;
        return (row: number) => {
          const value = valueOf(row);
          if (operator === "in") return operands.has(value);
          if (operator === "lt") return value < first;
          return operator === "gte" ? value >= first : value > first;
        };
      },
    );
    return (row) => tests.every((test) => test(row));
  }

  function respond({ url }: Request): unknown {
    const { pathname, searchParams, origin } = new URL(url);
    const filter = searchParams.get("$filter") ?? undefined;
    if (pathname.endsWith("/Metadata")) return { value: [] };
    if (pathname.endsWith("/Locations")) {
      // Locations with an odd Id are inside the box.
      const ids = Array.from({ length: locations }, (_, location) => ({ Id: idOf(location) }));
      return { value: filter?.includes("Latitude") ? ids.filter(({ Id }) => Id % 2 === 1) : ids };
    }
    const matches = createMatcher(filter);
    if (searchParams.get("$count") === "true") {
      let count = 0;
      for (let row = 0; row < rows; row++) if (matches(row)) count++;
      return { value: String(count) };
    }
    const value: { Id: number; LocationId: number | null }[] = [];
    const top = Number(searchParams.get("$top"));
    const after = Number(/\d+/.exec(searchParams.get("$skiptoken") ?? "0")![0]);
    for (let row = after; row < rows; row++) {
      if (!matches(row)) continue;
      if (value.length === top) {
        const token = `$skiptoken=Id:${value.at(-1)!.Id}&$top=${top}`;
        return { value, "@odata.nextLink": `${origin}${pathname}?${token}` };
      }
      value.push({ Id: row + 1, LocationId: locationIdOf(row) });
    }
    return { value };
  }

  // deno-lint-ignore require-await -- fetch() rejects instead of throwing
  return { fetch: async (request) => Response.json(respond(request)) };
}
