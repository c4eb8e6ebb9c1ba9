// The commands that write the rows of a query, or count them.
import { basename, resolve } from "node:path";
import { describeChanges } from "../client/dataset_versions.ts";
import { comparedFields, describeUnusedUnits } from "../client/no_rows.ts";
import type { Cursor, Progress } from "../client/query.ts";
import { DataStreamError } from "../errors.ts";
import { PRODUCTION_URL } from "../service_constants.ts";
import { type Citation, versionsOf } from "../formats/citations.ts";
import { embeddedPackage, toDataPackage } from "../formats/data_package.ts";
import { type FileFormat, FORMATS } from "../formats/formats.ts";
import type { WriterState } from "../formats/page_writer.ts";
import type { ParquetOptions } from "../formats/parquet.ts";
import { toWiderMetadataFilter } from "../odata/query_options.ts";
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
import { countText, noteLines, type ProgressReport, startReport } from "./progress_report.ts";
import {
  CSV_FLAGS,
  type FlagValues,
  hasDays,
  PARQUET_FLAGS,
  QUERY_FLAGS,
  readCsvOptions,
  readFormat,
  RESOURCE_COMMANDS,
  ROW_RULE_FLAGS,
} from "./flags.ts";
import {
  type FileFacts,
  type FileOptions,
  type FileOrigin,
  type FilePackage,
  type OpenFile,
  openFile,
  pathsOf,
  type QueryRecord,
  readFinished,
  refuseRestart,
} from "./part_file.ts";
import { requestCheckedDatasets } from "./dataset_versions.ts";
import { printReasons, readCommandQuery } from "./command_query.ts";

export async function download(
  { command, flags }: Arguments,
  context: Context,
): Promise<number> {
  requireCompatibleFlags(flags);
  const job = await readJob(RESOURCE_COMMANDS[command!]!, flags, context);
  return flags.has("count") ? await printCount(job) : await writeRows(job);
}

type Job = Awaited<ReturnType<typeof readJob>>;

/** Returns the download that the flags describe. `file` is `undefined` for standard output. */
async function readJob(resource: ResourceName, flags: FlagValues, context: Context) {
  const [output = "-"] = flags.get("output") ?? [];
  const file = isStandardOutput(output) ? undefined : output;
  const format = readFormat(resource, flags.get("format")?.[0], file);
  const { label, isBinary, hasCsvOptions } = FORMATS[format];
  if (flags.has("allow-invalid") && format !== "parquet") {
    throw new UsageError(`--allow-invalid is for Parquet; the format is ${label}`);
  }
  if (isBinary && file === undefined && context.isStdoutTerminal && !flags.has("count")) {
    throw new UsageError(`${label} is not text: pass --output FILE, or redirect standard output`);
  }
  // Programs that read standard output expect lines that end in LF.
  const eol = file === undefined && hasCsvOptions ? { eol: "\n" } as const : undefined;
  const csv = readCsvOptions(flags, eol);
  const query = await readCommandQuery(resource, flags, context);
  const record = toQueryRecord(resource, query.baseUrl, flags, format);
  return { ...query, format, csv, record, file };
}

async function printCount(job: Job): Promise<number> {
  const { flags, context, resource, client, input } = job;
  const count = await client.query(resource, input).count();
  if (hasDays(flags) || flags.has("exclude-quality-control")) {
    context.printError(
      "The count is of whole years, with quality control, because DataStream cannot count by day " +
        "or type of activity: a download can have fewer rows",
    );
  }
  await context.print(`${count}\n`);
  return await printReasons(job, count);
}

async function writeRows(job: Job): Promise<number> {
  const { flags, context, resource, client, input, file } = job;
  const [citationFile] = flags.get("cite") ?? [];
  const isUpdate = flags.has("update");
  const arrived: Arrived = {};
  const { pagesAfter, describe } = await createRows(job, arrived);
  pagesAfter(); // an invalid option of the format leaves no file
  const target = file === undefined ? undefined : await resolveOutput(file);
  const citeTarget = citationFile === undefined ? undefined : await resolveOutput(citationFile);
  requireDifferentFiles(target?.path, citeTarget?.path);
  const options: FileOptions = {
    query: job.record,
    pagesAfter,
    resume: flags.has("resume") || isUpdate,
    onRestart: isUpdate
      ? (reason) => context.printError(`${reason}: ${file} is downloaded from its start`)
      : refuseRestart,
    force: flags.has("force"),
    requestDatasets: () =>
      requestCheckedDatasets(client, toWiderMetadataFilter(input), input.signal),
    describe: flags.has("no-package") ? undefined : describe,
  };
  const writeCitations = (dois?: readonly string[]) =>
    citeDownload(job, { dois, path: citationFile, file });

  const finished = options.resume && target?.isStream === false
    ? await readFinished(target.path, options)
    : undefined;
  if (finished !== undefined) {
    const changes = isUpdate ? await describeUpdate(finished, options, flags) : undefined;
    if (changes === undefined) {
      if (!flags.has("quiet") || finished.weir.missingRows > 0) {
        context.printError(`${file} is ${describeFinished(finished, isUpdate)}`);
      }
      const isCited = citeTarget === undefined ||
        !citeTarget.isStream && await statIfExists(citeTarget.path) !== undefined;
      if (!isCited) await writeCitations(finished.weir.cursor.distinct?.DOI);
      return 0;
    }
    if (!flags.has("quiet")) context.printError(`${file} is downloaded again: ${changes}`);
    options.force = true;
  }

  const last = await writePages(job, arrived, options, target, citeTarget);
  const { totalRows, expectedRows = Infinity, missingRows } = last;
  const extraRows = flags.has("allow-incomplete") ? totalRows - expectedRows : 0;
  noteLines({ ...arrived.notes, ...arrived.nulls, missingRows, extraRows })
    .forEach(context.printError);

  const isCited = citationFile !== undefined || isMeasured(resource) && !flags.has("quiet");
  if (totalRows > 0 && isCited) await writeCitations(arrived.found?.DOI);
  if (totalRows >= (input.limit ?? Infinity)) return 0;
  if (totalRows > 0) describeUnusedUnits(input.units, arrived.notes).forEach(context.printError);
  else if (citationFile !== undefined) {
    context.printError(`${citationFile} is not written: there is nothing to cite`);
  }
  return await printReasons(job, totalRows, arrived.found);
}

