// The commands that write the rows of a query, or count them.
import { basename, resolve } from "node:path";
import { describeChanges, settledAt } from "../client/dataset_versions.ts";
import { comparedFields, describeUnusedUnits } from "../client/no_rows.ts";
import type { Cursor } from "../client/query.ts";
import { toleranceOf } from "../client/split.ts";
import { DataStreamError } from "../errors.ts";
import {
  type DownloadPage,
  isStandardOutput,
  openStandardOutput,
  openStream,
  type OutputPath,
  requireReplaceable,
  resolveOutput,
  statIfExists,
} from "../files/output.ts";
import {
  type FileFacts,
  type FileOptions,
  type FilePackage,
  findFile,
  type OpenFile,
  openFile,
  PartError,
  pathsOf,
  publishedAgain,
  type QueryRecord,
} from "../files/part_file.ts";
import type { DatasetVersion } from "../formats/citations.ts";
import { embeddedPackage, toDataPackage } from "../formats/data_package.ts";
import { type FileFormat, FORMATS, formatsOf } from "../formats/formats.ts";
import { loadFormat } from "../formats/load_format.ts";
import type { WriterState } from "../formats/page_writer.ts";
import { parseSelect } from "../odata/query_options.ts";
import { fieldNames, isMeasured, type ResourceName } from "../odata/resources.ts";
import { PRODUCTION_URL } from "../service_constants.ts";
import type { Arguments } from "./arguments.ts";
import { citeDownload } from "./cite.ts";
import { printReasons, readCommandQuery } from "./command_query.ts";
import { CommandError, type Context, OutdatedError, UsageError } from "./context.ts";
import {
  goneDatasets,
  knownDatasets,
  lostDatasets,
  planDatasets,
  type PlannedDatasets,
  requireVersions,
} from "./dataset_versions.ts";
import {
  CSV_FLAGS,
  type FlagValues,
  hasDays,
  QUERY_FLAGS,
  readCsvOptions,
  readOutput,
  RESOURCE_COMMANDS,
  ROW_RULE_FLAGS,
  TYPE_FLAGS,
} from "./flags.ts";
import { countText, noteLines, type ProgressReport, startReport } from "./progress_report.ts";

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
  const { file, format } = readOutput(resource, formatsOf(resource), flags, context);
  // Programs that read standard output expect lines that end in LF.
  const eol = file === undefined && FORMATS[format].csv ? { eol: "\n" } as const : undefined;
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
  const { flags, context, file } = job;
  const [citationFile] = flags.get("cite") ?? [];
  const rows = await createRows(job);
  const target = file === undefined ? undefined : await resolveOutput(file);
  const citeTarget = citationFile === undefined ? undefined : await resolveOutput(citationFile);
  requireDifferentFiles(target?.path, citeTarget?.path);
  if (target?.isStream === false) return await writeFile(job, rows, target.path, citeTarget);
  if (target !== undefined && flags.has("update")) {
    throw new UsageError(`--update needs a file, but ${target.path} is a device or a pipe`);
  }
  const output = target === undefined
    ? openStandardOutput(context)
    : await openStream(target.path, context);
  return await writePages(job, rows, { output, isReplacing: flags.has("force") }, citeTarget);
}

