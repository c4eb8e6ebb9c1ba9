import { resolve } from "node:path";
import type { Cursor } from "../client/batches.ts";
import { requestDatasetVersions } from "../client/dataset_versions.ts";
import { DataStream } from "../client/datastream.ts";
import {
  comparedFields,
  explainNoRows,
  type NoRowsReason,
  unmatchedValues,
} from "../client/no_rows.ts";
import type { AnyResourceQuery } from "../client/query.ts";
import { DataStreamError } from "../errors.ts";
import type { CsvOptions } from "../formats/csv.ts";
import type { FormatName } from "../formats/formats.ts";
import { toWiderMetadataFilter } from "../odata/dataset_filter.ts";
import { fieldNames, isMeasured, type ResourceName } from "../odata/resources.ts";
import type { Arguments } from "./arguments.ts";
import { citeDownload } from "./cite.ts";
import { type Context, UsageError } from "./context.ts";
import {
  type DownloadPage,
  isStandardOutput,
  openStandardOutput,
  openStream,
  type Output,
  type OutputPath,
  requireReplaceable,
  resolveOutput,
  statIfExists,
} from "./output.ts";
import { cleanUpFinished, pathsOf } from "./part_state.ts";
import { ProgressReport } from "./progress_report.ts";
import {
  type FlagValues,
  readClientOptions,
  readCsvOptions,
  readFormat,
  readOutputOptions,
  readQuery,
} from "./flags.ts";
import { openFile, type PartOptions } from "./resumable_file.ts";
import { noRowsLines } from "./value_hints.ts";

/** Downloads the rows of a resource, or counts them. */
export async function download(
  resource: ResourceName,
  { flags }: Arguments,
  context: Context,
): Promise<number> {
  requireCompatibleFlags(flags);
  const { file, citationFile, resume, force, isCountOnly, isQuiet } = readOutputOptions(flags);
  const format = readFormat(resource, flags.get("format")?.[0], file);
  // Programs that read standard output expect lines that end in LF.
  const csv = readCsvOptions(flags, file === undefined && format === "csv" ? { eol: "\n" } : {});
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
  const selected = flags.get("select")?.at(0)?.split(",").map((field) => field.trim()) ??
    fieldNames(resource);
  const distinct = new Set([
    ...selected.filter((field) => field === "DOI"),
    ...comparedFields(resource, input.filter),
  ]);
  const pagesAfter = (after?: Cursor) =>
    query.batches({ format, csv, after, distinct: [...distinct] });
  /** Prints the values that match nothing. Returns the exit code. */
  const printReasons = (reasons: readonly NoRowsReason[]) => {
    noRowsLines(reasons, input.filter, flags).forEach(context.printError);
    return reasons.length > 0 && flags.has("strict") ? 1 : 0;
  };
  const printNoRows = async () =>
    printReasons(await explainNoRows(client, resource, { ...input, signal }));

  if (isCountOnly) {
    const count = await query.count();
    await context.print(`${count}\n`);
    return count === 0
      ? await printNoRows()
      : printReasons(await unmatchedValues(client, resource, input, undefined));
  }
  // Created before any file, so that an invalid option of the format leaves none.
  const allPages = pagesAfter();
  const target = file === undefined ? undefined : await resolveOutput(file);
  const citeTarget = citationFile === undefined ? undefined : await resolveOutput(citationFile);
  requireDifferentFiles(target?.path, citeTarget?.path);
  const writeCitations = (dois?: readonly string[], whyWithoutDois?: string) => {
    // Few attempts, because the rows are complete and the citations can be requested later.
    const citationClient = client.with({ retry: { attempts: 2 } });
    const { filter, within } = input;
    const cited = { filter, within, dois, whyWithoutDois, path: citationFile, file, flags };
    return citeDownload(citationClient, cited, context);
  };
  const finished = resume && target?.isStream === false && await cleanUpFinished(target.path);
  if (finished) {
    context.printError(
      `${file} is ${finished}. To download it again, pass --force instead of --resume`,
    );
    const isCited = citeTarget === undefined ||
      !citeTarget.isStream && await statIfExists(citeTarget.path) !== undefined;
    if (isCited) return 0;
    await writeCitations(undefined, "the rows of the finished file are not read again");
    return 0;
  }
  if (citeTarget?.isStream === false) await requireReplaceable(citeTarget.path, force);

  const { output, after, pages = allPages } = await openOutput(target, {
    queryJson: toQueryJson(resource, options.baseUrl, input, format, csv),
    pagesAfter,
    resume,
    force,
    requestDatasets: () => requestDatasetVersions(client, toWiderMetadataFilter(input), signal),
  }, context);
  report = new ProgressReport(context, {
    isQuiet,
    mayDraw: file !== undefined || !context.isStdoutTerminal,
    limit: input.limit ?? Infinity,
    after,
  });
  let rows = after?.rows ?? 0;
  let missingRows = 0;
  let found: Readonly<Record<string, readonly string[]>> | undefined;
  try {
    for await (const page of pages) {
      await output.write(page);
      ({ totalRows: rows, missingRows, distinct: found } = page);
    }
    report.finish(await output.finish(missingRows), file);
  } catch (error) {
    report.end();
    const part = await output.abandon(rows);
    if (part !== undefined) context.printError(`${part} has ${rows} rows: ${resumeHint(error)}`);
    throw error;
  }

  if (rows > 0) {
    if (citationFile !== undefined || isMeasured(resource) && !isQuiet) {
      await writeCitations(found?.DOI);
    }
    const { limit = Infinity } = input;
    if (rows < limit) return printReasons(await unmatchedValues(client, resource, input, found));
  } else if (input.limit !== 0) {
    if (citationFile !== undefined) {
      context.printError(`${citationFile} is not written: there is nothing to cite`);
    }
    return await printNoRows();
  }
  return 0;
}

