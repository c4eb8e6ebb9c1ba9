import { basename, resolve } from "node:path";
import type { Cursor } from "../client/query.ts";
import { requestDatasets } from "../client/dataset_versions.ts";
import { DataStream } from "../client/datastream.ts";
import {
  comparedFields,
  describeUnusedUnits,
  explainNoRows,
  type NoRowsReason,
  unmatchedValues,
} from "../client/no_rows.ts";
import type { Progress } from "../client/query.ts";
import { DataStreamError } from "../errors.ts";
import { PRODUCTION_URL } from "../service_constants.ts";
import { versionsOf } from "../formats/citations.ts";
import { toDataPackage } from "../formats/data_package.ts";
import { type FileFormat, FORMATS, withoutPageSize } from "../formats/formats.ts";
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
import { countText, type ProgressReport, startReport } from "./progress_report.ts";
import {
  CSV_FLAGS,
  type FlagValues,
  hasDays,
  PARQUET_FLAGS,
  QUERY_FLAGS,
  readClientOptions,
  readCsvOptions,
  readFormat,
  readQuery,
  RESOURCE_COMMANDS,
  ROW_RULE_FLAGS,
} from "./flags.ts";
import {
  type FileFacts,
  type FileOptions,
  type FileOrigin,
  type FilePackage,
  openFile,
  pathsOf,
  type QueryRecord,
  readFinished,
} from "./part_file.ts";
import { describeChanges } from "./dataset_versions.ts";
import { explainCount, noRowsLines } from "./value_hints.ts";

