import type { Progress } from "../client/query.ts";
import { MAXIMUM_TOP, type ResourceName } from "../odata/resources.ts";
import { KNOWN_VALUES, searchValues } from "../odata/value_hints.ts";
import type { Arguments } from "./arguments.ts";
import { CommandError, type Context, UsageError } from "./context.ts";
import { countText, noteLines } from "./progress_report.ts";
import { FILTER_FLAGS, VALUE_FIELDS } from "./flags.ts";
import { type CommandQuery, printReasons, readCommandQuery } from "./command_query.ts";

/** Rows that are read without --yes. */
export const MAX_UNCONFIRMED = 100_000;

/** Prints how long it takes to read all rows of a query, and asks if they are many. */
export async function confirmReading(
  { resource, client, input, flags, context }: CommandQuery,
): Promise<void> {
  const rows = await client.query<ResourceName>(resource, input).count();
  const mustAsk = rows > MAX_UNCONFIRMED && !flags.has("yes");
  if (mustAsk || !flags.has("quiet")) context.printError(estimateReading(rows, resource));
  if (mustAsk && !await context.confirm("Continue? (y/N) ")) {
    throw new CommandError("Not read: pass --yes, or filters for fewer rows");
  }
}

/** Without the requests for names and for retries. A request takes about a second. */
function estimateReading(rows: number, resource: ResourceName): string {
  const requests = Math.max(1, Math.ceil(rows / MAXIMUM_TOP));
  const time = requests < 60 ? `${requests} s` : `${Math.ceil(requests / 60)} min`;
  return `Reading ${countText(rows)} of ${resource}: ${
    countText(requests, "request")
  }, about ${time}`;
}

/** One per line; in a second column their names or numbers of rows. */
export async function printValues({ operand, flags }: Arguments, context: Context): Promise<void> {
  const field = VALUE_FIELDS[operand!] ?? operand!;
  const [wanted] = flags.get("search") ?? [];
  const all = flags.has("live")
    ? await readLive(field, operand!, flags, context)
    : listKnown(field, operand!, flags);
  const columnsOf = new Map(all.map((columns) => [columns[0]!, columns]));
  const values = [...columnsOf.keys()];
  const found = wanted === undefined ? values : searchValues(field, wanted, values);
  // The most frequent one stays first.
  const printed = flags.has("live") ? values.filter((value) => found.includes(value)) : found;
  await context.print(printed.map((value) => `${columnsOf.get(value)!.join("\t")}\n`).join(""));
  if (found.length === 0 && wanted !== undefined) {
    context.printError(`No value is similar to "${wanted}"`);
  }
}

function listKnown(
  field: string,
  operand: string,
  flags: Arguments["flags"],
): readonly (readonly string[])[] {
  const filter = Object.keys(FILTER_FLAGS).find((name) => flags.has(name));
  if (filter !== undefined) {
    throw new UsageError(`--${filter} needs --live, which reads the values of rows`);
  }
  const values = KNOWN_VALUES[field];
  if (values !== undefined) return values;
  throw new UsageError(`The values of ${operand} are known only with --live`);
}

/** The most frequent first. */
async function readLive(
  field: string,
  operand: string,
  flags: Arguments["flags"],
  context: Context,
): Promise<readonly (readonly string[])[]> {
  if (field === "RegionId") {
    throw new UsageError(`No row has a ${operand}: --live is for the other fields`);
  }
  const resource = field === "MonitoringLocationType" ? "Locations" : "Observations";
  const query = await readCommandQuery(resource, flags, context);
  const { client, input } = query;
  let notes: Parameters<typeof noteLines>[0];
  await confirmReading(query);
  const counts = new Map<string, number>();
  const onProgress = (progress: Progress) => void (notes = progress.notes);
  for await (
    const row of client.query<ResourceName>(resource, { ...input, select: [field], onProgress })
  ) {
    const value = row[field];
    if (value !== null && value !== undefined) {
      counts.set(String(value), (counts.get(String(value)) ?? 0) + 1);
    }
  }
  noteLines(notes).forEach(context.printError);
  await printReasons(query, counts.size, { [field]: [...counts.keys()] });
  return [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .map(([value, count]) => [value, String(count)]);
}
