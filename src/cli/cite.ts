import { DataStream } from "../client/datastream.ts";
import { explainNoRows } from "../client/no_rows.ts";
import type { AnyResourceQuery } from "../client/query.ts";
import { type Citation, citationsText } from "../formats/citations.ts";
import { clausesOf } from "../odata/query_options.ts";
import { RESOURCES } from "../odata/resources.ts";
import { type Arguments, formatFlag, formatFlags } from "./arguments.ts";
import { type Context, UsageError } from "./context.ts";
import { explainingErrors, FileError, writeText } from "./output.ts";
import {
  CITATION_FORMATS,
  FILTER_FLAGS,
  type FlagValues,
  messageOf,
  readBox,
  readClientOptions,
  readFilter,
  SERVICE_FLAGS,
} from "./flags.ts";
import { noRowsLines } from "./value_hints.ts";

/** Prints the citations of the datasets that match a filter. */
export async function cite({ flags }: Arguments, context: Context): Promise<void> {
  const [format = CITATION_FORMATS[0]!] = flags.get("format") ?? [];
  if (!CITATION_FORMATS.includes(format)) {
    throw new UsageError(
      `--format must be ${CITATION_FORMATS.join(" or ")} for citations, got "${format}"`,
    );
  }
  const filter = readFilter(flags);
  const within = readBox(flags);
  const client = new DataStream(await readClientOptions(flags, context));
  const { signal } = context;
  const citations = await client.citations(filter, { within, signal });
  await context.print(
    format === "json" ? `${JSON.stringify(citations, null, 2)}\n` : citationsText(citations),
  );
  if (citations.length > 0) return;
  const reasons = await explainNoRows(client, "Metadata", { filter, within, signal });
  noRowsLines(reasons, filter, flags).forEach(context.printError);
}

/** Maximum number of citations on standard error. A download of all datasets has hundreds. */
const MAX_PRINTED = 3;
/** Maximum number of DOIs in a suggested command. */
const MAX_SUGGESTED_DOIS = 6;

/** A finished download. */
interface CitedDownload {
  /** Filter of the rows. */
  filter: string | undefined;
  /** Bounding box of the rows. */
  within: AnyResourceQuery["within"];
  /** DOIs of the rows; `undefined` if they are unknown. */
  dois: readonly string[] | undefined;
  /** File for the citations; `undefined` for standard error. */
  path: string | undefined;
  /** File with the rows; `undefined` for standard output. */
  file: string | undefined;
  flags: FlagValues;
}

/**
 * Writes the citations of a download to a file, or the first few to standard error. The licences of
 * the datasets require citing them.
 *
 * @throws {FileError} If the citations are for a file, and cannot be requested or written
 */
export async function citeDownload(
  client: DataStream,
  download: CitedDownload,
  context: Context,
): Promise<void> {
  const { filter, within, dois, path, file = "The output", flags } = download;
  let citations: Citation[];
  try {
    const { signal } = context;
    citations = dois === undefined
      ? await client.citations(filter, { within, signal })
      : await client.citations(undefined, { dois, signal });
    if (path !== undefined) {
      await explainingErrors(path, writeText(path, citationsText(citations), context));
    }
  } catch (error) {
    if (context.signal.aborted) throw error;
    const message = `${file} is complete, but its citations are not (${messageOf(error)}). ` +
      `To print them: ${citeCommand(download)}`;
    if (path !== undefined) throw new FileError(message, { cause: error });
    return context.printError(message);
  }
  const missing = (dois ?? []).filter((doi) => citations.every((found) => found.doi !== doi));
  if (missing.length > 0) {
    context.printError(`DataStream has no citation of ${formatDois(missing)}`);
  }
  const mayHaveOthers = dois === undefined && !flags.has("quiet");
  const reason =
    "all datasets that match the filter are included, because DOI is not a column of the output";
  if (path !== undefined) {
    if (mayHaveOthers) context.printError(`${path} may have unneeded citations: ${reason}`);
    return;
  }
  context.printError("Use of this data requires citing it:");
  const text = citationsText(citations.slice(0, MAX_PRINTED));
  text.trimEnd().split("\n").forEach(context.printError);
  const others = citations.length - MAX_PRINTED;
  if (others > 0) {
    context.printError(`${others} more. To print all: ${citeCommand(download)}`);
  }
  if (mayHaveOthers) context.printError(`The list may have unneeded citations: ${reason}`);
}

function formatDois(dois: readonly string[]): string {
  const others = dois.length - MAX_PRINTED;
  return dois.slice(0, MAX_PRINTED).join(", ") + (others > 0 ? ` and ${others} more` : "");
}

/**
 * Returns the command that prints the citations of a download. It has `--doi` if there are few DOIs, else the
 * flags of the filter, which may match more datasets than the download has.
 */
function citeCommand(download: CitedDownload): string {
  const { dois, flags } = download;
  const usesDois = dois !== undefined &&
    (dois.length <= MAX_SUGGESTED_DOIS || !canCite(download.filter));
  const filter = usesDois
    ? dois.map((doi) => formatFlag("doi", doi)).join("")
    : formatFlags(flags, Object.keys(FILTER_FLAGS));
  return `weir cite${filter}${formatFlags(flags, Object.keys(SERVICE_FLAGS))}`;
}

/** Whether `weir cite`, which has no flag `--unchecked`, accepts the filter of a download. */
function canCite(filter: CitedDownload["filter"]): boolean {
  const names: readonly string[] = RESOURCES.Metadata.filters;
  const clauses = clausesOf(filter);
  // A filter that cannot be parsed has no clauses.
  return (filter === undefined || clauses.length > 0) &&
    clauses.every(({ field }) => names.includes(field));
}