export async function download(
  { command, flags }: Arguments,
  context: Context,
): Promise<number> {
  const resource = RESOURCE_COMMANDS[command!]!;
  requireCompatibleFlags(flags);
  const has = (name: string) => flags.has(name);
  const [output = "-"] = flags.get("output") ?? [];
  const file = isStandardOutput(output) ? undefined : output;
  const [citationFile] = flags.get("cite") ?? [];
  const [isQuiet, update] = [has("quiet"), has("update")];
  const format = readFormat(resource, flags.get("format")?.[0], file);
  if (has("allow-invalid") && format !== "parquet") {
    throw new UsageError(`--allow-invalid is for Parquet; the format is ${FORMATS[format].label}`);
  }
  if (FORMATS[format].isBinary && file === undefined && context.isStdoutTerminal && !has("count")) {
    throw new UsageError(
      `${FORMATS[format].label} is not text: pass --output FILE, or redirect standard output`,
    );
  }
  // Programs that read standard output expect lines that end in LF.
  const csv = readCsvOptions(
    flags,
    file === undefined && FORMATS[format].hasCsvOptions ? { eol: "\n" } : undefined,
  );
  const input = readQuery(flags);
  const clientOptions = await readClientOptions(flags, context);
  const { signal } = context;
  const client = new DataStream(clientOptions);
  let report: ProgressReport | undefined = undefined;
  let notes: Progress["notes"];
  const query = client.query(resource, {
    ...input,
    signal,
    onProgress(progress) {
      notes = progress.notes;
      report?.update(progress);
    },
  });
  const selected = flags.get("select")?.at(0)?.split(",").map((field) => field.trim()) ??
    fieldNames(resource);
  const distinct = new Set([
    ...selected.filter((field) => field === "DOI"),
    ...comparedFields(resource, input.filter),
  ]);
  const requestAll = () => requestDatasets(client, toWiderMetadataFilter(input), signal);
  const record = toQueryRecord(resource, clientOptions.baseUrl, flags, format);
  let found: Readonly<Record<string, readonly string[]>> | undefined;
  let nulls: Pick<FileOrigin, "invalidValues" | "withoutGeometry"> | undefined;
  const parquetOptions: ParquetOptions & { url: string } = {
    invalidValues: has("allow-invalid") ? "null" : "error",
    url: query.url,
    async metadata({ rows, columns, ...counts }) {
      nulls = counts;
      const { citations, datasets } = await sink.datasets?.() ?? {};
      const { resources: [document], ...description } = toDataPackage({
        ...{ fileName: "", resource, format, columns, rows, tidy: input.tidy, datasets },
        ...{
          created: new Date(0),
          url: withoutPageSize(query.url),
          more: { ...counts, query: record },
        },
        citations: citations?.filter(({ doi }) => found?.DOI?.includes(doi) ?? true),
      });
      // A file that was resumed, with another page size, or renamed has the same bytes.
      const resources = [{ ...document, name: undefined, path: undefined }];
      const embedded = { ...description, resources, name: undefined, created: undefined };
      return { datapackage: JSON.stringify(embedded) };
    },
  };
  const loaded = format === "parquet"
    ? (await import("../formats/parquet.ts")).parquetFormat(parquetOptions)
    : format;
  const pagesAfter = (after?: Cursor) =>
    query.batches({ format: loaded, csv, after, distinct: [...distinct] });
  const printReasons = (reasons: readonly NoRowsReason[]) => {
    noRowsLines(reasons, flags).forEach(context.printError);
    return reasons.length > 0 && flags.has("strict") ? 1 : 0;
  };

  if (has("count")) {
    const count = await query.count();
    if (hasDays(flags) || has("exclude-quality-control")) {
      context.printError(
        "The count is of whole years, with quality control, because DataStream cannot count by day " +
          "or type of activity: a download can have fewer rows",
      );
    }
    await context.print(`${count}\n`);
    const { filter, within, unchecked } = input;
    const counted = { filter, within, unchecked, signal };
    return printReasons(await explainCount(client, resource, counted, count));
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
  const describe = ({ path, citations, origin: more, ...facts }: FileFacts) => {
    const { writer, distinct } = more.cursor;
    const columns = (writer as WriterState).fields ?? selected;
    const cited = distinct?.DOI;
    // Only the presence of a writer's state is compared.
    const cursor = { ...more.cursor, writer: {} };
    return toDataPackage({
      ...facts,
      ...{ fileName: basename(path), resource, format, csv, columns, tidy: input.tidy },
      ...{ created: new Date(), url: query.url, more: { ...more, ...nulls, cursor } },
      citations: citations?.filter(({ doi }) => cited?.includes(doi) ?? true),
    });
  };
  const fileOptions: FileOptions = {
    query: record,
    pagesAfter,
    resume: has("resume") || update,
    restart: update,
    force: has("force"),
    requestDatasets: requestAll,
    describe: has("no-package") ? undefined : describe,
  };
  const finished = fileOptions.resume && target?.isStream === false
    ? await readFinished(target.path, fileOptions)
    : undefined;
  if (finished !== undefined) {
    const mayLackRows = has("allow-incomplete");
    const changes = update ? await describeUpdate(finished, fileOptions, mayLackRows) : undefined;
    if (changes === undefined) {
      context.printError(`${file} is ${describeFinished(finished, update)}`);
      const isCited = citeTarget === undefined ||
        !citeTarget.isStream && await statIfExists(citeTarget.path) !== undefined;
      if (!isCited) await writeCitations(finished.weir.cursor.distinct?.DOI);
      return 0;
    }
    if (!isQuiet) context.printError(`${file} is downloaded again: ${changes}`);
    fileOptions.force = true;
  }
  if (citeTarget?.isStream === false) {
    await requireReplaceable(citeTarget.path, fileOptions.force);
  }

  const { output: sink, after, pages = allPages } = await openOutput(target, fileOptions, context);
  report = startReport(context, {
    isQuiet,
    mayDraw: file !== undefined || !context.isStdoutTerminal,
    limit: input.limit ?? Infinity,
    after,
  });
  let rows = after?.rows ?? 0;
  found = after?.distinct;
  let missingRows = 0;
  let expectedRows: number | undefined;
  try {
    for await (const page of pages) {
      await sink.write(page);
      ({ totalRows: rows, missingRows, expectedRows, distinct: found } = page);
    }
    report.finish(await sink.finish(missingRows), file);
    const { invalidValues = 0, withoutGeometry = 0 } = nulls ?? {};
    if (invalidValues > 0) {
      const accepted = "with a value that does not fit its column, now null (--allow-invalid)";
      context.printError(`${countText(invalidValues)} ${accepted}`);
    }
    if (withoutGeometry > 0) {
      const reason = "the position is absent, or not in WGS84";
      context.printError(`${countText(withoutGeometry)} without a geometry: ${reason}`);
    }
    const extraRows = rows - (expectedRows ?? Infinity);
    if (extraRows > 0 && has("allow-incomplete")) {
      const accepted = "than DataStream counted (accepted by --allow-incomplete)";
      context.printError(`${countText(extraRows)} more ${accepted}`);
    }
  } catch (error) {
    report.end();
    const part = await sink.abandon();
    if (part !== undefined) {
      context.printError(`${part.path} has ${part.rows} rows: ${resumeHint(error, fileOptions)}`);
    }
    throw error;
  }

  if (rows > 0) {
    if (citationFile !== undefined || isMeasured(resource) && !isQuiet) {
      await writeCitations(found?.DOI);
    }
    const { limit = Infinity } = input;
    if (rows < limit) {
      describeUnusedUnits(input.units, notes).forEach(context.printError);
      return printReasons(await unmatchedValues(client, resource, input, found));
    }
  } else if (input.limit !== 0) {
    if (citationFile !== undefined) {
      context.printError(`${citationFile} is not written: there is nothing to cite`);
    }
    return printReasons(await explainNoRows(client, resource, { ...input, signal }));
  }
  return 0;
}

/** In addition to the resource, the service and the format. */
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

/** For its record and for --resume. */
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

/** A sentence that begins with "FILE is". */
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

/** `undefined` if the datasets have no new versions. */
async function describeUpdate(
  { weir: { datasets, missingRows } }: FilePackage,
  { requestDatasets }: FileOptions,
  mayLackRows: boolean,
): Promise<string | undefined> {
  if (missingRows > 0 && !mayLackRows) {
    return `DataStream counted ${missingRows} rows more, and --allow-incomplete is not given`;
  }
  return datasets === undefined
    ? "the versions of its datasets are not known"
    : describeChanges(datasets, versionsOf(await requestDatasets()));
}

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
  if (has("no-package") && (output === undefined || isStandardOutput(output))) {
    throw new UsageError("--no-package needs --output FILE");
  }
  if (has("no-package") && has("update")) {
    throw new UsageError("--update needs the package of FILE: remove --no-package");
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
  const unused = ROW_FLAGS.find(has);
  if (has("count") && unused !== undefined) {
    throw new UsageError(`--count prints only a number: remove --${unused}`);
  }
}

/** `--cite` must not name FILE, FILE.part or another file that the download writes. */
function requireDifferentFiles(output: string | undefined, cite: string | undefined): void {
  if (output === undefined || cite === undefined || isStandardOutput(cite)) return;
  if (pathsOf(output).every((path) => resolve(path) !== resolve(cite))) return;
  throw new UsageError("--cite and --output would write to the same file: change one of the names");
}

/** If a part is resumed, also returns its cursor, and the pages after it. */
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

/** After an error that left FILE.part. */
function resumeHint(error: unknown, { resume }: FileOptions): string {
  if (error instanceof DataStreamError && error.kind === "incomplete") {
    return "start again with --force, or accept the rows with --resume --allow-incomplete";
  }
  return `run the same command ${resume ? "again" : "with --resume"} to continue`;
}