/** Writes the pages to the output. Returns the last page, which has no rows, only the end of the document. */
async function writePages(
  { flags, context, input, file }: Job,
  arrived: Arrived,
  options: FileOptions,
  target: OutputPath | undefined,
  citeTarget: OutputPath | undefined,
): Promise<DownloadPage> {
  const { output, after, force } = await openOutput(target, options, context);
  const report = startReport(context, {
    isQuiet: flags.has("quiet"),
    mayDraw: file !== undefined || !context.isStdoutTerminal,
    limit: input.limit ?? Infinity,
    after,
  });
  Object.assign(arrived, { output, report, found: after?.distinct });
  let last: DownloadPage | undefined;
  try {
    // A part that is continued may replace the file of citations if its first run was allowed to.
    if (citeTarget?.isStream === false) await requireReplaceable(citeTarget.path, force);
    for await (const page of options.pagesAfter(after)) {
      await output.write(page);
      last = page;
      arrived.found = page.distinct;
    }
    report.finish(await output.finish(), file);
    return last!;
  } catch (error) {
    report.end();
    const part = await output.abandon();
    if (part !== undefined) {
      const rowCount = countText(part.rows);
      context.printError(`${part.path} has ${rowCount}: ${resumeHint(error, options)}`);
    }
    throw error;
  }
}

/** The state of a download, for progress and the package. */
interface Arrived {
  output?: Output;
  report?: ProgressReport;
  found?: Cursor["distinct"];
  notes?: Progress["notes"];
  nulls?: Pick<FileOrigin, "invalidValues" | "withoutGeometry">;
}

/** Returns a function that requests the pages of a download, and one that describes its file. */
async function createRows(
  { flags, resource, client, input, format, csv, record }: Job,
  arrived: Arrived,
) {
  const query = client.query(resource, {
    ...input,
    onProgress(progress) {
      arrived.notes = progress.notes;
      arrived.report?.update(progress);
    },
  });
  const selected = flags.get("select")?.at(0)?.split(",").map((field) => field.trim()) ??
    fieldNames(resource);
  const distinct = [
    ...selected.filter((field) => field === "DOI"),
    ...comparedFields(resource, input.filter),
  ];
  const described = { resource, format, tidy: input.tidy, url: query.url };
  const citedOf = (citations: readonly Citation[] | undefined, dois?: readonly string[]) =>
    citations?.filter(({ doi }) => dois?.includes(doi) ?? true);
  const parquet: ParquetOptions & { url: string } = {
    invalidValues: flags.has("allow-invalid") ? "null" : "error",
    url: query.url,
    async metadata({ rows, columns, ...nulls }) {
      arrived.nulls = nulls;
      const { citations, datasets } = await arrived.output?.datasets?.() ?? {};
      const more = { ...nulls, query: record };
      const cited = citedOf(citations, arrived.found?.DOI);
      return {
        datapackage: embeddedPackage({
          ...described,
          columns,
          rows,
          more,
          citations: cited,
          datasets,
        }),
      };
    },
  };
  const loaded = format === "parquet"
    ? (await import("../formats/parquet.ts")).parquetFormat(parquet)
    : format;
  return {
    pagesAfter: (after?: Cursor) =>
      query.batches({ format: loaded, csv, after, distinct: [...new Set(distinct)] }),
    describe({ path, citations, origin, ...facts }: FileFacts) {
      const { writer, distinct } = origin.cursor;
      // Only the presence of a writer's state is compared.
      const cursor = { ...origin.cursor, writer: {} };
      return toDataPackage({
        ...facts,
        ...described,
        csv,
        fileName: basename(path),
        created: new Date(),
        columns: (writer as WriterState).fields ?? selected,
        more: { ...origin, ...arrived.nulls, cursor },
        citations: citedOf(citations, distinct?.DOI),
      });
    },
  };
}