/** Writes a file, or finds that it is complete. */
async function writeFile(
  job: Job,
  rows: Rows,
  path: string,
  citeTarget: OutputPath | undefined,
): Promise<number> {
  const { flags, context, file, record } = job;
  const { progress } = rows;
  const isUpdate = flags.has("update");
  const restart = (reason: string) => context.printError(`${reason}: ${file} is downloaded again`);
  const options: FileOptions = {
    mode: flags.has("force") ? "force" : isUpdate ? "update" : "default",
    query: record,
    isSameQuery: rows.isSameQuery,
    onRestart: restart,
    describe: rows.describe,
    clock: context.clock,
  };
  const found = await findFile(path, options);
  const { action, finished, reason } = found;
  if (action === "keep") return await keepFile(job, finished!, citeTarget);
  const planned = progress.planned = await planDatasets(job);
  const requireDatasets = (dois: readonly string[]) => {
    const [gone, ...others] = flags.has("remove-missing") ? [] : dois;
    if (gone === undefined) return;
    const more = others.length > 0 ? ` and ${others.length} more` : "";
    throw new OutdatedError(
      `${file} stays as it is: DataStream has no rows of ${gone}${more} any more. ` +
        "To accept a file without them, pass --update --remove-missing",
    );
  };
  if (isUpdate && finished) requireDatasets(goneDatasets(finished, requireVersions(planned)));
  if (action === "compare") {
    const changes = describeUpdate(finished!, requireVersions(planned), flags);
    if (changes === undefined) return await keepFile(job, finished!, citeTarget);
    if (!flags.has("quiet")) restart(changes);
  } else if (reason !== undefined) restart(reason);
  const versions = action === "continue" ? requireVersions(planned) : undefined;
  const opened = await openFile(path, found, versions, options);
  if (opened.after !== undefined) planned.recent = []; // the first page was requested long after
  return await writePages(job, rows, opened, citeTarget, {
    pages: requestPages(job, rows, opened, path),
    async check({ totalRows, distinct }, pageCount) {
      if (pageCount > 1) {
        requireSameVersions(path, requireVersions(progress.planned!), await planDatasets(job));
      }
      const isWhole = totalRows < (job.input.limit ?? Infinity);
      if (finished && isWhole) requireDatasets(lostDatasets(finished, totalRows, distinct?.DOI));
      if (flags.has("strict") && await explainRows(job, totalRows, distinct) > 0) {
        throw new StrictError(`${file} is not written: a value of a filter matches no row`);
      }
    },
  });
}

/** Says that a file needs no download. */
async function keepFile(
  job: Job,
  finished: FilePackage,
  citeTarget: OutputPath | undefined,
): Promise<number> {
  const { flags, context, file } = job;
  const { resources: [{ rows = 0 }], weir: { cursor: { distinct } } } = finished;
  if (!flags.has("quiet") || needsAcceptance(finished)) {
    context.printError(`${file} is ${describeFinished(finished, flags.has("update"))}`);
  }
  const isCited = citeTarget === undefined ||
    !citeTarget.isStream && await statIfExists(citeTarget.path) !== undefined;
  if (!isCited) await citeDownload(job, distinct?.DOI);
  return flags.has("strict") ? await explainRows(job, rows, distinct) : 0;
}

/** Prints the values of the filter without rows, unless the limit may be the reason. */
async function explainRows(job: Job, rows: number, found: Cursor["distinct"]): Promise<number> {
  return rows >= (job.input.limit ?? Infinity) ? 0 : await printReasons(job, rows, found);
}

/** What a file needs in addition to other outputs. */
interface FileSteps {
  pages: AsyncIterable<DownloadPage>;
  /** Throws if the part must not become the file. */
  check(last: DownloadPage, pageCount: number): Promise<void>;
}

/** Writes the pages to the output, and what follows them to standard error. */
async function writePages(
  job: Job,
  rows: Rows,
  opened: OpenFile,
  citeTarget: OutputPath | undefined,
  ofFile?: FileSteps,
): Promise<number> {
  const { progress, pagesAfter } = rows;
  const { output, after, isReplacing } = opened;
  const { flags, context, resource, input, file, retries } = job;
  const report = startReport(context, {
    isQuiet: flags.has("quiet"),
    mayDraw: file !== undefined || !context.isStdoutTerminal,
    limit: input.limit ?? Infinity,
    after,
  });
  Object.assign(progress, { report, found: after?.distinct });
  const { show } = retries;
  retries.show = report.retry;
  let last: DownloadPage | undefined;
  let pageCount = after === undefined ? 0 : 1;
  try {
    // A part that is continued may replace the file of citations if its first run was allowed to.
    if (citeTarget?.isStream === false) await requireReplaceable(citeTarget.path, isReplacing);
    for await (const page of ofFile?.pages ?? pagesAfter()) {
      await output.write(page, progress.planned && knownDatasets(progress.planned).datasets);
      last = page;
      progress.found = page.distinct;
      if (!page.isLast) pageCount++;
    }
    await ofFile?.check(last!, pageCount);
    const { bytes, kept } = await output.finish();
    report.finish(bytes, file);
    if (kept !== undefined) {
      context.printError(`${kept} is the earlier file, which was changed since weir wrote it`);
    }
  } catch (error) {
    report.end();
    const part = await output.abandon();
    const hint = part && resumeHint(error, flags);
    if (hint) context.printError(`${part.path} has ${countText(part.rows)}: ${hint}`);
    throw error;
  } finally {
    retries.show = show;
  }

  const { totalRows, missingRows, surplusRows, notes } = last!;
  const { found } = progress;
  noteLines({ ...notes, missingRows, surplusRows }).forEach(context.printError);
  const isCited = flags.has("cite") || isMeasured(resource) && !flags.has("quiet");
  if (totalRows > 0 && isCited) await citeDownload(job, found?.DOI);
  if (totalRows >= (input.limit ?? Infinity)) return 0;
  if (totalRows > 0) describeUnusedUnits(input.units, notes).forEach(context.printError);
  else if (flags.has("cite")) {
    const [citationFile] = flags.get("cite")!;
    context.printError(`${citationFile} is not written: there is nothing to cite`);
  }
  return ofFile && flags.has("strict") ? 0 : await explainRows(job, totalRows, found);
}

