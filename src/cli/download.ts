import { resolve } from "node:path";
import type { Cursor } from "../client/batches.ts";
import { DataStream } from "../client/datastream.ts";
import type { AnyResourceQuery } from "../client/query.ts";
import { DataStreamError, ValidationError } from "../errors.ts";
import type { CsvOptions } from "../formats/csv_options.ts";
import type { FormatName } from "../formats/formats.ts";
import { formatClauses } from "../odata/clause.ts";
import { boundingBox } from "../odata/filter.ts";
import { toMetadataFilter } from "../odata/metadata_filter.ts";
import { parseFilter } from "../odata/parse_filter.ts";
import { isMeasured } from "../odata/query_options.ts";
import { MAXIMUM_TOP, type ResourceName, RESOURCES } from "../odata/resources.ts";
import type { Arguments } from "./arguments.ts";
import { citeDownload } from "./cite.ts";
import { type Context, UsageError } from "./context.ts";
import {
  isStandardOutput,
  openStandardOutput,
  openStream,
  type Output,
  type OutputPath,
  requireReplaceable,
  resolveOutput,
  statIfExists,
} from "./output.ts";
import { type DatasetVersion, describeFinished, pathsOf } from "./part_state.ts";
import { ProgressReport } from "./progress_report.ts";
import {
  type FlagValues,
  readClientOptions,
  readCsvOptions,
  readFormat,
  readQuery,
} from "./query_flags.ts";
import { openFile, type PartOptions } from "./resumable_file.ts";
import { valueHints } from "./value_hints.ts";

/** Downloads the rows of a resource, or counts them. */
export async function download(
  resource: ResourceName,
  { flags }: Arguments,
  context: Context,
): Promise<void> {
  requireCompatibleFlags(flags);
  const [outputFlag = "-"] = flags.get("output") ?? [];
  const file = isStandardOutput(outputFlag) ? undefined : outputFlag;
  const [citePath] = flags.get("cite") ?? [];
  const format = readFormat(resource, flags.get("format")?.[0], file);
  const csv = readCsvOptions(flags);
  const input = readQuery(flags);
  const options = await readClientOptions(flags, context);
  const { signal } = context;
  const client = new DataStream(options);
  let report: ProgressReport | undefined = undefined;
  const query = client.query(resource, {
    ...input,
    signal,
    onProgress: (progress) => report?.update(progress),
  });
  const batchesAfter = (after?: Cursor) => query.batches({ format, csv, after, dois: true });
  // Validates the options of the format before a file is created.
  batchesAfter();
  const printValueHints = () => valueHints(input.filter, flags).forEach(context.printError);

  if (flags.has("count")) {
    const count = await query.count();
    await context.print(`${count}\n`);
    if (count === 0) printValueHints();
    return;
  }
  const target = file === undefined ? undefined : await resolveOutput(file);
  const citeTarget = citePath === undefined ? undefined : await resolveOutput(citePath);
  requireDifferentFiles(target?.path, citeTarget?.path);
  const printCitations = (dois?: readonly string[], whyWithoutDois?: string) => {
    // The rows are complete: a failed request of citations is not worth long retries.
    const impatient = new DataStream({ ...options, retry: { attempts: 2 } });
    const { filter, within } = input;
    const cited = { filter, within, dois, whyWithoutDois, path: citePath, file, flags };
    return citeDownload(impatient, cited, context);
  };
  const finished = flags.has("resume") && target?.isStream === false &&
    await describeFinished(target.path);
  if (finished) {
    context.printError(
      `${file} is ${finished}. To download it again, pass --force instead of --resume`,
    );
    const isCited = citeTarget === undefined ||
      !citeTarget.isStream && await statIfExists(citeTarget.path) !== undefined;
    if (isCited) return;
    return await printCitations(undefined, "the rows of the finished file are not read again");
  }
  if (citeTarget?.isStream === false) {
    await requireReplaceable(citeTarget.path, flags.has("force"));
  }

  const { output, after } = await openOutput(target, {
    fingerprint: fingerprintOf(resource, options.baseUrl, input, format, csv),
    validate: batchesAfter,
    resume: flags.has("resume"),
    force: flags.has("force"),
    requestDatasets: () => requestDatasetVersions(client, input, signal),
  }, context);
  report = new ProgressReport(context, {
    isQuiet: flags.has("quiet"),
    canDraw: file !== undefined || !context.isStdoutTerminal,
    limit: input.limit ?? Infinity,
    after,
  });
  let rows = after?.rows ?? 0;
  let missingRows = 0;
  let dois: readonly string[] | undefined;
  try {
    for await (const page of batchesAfter(after)) {
      await output.write(page);
      ({ totalRows: rows, missingRows, dois } = page);
    }
    report.finish(await output.finish(missingRows), file);
  } catch (error) {
    report.end();
    const part = await output.abandon(rows);
    if (part !== undefined) context.printError(`${part} has ${rows} rows: ${resumeHint(error)}`);
    throw error;
  }

  if (rows > 0) {
    if (citePath !== undefined || isMeasured(resource) && !flags.has("quiet")) {
      await printCitations(dois);
    }
  } else if (input.limit !== 0) {
    if (citePath !== undefined) {
      context.printError(`${citePath} is not written: there is nothing to cite`);
    }
    const isFiltered = input.filter !== undefined || input.within !== undefined;
    context.printError(isFiltered ? "No row matches the filter" : "There are no rows");
    printValueHints();
  }
}