/** Flags that determine the content of a file, in addition to resource, service and format. */
const CONTENT_FLAGS = Object.keys({
  ...QUERY_FLAGS,
  ...ROW_RULE_FLAGS,
  ...CSV_FLAGS,
  ...PARQUET_FLAGS,
}).filter((name) => name !== "top");
const ROW_FLAGS = [
  "output",
  "format",
  "cite",
  "select",
  "limit",
  "top",
  "tidy",
  "unit",
  ...Object.keys({ ...CSV_FLAGS, ...PARQUET_FLAGS }),
];

function toQueryRecord(
  resource: ResourceName,
  service: string = PRODUCTION_URL,
  flags: FlagValues,
  format: FileFormat,
): QueryRecord {
  const given = CONTENT_FLAGS.filter((name) => flags.has(name)).map((name) => {
    const [value = "", ...others] = flags.get(name)!;
    if (name === "select") return [name, value.split(",").map((field) => field.trim()).join()];
    return [name, others.length > 0 ? [value, ...others] : value === "" ? true : value];
  });
  return { resource, service, ...Object.fromEntries(given), format };
}

/** Words that follow "FILE is" in a message. */
function describeFinished(
  { resources: [{ rows }], weir: { missingRows } }: FilePackage,
  update: boolean,
): string {
  const count = missingRows > 0
    ? `, with ${rows} rows, ${missingRows} fewer than DataStream counted`
    : "";
  return update
    ? `unchanged: its datasets have no new versions${count}`
    : `complete${count}. To download it again if there are new data, pass --update`;
}

/** Returns why a finished file is replaced; `undefined` if it is not. */
async function describeUpdate(
  { weir: { datasets, missingRows } }: FilePackage,
  { requestDatasets }: FileOptions,
  flags: FlagValues,
): Promise<string | undefined> {
  if (missingRows > 0 && !flags.has("allow-incomplete")) {
    return `DataStream counted ${missingRows} rows more, and --allow-incomplete is not given`;
  }
  if (datasets === undefined) return "the versions of its datasets are not known";
  return describeChanges(datasets, versionsOf(await requestDatasets()));
}

function requireCompatibleFlags(flags: FlagValues): void {
  const has = (name: string) => flags.has(name);
  const [cite, output = "-"] = ["cite", "output"].map((name) => flags.get(name)?.[0]);
  const isStdout = isStandardOutput(output);
  const ofFile = ["resume", "update", "no-package"].find(has);
  const ofRows = ROW_FLAGS.find(has);
  const conflicts: [isGiven: boolean, message: string][] = [
    [
      has("resume") && has("force"),
      "--resume continues a download and --force starts it again: pass one of them",
    ],
    [
      has("update") && has("force"),
      "--update keeps an unchanged file and --force starts it again: pass one of them",
    ],
    [ofFile !== undefined && isStdout, `--${ofFile} needs --output FILE`],
    [
      has("no-package") && has("update"),
      "--update needs the package of FILE: remove --no-package",
    ],
    [
      has("force") && !has("output") && !has("cite"),
      "--force needs --output FILE or --cite FILE",
    ],
    [
      cite !== undefined && isStandardOutput(cite) && isStdout,
      "Standard output cannot have both the rows and the citations: name a file for one of them",
    ],
    [has("count") && ofRows !== undefined, `--count prints only a number: remove --${ofRows}`],
  ];
  const conflict = conflicts.find(([isGiven]) => isGiven);
  if (conflict !== undefined) throw new UsageError(conflict[1]);
}

/** `--cite` must not name FILE, FILE.part or another file that the download writes. */
function requireDifferentFiles(output: string | undefined, cite: string | undefined): void {
  if (output === undefined || cite === undefined || isStandardOutput(cite)) return;
  if (pathsOf(output).every((path) => resolve(path) !== resolve(cite))) return;
  throw new UsageError("--cite and --output would write to the same file: change one of the names");
}

async function openOutput(
  target: OutputPath | undefined,
  options: FileOptions,
  context: Context,
): Promise<OpenFile> {
  const { force } = options;
  if (target === undefined) return { output: openStandardOutput(context), force };
  const { path, isStream } = target;
  if (!isStream) return await openFile(path, options);
  if (!options.resume) return { output: await openStream(path, context), force };
  throw new UsageError(`--resume and --update need a file, but ${path} is a device or a pipe`);
}

/** Hint after an error that left FILE.part. */
function resumeHint(error: unknown, { resume }: FileOptions): string {
  if (error instanceof DataStreamError && error.kind === "incomplete") {
    return "start again with --force, or accept the rows with --resume --allow-incomplete";
  }
  return `run the same command ${resume ? "again" : "with --resume"} to continue`;
}