/**
 * Requests the pages of a file. If several pages follow a recent publication, some rows can be of the version before:
 * `--update` then keeps the earlier file, and other runs wait once and begin again.
 */
async function* requestPages(
  job: Job,
  { progress, pagesAfter }: Rows,
  { after, isReplacing }: OpenFile,
  path: string,
): AsyncGenerator<DownloadPage> {
  const { flags, context: { clock }, file, input, serviceTime } = job;
  const planned = progress.planned!;
  const { citations, recent } = planned;
  if (citations !== undefined && recent.length === 0) return yield* pagesAfter(after);
  const pages = pagesAfter()[Symbol.asyncIterator]();
  const first: DownloadPage = (await pages.next()).value;
  progress.found = first.distinct; // the end of the document can have the citations
  // Without an announced page, one can follow nevertheless.
  const second: DownloadPage = first.hasMore || first.isLast ? first : (await pages.next()).value;
  if (second.isLast) {
    yield first;
    if (second !== first) yield second;
    return;
  }
  await pages.return?.();
  const before = requireVersions(planned);
  const now = serviceTime();
  const settled = settledAt(recent, now);
  const until = new Date(settled).toISOString();
  const [[doi, , published]] = recent as [DatasetVersion];
  const reason = `${doi} was published at ${published}, and until ${until} some rows can be of ` +
    "the version before";
  if (flags.has("update") && isReplacing) {
    throw new OutdatedError(`${file} stays as it is: ${reason}. Repeat the command then`);
  }
  progress.report!.wait(`Waiting until ${until}: ${reason}`, settled - now);
  await clock.sleep(settled - now, input.signal);
  progress.planned = { ...await planDatasets(job), recent: [] };
  requireSameVersions(path, before, progress.planned);
  yield* pagesAfter();
}

/** Throws if a dataset was published since its version was requested, before the first page. */
function requireSameVersions(
  path: string,
  before: readonly DatasetVersion[],
  now: PlannedDatasets,
): void {
  const changes = describeChanges(before, requireVersions(now));
  if (changes !== undefined) throw publishedAgain(path, changes);
}

/** `--strict` and a value of a filter without rows. */
class StrictError extends CommandError {}

/** The state of a download, for progress and the package. */
interface DownloadProgress {
  /** Datasets of a file. */
  planned?: PlannedDatasets;
  report?: ProgressReport;
  found?: Cursor["distinct"];
}

type Rows = Awaited<ReturnType<typeof createRows>>;

/** Returns functions that request the pages of a download, and describe its file. */
async function createRows(job: Job) {
  const { flags, resource, client, input, format, csv, record, context } = job;
  const state: DownloadProgress = {};
  const query = client.query(resource, {
    ...input,
    onProgress: (progress) => state.report?.update(progress),
  });
  const selected = input.select === undefined ? fieldNames(resource) : parseSelect(input.select);
  const distinct = [
    ...selected.filter((field) => field === "DOI"),
    ...comparedFields(resource, input.filter),
  ];
  const described = { resource, format, tidy: input.tidy, url: query.url };
  /** Citations of the datasets with rows, and versions of all. */
  const datasetsOf = (dois?: readonly string[], planned = state.planned) => {
    const { citations, datasets } = planned ? knownDatasets(planned) : {};
    return { citations: citations?.filter(({ doi }) => dois?.includes(doi) ?? true), datasets };
  };
  const loaded = await loadFormat(format, {
    allowInvalid: flags.has("allow-invalid") || undefined,
    url: query.url,
    time: new Date(context.clock.now()),
    async describe({ notes, ...facts }) {
      // Rows for standard output are written without a plan.
      const isPlanned = state.planned !== undefined || !FORMATS[format].hasCitations;
      const planned = isPlanned ? state.planned : await planDatasets(job);
      return embeddedPackage({
        ...described,
        ...datasetsOf(state.found?.DOI, planned),
        ...facts,
        more: { notes, query: record },
      });
    },
  });
  const pages = query.batches({ format: loaded, csv, distinct: [...new Set(distinct)] });
  return {
    progress: state,
    pagesAfter: (after?: Cursor) => pages.with({ after }),
    isSameQuery: pages.accepts,
    describe({ path, origin, ...facts }: FileFacts) {
      const { writer, distinct } = origin.cursor;
      const { fields = selected, notes } = writer as WriterState;
      // Only the presence of a writer's state is compared.
      const cursor = { ...origin.cursor, writer: {} };
      return toDataPackage({
        ...facts,
        ...described,
        ...datasetsOf(distinct?.DOI),
        csv,
        fileName: basename(path),
        created: new Date(),
        columns: fields,
        more: { ...origin, notes, cursor },
      });
    },
  };
}

