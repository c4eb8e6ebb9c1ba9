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
import { DataStreamError } from "../errors.ts";
import { PRODUCTION_URL } from "../service_constants.ts";
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
import { ProgressReport } from "./progress_report.ts";
import {
  FILTER_FLAGS,
  type FlagValues,
  readClientOptions,
  readCsvOptions,
  readFormat,
  readOutputOptions,
  readQuery,
} from "./flags.ts";
import {
  type FileOptions,
  type FileRecord,
  openFile,
  pathsOf,
  type QueryRecord,
  readFinished,
} from "./part_file.ts";
import { describeChanges } from "./dataset_versions.ts";
import { noRowsLines } from "./value_hints.ts";

/** Downloads the rows of a resource, or counts them. */
export async function download(
  resource: ResourceName,
  { flags }: Arguments,
  context: Context,
): Promise<number> {
  requireCompatibleFlags(flags);
  const options = readOutputOptions(flags);
  const { file, citationFile, resume, update, isCountOnly, isQuiet } = options;
  const format = readFormat(resource, flags.get("format")?.[0], file);
  // Programs that read standard output expect lines that end in LF.
  const csv = readCsvOptions(flags, file === undefined && format === "csv" ? { eol: "\n" } : {});
  const input = readQuery(flags);
  const clientOptions = await readClientOptions(flags, context);
  const { signal } = context;
  const client = new DataStream(clientOptions);
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
  const writeCitations = (dois?: readonly string[]) => {
    // Few attempts, because the rows are complete and the citations can be requested later.
    const citationClient = client.with({ retry: { attempts: 2 } });
    const { filter, within } = input;
    const cited = { filter, within, dois, path: citationFile, file, flags };
    return citeDownload(citationClient, cited, context);
  };
  const fileOptions: FileOptions = {
    query: toQueryRecord(resource, clientOptions.baseUrl, flags, format),
    pagesAfter,
    resume: resume || update,
    restart: update,
    force: options.force,
    requestDatasets: () => requestDatasetVersions(client, toWiderMetadataFilter(input), signal),
  };
  const finished = fileOptions.resume && target?.isStream === false
    ? await readFinished(target.path, fileOptions)
    : undefined;
  if (finished !== undefined) {
    const changes = update ? await describeUpdate(finished, fileOptions) : undefined;
    if (changes === undefined) {
      context.printError(`${file} is ${describeFinished(finished, update)}`);
      const isCited = citeTarget === undefined ||
        !citeTarget.isStream && await statIfExists(citeTarget.path) !== undefined;
      if (!isCited) await writeCitations(finished.cursor.distinct?.DOI);
      return 0;
    }
    if (!isQuiet) context.printError(`${file} is downloaded again: ${changes}`);
    fileOptions.force = true;
  }
  if (citeTarget?.isStream === false) {
    await requireReplaceable(citeTarget.path, fileOptions.force);
  }

  const { output, after, pages = allPages } = await openOutput(target, fileOptions, context);
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

/** Flags that determine the content of a file, in addition to the resource, the service and the format. */
const CONTENT_FLAGS = [
  ...["select", ...Object.keys(FILTER_FLAGS), "limit", "unchecked"],
  ...["separator", "eol", "no-header", "bom", "escape-formulas"],
];

/** Returns what determines the content of a file, for its record and for --resume. */
function toQueryRecord(
  resource: ResourceName,
  service: string = PRODUCTION_URL,
  flags: FlagValues,
  format: FormatName,
): QueryRecord {
  const given = CONTENT_FLAGS.filter((name) => flags.has(name)).map((name) => {
    const [value = "", ...others] = flags.get(name)!;
    if (name === "select") return [name, value.split(",").map((field) => field.trim()).join()];
    return [name, others.length > 0 ? [value, ...others] : value === "" ? true : value];
  });
  return { resource, service, ...Object.fromEntries(given), format };
}

/** Says in a sentence that begins with "FILE is" what is known about a finished file. */
function describeFinished({ rows, missingRows }: FileRecord, update: boolean): string {
  const count = missingRows > 0
    ? `, with ${rows} rows, ${missingRows} fewer than DataStream counted`
    : "";
  return update
    ? `unchanged: its datasets have no new versions${count}`
    : `complete${count}. To download it again if there are new data, pass --update`;
}

/** Says why a file must be downloaded again; `undefined` if its datasets have no new versions. */
async function describeUpdate(
  { datasets }: FileRecord,
  { requestDatasets }: FileOptions,
): Promise<string | undefined> {
  return datasets === undefined
    ? "the versions of its datasets are not known"
    : describeChanges(datasets, await requestDatasets());
}

/** Rejects flags that need a file, or that exclude each other. */
function requireCompatibleFlags(flags: FlagValues): void {
  const has = (name: string) => flags.has(name);
  const continuing = ["resume", "update"].find(has);
  if (continuing !== undefined && has("force")) {
    const verb = continuing === "resume" ? "continues a download" : "keeps an unchanged file";
    throw new UsageError(
      `--${continuing} ${verb} and --force starts it again: pass one of them`,
    );
  }
  const [cite, output] = ["cite", "output"].map((name) => flags.get(name)?.[0]);
  if (continuing !== undefined && (output === undefined || isStandardOutput(output))) {
    throw new UsageError(`--${continuing} needs --output FILE`);
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
  options: FileOptions,
  context: Context,
): Promise<{ output: Output; after?: Cursor; pages?: AsyncIterable<DownloadPage> }> {
  if (target === undefined) return { output: openStandardOutput(context) };
  const { path, isStream } = target;
  if (!isStream) return await openFile(path, options);
  if (!options.resume) return { output: await openStream(path, context) };
  throw new UsageError(
    `--${
      options.restart ? "update" : "resume"
    } needs --output FILE, but ${path} is a device or a pipe`,
  );
}

/** Returns how to continue after an error that left FILE.part. */
function resumeHint(error: unknown): string {
  return error instanceof DataStreamError && error.kind === "incomplete"
    ? "start again with --force, or accept the missing rows with --resume --allow-incomplete"
    : "run the same command with --resume to continue";
}
