// The command values: the known values of a field, or those that occur in rows, with their numbers.
import { DataStream } from "../client/datastream.ts";
import type { ResourceName } from "../odata/resources.ts";
import { KNOWN_VALUES } from "../odata/value_hints.ts";
import type { Arguments } from "./arguments.ts";
import { CommandError, type Context, UsageError } from "./context.ts";
import { readBox, readClientOptions, readFilter, VALUE_FIELDS } from "./flags.ts";

/** Number of rows above which the values that occur are read only with --yes. */
const MAX_UNCONFIRMED = 100_000;
/** Number of rows per request. */
const PAGE_SIZE = 10_000;
/** Estimated time (s) of a request. */
const SECONDS_PER_REQUEST = 1;

/** Prints the values of a field, one per line; in a second column their names or numbers of rows. */
export async function printValues({ operand, flags }: Arguments, context: Context): Promise<void> {
  const field = Object.hasOwn(VALUE_FIELDS, operand!) ? VALUE_FIELDS[operand!] : undefined;
  if (field === undefined) {
    throw new UsageError(
      `Unknown field "${operand}": use one of ${Object.keys(VALUE_FIELDS).join(", ")}`,
    );
  }
  const wanted = (flags.get("search")?.[0] ?? "").toLowerCase();
  const values = flags.has("live")
    ? await readLive(field, operand!, { flags, context })
    : listKnown(field, operand!);
  const found = values.filter((columns) => columns.join(" ").toLowerCase().includes(wanted));
  await context.print(found.map((columns) => `${columns.join("\t")}\n`).join(""));
  if (found.length === 0) context.printError(`No value contains "${wanted}"`);
}

/** Returns the known values of a field, regions with their names. */
function listKnown(field: string, operand: string): readonly (readonly string[])[] {
  const values = KNOWN_VALUES[field];
  if (values !== undefined) return values;
  throw new UsageError(`The values of ${operand} are known only with --live`);
}

/** Reads all matching rows with one field, and counts its values, the most frequent first. */
async function readLive(
  field: string,
  operand: string,
  { flags, context }: { flags: Arguments["flags"]; context: Context },
): Promise<readonly (readonly string[])[]> {
  if (field === "RegionId") {
    throw new UsageError(`No row has a ${operand}: --live is for the other fields`);
  }
  const client = new DataStream(await readClientOptions(flags, context));
  const { signal } = context;
  const resource: ResourceName = field === "MonitoringLocationType" ? "Locations" : "Observations";
  const options = { filter: readFilter(flags), within: readBox(flags), signal };
  const rows = await client.query(resource, options).count();
  const requests = Math.ceil(rows / PAGE_SIZE);
  const minutes = Math.ceil(requests * SECONDS_PER_REQUEST / 60);
  const effort = `${rows} rows of ${resource} in ${requests} requests, about ${minutes} min`;
  if (rows > MAX_UNCONFIRMED && !flags.has("yes")) {
    throw new CommandError(`weir would read ${effort}: pass --yes, or filters for fewer rows`);
  }
  context.printError(`Reading ${effort}`);
  const counts = new Map<string, number>();
  for await (const row of client.query(resource, { ...options, select: [field] })) {
    const value = row[field];
    if (value !== null && value !== undefined) {
      counts.set(String(value), (counts.get(String(value)) ?? 0) + 1);
    }
  }
  return [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .map(([value, count]) => [value, String(count)]);
}