/** Flags that determine the content of a file, in addition to resource, service and format. */
const CONTENT_FLAGS = Object.keys({
  ...QUERY_FLAGS,
  ...ROW_RULE_FLAGS,
  ...CSV_FLAGS,
  ...TYPE_FLAGS,
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
  ...Object.keys({ ...CSV_FLAGS, ...TYPE_FLAGS }),
];

function toQueryRecord(
  resource: ResourceName,
  service: string = PRODUCTION_URL,
  flags: FlagValues,
  format: FileFormat,
): QueryRecord {
  const given = CONTENT_FLAGS.filter((name) => flags.has(name)).map((name) => {
    const [value = "", ...others] = flags.get(name)!;
    if (name === "select") return [name, parseSelect(value).join()];
    return [name, others.length > 0 ? [value, ...others] : value === "" ? true : value];
  });
  return { resource, service, ...Object.fromEntries(given), format };
}

/** Whether only `--allow-incomplete` accepts the number of rows. Large counts are estimates. */
function needsAcceptance({ weir: { missingRows, surplusRows, cursor } }: FilePackage): boolean {
  return missingRows + surplusRows > toleranceOf(cursor.expectedRows ?? cursor.rows + missingRows);
}

/** Words that follow "FILE is" in a message. */
function describeFinished(
  { resources: [{ rows }], weir: { missingRows, surplusRows } }: FilePackage,
  update: boolean,
): string {
  const differences = [
    ...missingRows > 0 ? [`${missingRows} fewer`] : [],
    ...surplusRows > 0 ? [`${surplusRows} more`] : [],
  ];
  const count = differences.length > 0
    ? `, with ${rows} rows, ${differences.join(" and ")} than DataStream counted`
    : "";
  return update
    ? `unchanged: its datasets have no new versions${count}`
    : `complete${count}. To download it again if there are new data, pass --update`;
}

/** Returns why a finished file is replaced; `undefined` if it is not. */
function describeUpdate(
  finished: FilePackage,
  now: readonly DatasetVersion[],
  flags: FlagValues,
): string | undefined {
  const { datasets } = finished.weir;
  if (needsAcceptance(finished) && !flags.has("allow-incomplete")) {
    return "DataStream counted another number of rows, and --allow-incomplete is not given";
  }
  return datasets ? describeChanges(datasets, now) : "The versions of its datasets are not known";
}

function requireCompatibleFlags(flags: FlagValues): void {
  const has = (name: string) => flags.has(name);
  const [cite, output = "-"] = ["cite", "output"].map((name) => flags.get(name)?.[0]);
  const isStdout = isStandardOutput(output);
  const ofRows = ROW_FLAGS.find(has);
  const conflicts: [isGiven: boolean, message: string][] = [
    [
      has("update") && has("force"),
      "--update keeps an unchanged file and --force starts it again: pass one of them",
    ],
    [has("update") && isStdout, "--update needs --output FILE"],
    [has("remove-missing") && !has("update"), "--remove-missing needs --update"],
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

/** Hint after an error that left FILE.part; `undefined` if the error says what to do. */
function resumeHint(error: unknown, flags: FlagValues): string | undefined {
  if (error instanceof PartError || error instanceof OutdatedError) return undefined;
  if (error instanceof StrictError) return "without --strict, the same command completes it";
  if (error instanceof DataStreamError && error.kind === "incomplete") {
    return "start again with --force, or accept the rows with --allow-incomplete";
  }
  if (error instanceof DataStreamError && error.kind === "changed") {
    return "start again with --force";
  }
  return `run the same command ${flags.has("force") ? "without --force" : "again"} to continue`;
}