/**
 * Formats the resource and the flags that determine the content of the file as JSON.
 *
 * Messages show it as the query of a part. It is compared with the query of a run that resumes until
 * the first page is committed; after that, the cursor is validated instead.
 */
function toQueryJson(
  resource: ResourceName,
  baseUrl: string | undefined,
  { select, filter, within, limit }: AnyResourceQuery,
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
    format,
    csv,
  });
}

/** Rejects flags that need a file, or that exclude each other. */
function requireCompatibleFlags(flags: FlagValues): void {
  const has = (name: string) => flags.has(name);
  if (has("resume") && has("force")) {
    throw new UsageError(
      "--resume continues a download and --force starts it again: pass one of them",
    );
  }
  const [cite, output] = ["cite", "output"].map((name) => flags.get(name)?.[0]);
  if (has("resume") && (output === undefined || isStandardOutput(output))) {
    throw new UsageError("--resume needs --output FILE");
  }
  if (has("force") && !has("output") && !has("cite")) {
    throw new UsageError("--force needs --output FILE or --cite FILE");
  }
  if (cite !== undefined && isStandardOutput(cite) && isStandardOutput(output ?? "-")) {
    throw new UsageError(
      "Standard output cannot have both the rows and the citations: name a file for one of them",
    );
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
    "eol",
    "no-header",
    "escape-formulas",
  ].find(has);
  if (has("count") && unused !== undefined) {
    throw new UsageError(`--count prints only a number: remove --${unused}`);
  }
}

/** Checks that `--cite` does not name FILE, FILE.part or another file that the download writes. */
function requireDifferentFiles(output: string | undefined, cite: string | undefined): void {
  if (output === undefined || cite === undefined || isStandardOutput(cite)) return;
  if (pathsOf(output).every((path) => resolve(path) !== resolve(cite))) return;
  throw new UsageError("--cite and --output would write to the same file: change one of the names");
}

/** Opens the output. If a part is resumed, also returns its cursor, and the pages after it. */
async function openOutput(
  target: OutputPath | undefined,
  options: PartOptions,
  context: Context,
): Promise<{ output: Output; after?: Cursor; pages?: AsyncIterable<DownloadPage> }> {
  if (target === undefined) return { output: openStandardOutput(context) };
  const { path, isStream } = target;
  if (!isStream) return await openFile(path, options);
  if (!options.resume) return { output: await openStream(path, context) };
  throw new UsageError(`--resume needs --output FILE, but ${path} is a device or a pipe`);
}

/** Returns how to continue after an error that left FILE.part. */
function resumeHint(error: unknown): string {
  return error instanceof DataStreamError && error.kind === "incomplete"
    ? "start again with --force, or accept the missing rows with --resume --allow-incomplete"
    : "run the same command with --resume to continue";
}