/**
 * Returns the flags that determine the content of the file, as text. The text names the query of a
 * part in messages, and identifies it until its first page is committed. Then the cursor does.
 */
function fingerprintOf(
  resource: ResourceName,
  baseUrl: string | undefined,
  { select, filter, within, limit, partition }: AnyResourceQuery,
  format: FormatName,
  csv: CsvOptions | undefined,
): string {
  return JSON.stringify({
    resource,
    baseUrl,
    select,
    filter,
    within,
    limit,
    partition,
    format,
    csv,
  });
}

/** Rejects flags that need a file, or that exclude each other. */
function requireCompatibleFlags(flags: FlagValues): void {
  const has = (name: string) => flags.has(name);
  if (has("resume") && has("force")) {
    throw new UsageError("--resume continues a part and --force starts again: pass one of them");
  }
  const [cite, output] = ["cite", "output"].map((name) => flags.get(name)?.[0]);
  if (has("resume") && (output === undefined || isStandardOutput(output))) {
    throw new UsageError("--resume continues a file: name it with --output");
  }
  if (has("force") && !has("output") && !has("cite")) {
    throw new UsageError("--force overwrites a file: name it with --output");
  }
  if (cite !== undefined && isStandardOutput(cite) && isStandardOutput(output ?? "-")) {
    throw new UsageError("--cite and the rows cannot both be standard output: name a file for one");
  }
  requireDifferentFiles(output, cite);
  const unused = [
    "output",
    "format",
    "cite",
    "select",
    "limit",
    "top",
    "bom",
    "separator",
    "no-header",
    "escape-formulas",
  ].find(has);
  if (has("count") && unused !== undefined) {
    throw new UsageError(`--count prints only a number: leave --${unused} out`);
  }
}

/** Rejects a file of citations that is the output, or one of the files beside its part. */
function requireDifferentFiles(output: string | undefined, cite: string | undefined): void {
  if (output === undefined || cite === undefined || isStandardOutput(cite)) return;
  if (pathsOf(output).every((path) => resolve(path) !== resolve(cite))) return;
  throw new UsageError("--cite and --output must be two files: choose another name for one");
}

/** Opens the output. Returns the cursor to continue after if a part is resumed. */
async function openOutput(
  target: OutputPath | undefined,
  options: PartOptions,
  context: Context,
): Promise<{ output: Output; after?: Cursor | undefined }> {
  if (target === undefined) return { output: openStandardOutput(context) };
  const { path, isStream } = target;
  if (!isStream) return await openFile(path, options);
  if (!options.resume) return { output: await openStream(path, context) };
  throw new UsageError(`--resume continues a file, and ${path} is a device or a pipe`);
}

/** Returns what to do about a part that an error has left. */
function resumeHint(error: unknown): string {
  return error instanceof DataStreamError && error.kind === "incomplete"
    ? "start again with --force, or accept them with --resume --allow-incomplete"
    : "run the same command with --resume to continue";
}

/**
 * Requests the versions of every dataset that the rows of a query can come from.
 *
 * @param query Query of the download
 * @throws {DataStreamError} If the request fails
 */
async function requestDatasetVersions(
  client: DataStream,
  query: AnyResourceQuery,
  signal: AbortSignal,
): Promise<DatasetVersion[]> {
  const request = (filter: string | undefined) =>
    client.metadata({
      select: ["DOI", "Version", "PublishedTimestamp"],
      filter,
      top: MAXIMUM_TOP,
      signal,
    });
  let datasets;
  try {
    datasets = request(toDatasetFilter(query));
  } catch (error) {
    // The filter fits into a URL of the query, but not into a URL of Metadata.
    if (!(error instanceof ValidationError)) throw error;
    datasets = request(undefined);
  }
  return (await datasets.toArray())
    .map(({ DOI, Version, PublishedTimestamp }) => [
      String(DOI),
      String(Version),
      String(PublishedTimestamp),
    ]);
}

/**
 * Returns the clauses of a query that Metadata can be filtered by. Without the others, more datasets
 * match and none is missing, so a reported change may not concern the rows of the query.
 */
function toDatasetFilter({ filter, within }: AnyResourceQuery): string | undefined {
  const names: readonly string[] = RESOURCES.Metadata.filters;
  const clauses = [...parseIfPossible(filter), ...(within ? boundingBox(within).clauses : [])]
    .filter(({ field }) => names.includes(field));
  return clauses.length === 0 ? undefined : toMetadataFilter(formatClauses(clauses));
}

/** Returns the clauses of a filter; none if it is unchecked and cannot be parsed. */
function parseIfPossible(filter: AnyResourceQuery["filter"]): ReturnType<typeof parseFilter> {
  try {
    return filter === undefined ? [] : parseFilter(String(filter));
  } catch (error) {
    if (error instanceof ValidationError) return [];
    throw error;
  }
}
