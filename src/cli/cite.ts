import {
  type Citation,
  citationsOfDois,
  citationsText,
  toCitedFilter,
} from "../client/citations.ts";
import { DataStream } from "../client/datastream.ts";
import { oneLine } from "../errors.ts";
import { parseFilter } from "../odata/parse_filter.ts";
import { placeBox, type UntypedQuery } from "../odata/query_options.ts";
import type { Arguments } from "./arguments.ts";
import { FILTER_FLAGS, SERVICE_FLAGS } from "./commands.ts";
import { writing } from "./files.ts";
import type { Io } from "./io.ts";
import { valueHints } from "./no_rows.ts";
import { writeText } from "./output.ts";
import { readBox, readFilter, serviceOf } from "./query_flags.ts";
import { flagsText, flagText } from "./shell_command.ts";
import { told, UsageError } from "./usage_error.ts";

/** Prints how to cite the datasets that meet a filter. */
export async function cite({ flags }: Arguments, io: Io): Promise<void> {
  const [format = "txt"] = flags.get("format") ?? [];
  if (format !== "txt" && format !== "json") {
    throw new UsageError(`Citations are txt or json, got "${format}"`);
  }
  const { filter } = told(() => placeBox("Metadata", readFilter(flags), readBox(flags)));
  const options = await serviceOf(flags, io);
  const client = told(() => {
    const client = new DataStream(options);
    // Both throw for a wrong filter; only the first knows that citations have no --unchecked.
    if (filter !== undefined) toCitedFilter(filter);
    client.metadata({ filter });
    return client;
  });
  const citations = await client.citations(filter, { signal: io.signal });
  await io.print(
    format === "json" ? `${JSON.stringify(citations, null, 2)}\n` : citationsText(citations),
  );
  if (citations.length > 0 || filter === undefined) return;
  for (const line of valueHints(parseFilter(filter), flags)) io.error(line);
}

/** Maximum number of citations on standard error: a download of everything has hundreds. */
const MAX_SHOWN = 3;
/** Maximum number of DOIs in a command that is printed. */
const MAX_TYPED = 6;

/** A download that is to be cited. */
interface Cited {
  /** What was asked for. */
  query: UntypedQuery;
  /** DOIs of the rows; undefined if the output has no column of them. */
  dois: readonly string[] | undefined;
  /** Why the DOIs are unknown. Default: the output has no column of them. */
  whyWithoutDois?: string | undefined;
  /** File for the citations; undefined is standard error. */
  path: string | undefined;
  /** File with the rows; undefined is standard output. */
  file: string | undefined;
  flags: Arguments["flags"];
}

/**
 * Writes the citations of a download to a file, or the first of them to standard error. Use of the data
 * requires them.
 *
 * @throws {Error} If a file was named for them, and they could not be requested or written
 */
export async function citeAfter(client: DataStream, cited: Cited, io: Io): Promise<void> {
  const { dois, path, file = "The output", flags } = cited;
  const { whyWithoutDois = "DOI is not a column of the output" } = cited;
  const reason = `it has all datasets that match the filter, because ${whyWithoutDois}`;
  let citations: Citation[];
  try {
    citations = dois === undefined
      ? await client.citations(citedFilterOf(cited.query), { signal: io.signal })
      : await citationsOfDois(client, dois, io.signal);
    if (path !== undefined) await writing(path, writeText(path, citationsText(citations), io));
  } catch (error) {
    if (io.signal.aborted) throw error;
    // The rows are complete all the same.
    const message = `${file} is whole, but not its citations (${oneLine(error)}). ` +
      `To print them: ${citeCommand(cited)}`;
    if (path !== undefined) throw new Error(message);
    return io.error(message);
  }
  const missing = (dois ?? []).filter((doi) => citations.every((found) => found.doi !== doi));
  if (missing.length > 0) io.error(`The service has no citation of ${firstOf(missing)}`);
  const isLong = dois === undefined && !flags.has("quiet");
  if (path !== undefined) {
    return isLong ? io.error(`${path} may have too many citations: ${reason}`) : undefined;
  }
  io.error("Use of this data requires citing it:");
  const text = citationsText(citations.slice(0, MAX_SHOWN));
  for (const line of text.trimEnd().split("\n")) io.error(line);
  const others = citations.length - MAX_SHOWN;
  if (others > 0) io.error(`${others} more. To print all: ${citeCommand(cited)}`);
  if (isLong) io.error(`The list may be too long: ${reason}`);
}

function firstOf(dois: readonly string[]): string {
  const others = dois.length - MAX_SHOWN;
  return dois.slice(0, MAX_SHOWN).join(", ") + (others > 0 ? ` and ${others} more` : "");
}

/** Returns the filter of a query as Metadata takes it. */
function citedFilterOf({ filter, within }: UntypedQuery): string | undefined {
  return placeBox("Metadata", filter === undefined ? undefined : String(filter), within).filter;
}

/**
 * Returns the command that prints the citations of a download: by their DOIs if they are few, else by
 * the filter, which may match more datasets than a limited download has.
 */
function citeCommand({ query, dois, flags }: Cited): string {
  const isTyped = dois !== undefined && (dois.length <= MAX_TYPED || !canCite(query));
  const filter = isTyped
    ? dois.map((doi) => flagText("doi", doi)).join("")
    : flagsText(flags, Object.keys(FILTER_FLAGS));
  return `weir cite${filter}${flagsText(flags, Object.keys(SERVICE_FLAGS))}`;
}

/** Whether `weir cite` takes the filter of a query. */
function canCite(query: UntypedQuery): boolean {
  try {
    const filter = citedFilterOf(query);
    if (filter !== undefined) toCitedFilter(filter);
    return true;
  } catch {
    return false;
  }
}
