import { utf8Encoder } from "../bytes.ts";
import { type Citation, CITATION_FORMATS, citationsText } from "../formats/citations.ts";
import { type Arguments, formatFlags } from "./arguments.ts";
import { CommandError, type Context } from "./context.ts";
import { ClosedPipe, explainingErrors, writeContent } from "../files/output.ts";
import { FILTER_FLAGS, type FlagValues, hasDays, messageOf, SERVICE_FLAGS } from "./flags.ts";
import { type CommandQuery, printReasons, readCommandQuery } from "./command_query.ts";

export async function cite({ flags }: Arguments, context: Context): Promise<void> {
  const [name = "text"] = flags.get("format") ?? [];
  const { format } = CITATION_FORMATS[name as keyof typeof CITATION_FORMATS];
  const query = await readCommandQuery("Metadata", flags, context);
  const { filter, within, signal } = query.input;
  const citations = await query.client.citations(filter, { within, signal });
  await context.print(format(citations));
  if (hasDays(flags)) {
    context.printError(
      "The citations are of whole years, because DataStream cannot select datasets by day",
    );
  }
  const input = { ...query.input, from: undefined, to: undefined };
  const found = { DOI: citations.map(({ doi }) => doi) };
  await printReasons({ ...query, input }, citations.length, found);
}

/** Citations on standard error. A download of all datasets has hundreds. */
const MAX_PRINTED = 3;
const MAX_SUGGESTED_DOIS = 6;

interface CitedQuery extends CommandQuery {
  /** File of the rows; `undefined` for standard output. */
  file: string | undefined;
}

/**
 * The licences of the datasets require citing them. Without `--cite`, prints the first few.
 *
 * @param dois DOIs of the rows; `undefined` if the rows have no DOI
 */
export async function citeDownload(
  { client, input: { filter, within, signal }, flags, context, file = "The output" }: CitedQuery,
  dois: readonly string[] | undefined,
): Promise<void> {
  const [path] = flags.get("cite") ?? [];
  let citations: Citation[];
  try {
    // Few attempts, because the rows are complete and the citations can be requested later.
    citations = await client.with({ retry: { attempts: 2 } })
      .citations(dois ? undefined : filter, dois ? { dois, signal } : { within, signal });
    if (path !== undefined) {
      const { format } = Object.values(CITATION_FORMATS)
        .find(({ extension }) => path.toLowerCase().endsWith(`.${extension}`)) ??
        CITATION_FORMATS.text;
      await explainingErrors(
        path,
        writeContent(path, utf8Encoder.encode(format(citations)), context),
      );
    }
  } catch (error) {
    if (context.signal.aborted || error instanceof ClosedPipe) throw error;
    const message = `${file} is complete, but its citations are not (${messageOf(error)}). ` +
      `To print them: ${citeCommand(dois, flags)}`;
    if (path !== undefined) throw new CommandError(message, { cause: error });
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
    context.printError(`${others} more. To print all: ${citeCommand(dois, flags)}`);
  }
  if (mayHaveOthers) context.printError(`The list may have unneeded citations: ${reason}`);
}

function formatDois(dois: readonly string[]): string {
  const others = dois.length - MAX_PRINTED;
  return dois.slice(0, MAX_PRINTED).join(", ") + (others > 0 ? ` and ${others} more` : "");
}

/** With few DOIs `--doi`, else the filter, which may match more datasets. */
function citeCommand(dois: readonly string[] | undefined, flags: FlagValues): string {
  // `weir cite` has no flag `--unchecked`.
  const usesDois = dois !== undefined &&
    (dois.length <= MAX_SUGGESTED_DOIS || flags.has("unchecked"));
  const filter = usesDois
    ? formatFlags(new Map([["doi", dois]]), ["doi"])
    : formatFlags(flags, Object.keys(FILTER_FLAGS));
  return `weir cite${filter}${formatFlags(flags, Object.keys(SERVICE_FLAGS))}`;
}
