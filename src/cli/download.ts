import { createQuery } from "../client/create_query.ts";
import { DataStream } from "../client/datastream.ts";
import { Execution } from "../client/fetch_page.ts";
import { toService } from "../client/options.ts";
import { readPages } from "../client/query_pages.ts";
import { readBytes } from "../client/read_page.ts";
import { DataStreamError } from "../errors.ts";
import { checkCsvOptions, type CheckedCsvOptions } from "../formats/csv_options.ts";
import { createWriter, type FormatName } from "../formats/formats.ts";
import type { PageWriter, WriterState } from "../formats/page_writer.ts";
import { type CheckedQuery, checkQuery, isMeasured } from "../odata/query_options.ts";
import { fieldNames, type ResourceName } from "../odata/resources.ts";
import type { Arguments } from "./arguments.ts";
import { citeAfter } from "./cite.ts";
import { readDatasetVersions } from "./dataset_versions.ts";
import { DoiCollector, doisOf } from "../formats/doi_collector.ts";
import { isStandardOutput, requireReplaceable, resolveOutput, statIfExists } from "./files.ts";
import type { Io } from "./io.ts";
import { valueHints } from "./no_rows.ts";
import { openOutput, requireFlags, requireTwoFiles } from "./output.ts";
import { completionOf } from "./part_state.ts";
import { ProgressReport } from "./progress_report.ts";
import { readCsvOptions, readFormat, readQuery, serviceOf } from "./query_flags.ts";
import { told, UsageError } from "./usage_error.ts";

/** Downloads the rows of a resource, or counts them. */
export async function download(
  resource: ResourceName,
  { flags }: Arguments,
  io: Io,
): Promise<void> {
  requireFlags(flags);
  const [given] = flags.get("output") ?? [];
  const output = given === undefined || isStandardOutput(given) ? undefined : given;
  const [citePath] = flags.get("cite") ?? [];
  const format = readFormat(resource, flags.get("format")?.[0], output);
  const csv = readCsvOptions(flags);
  if (csv && format !== "csv") throw new UsageError(`The options of CSV do not go with ${format}`);
  const asked = told(() => readQuery(resource, flags));
  const options = await serviceOf(flags, io);
  const { signal } = io;
  // What is wrong with it is told before anything is sent.
  const { service, query, counted, csvFormat } = told(() => {
    const service = toService(options);
    const counted = createQuery<object>(resource, { ...asked, signal }, service);
    if (format === "geojson") counted.geojson?.();
    return {
      service,
      counted,
      query: checkQuery(resource, asked),
      csvFormat: checkCsvOptions(csv),
    };
  });
  const tellValues = () => {
    for (const line of valueHints(query.clauses ?? [], flags)) io.error(line);
  };
  if (flags.has("count")) {
    const count = await counted.count();
    await io.print(`${count}\n`);
    if (count === 0) tellValues();
    return;
  }
  const file = output === undefined ? undefined : await resolveOutput(output);
  const cited = citePath === undefined ? undefined : await resolveOutput(citePath);
  requireTwoFiles(file?.path, cited?.path);
  // The rows are there: what comes after them is not worth half a minute.
  const client = new DataStream({ ...options, retry: { attempts: 2 } });
  const cite = (dois?: readonly string[], whyWithoutDois?: string) =>
    citeAfter(
      client,
      { query: asked, dois, whyWithoutDois, path: citePath, file: output, flags },
      io,
    );
  if (flags.has("resume") && file?.isStream === false) {
    const completion = await completionOf(file.path);
    if (completion !== undefined) {
      io.error(
        `${output} is ${completion}. To download it again, pass --force in place of --resume`,
      );
      if (cited === undefined) return;
      return cited.isStream || !await statIfExists(cited.path)
        ? await cite(undefined, "the rows of the finished file are not read again")
        : undefined;
    }
  }
  if (cited?.isStream === false) await requireReplaceable(cited.path, flags.has("force"));

  const question = questionOf(query, service.baseUrl, format, csvFormat);
  const requestDatasets = () => readDatasetVersions(new DataStream(options), query, signal);
  const { sink, from } = await openOutput(file, question, requestDatasets, flags, io);
  const writer = collecting(
    createWriter(format, { resource, select: query.select, csv, state: from?.writer }),
    query,
    from?.writer,
  );
  const canDraw = output !== undefined || !io.showsOutput;
  const shows = { isQuiet: flags.has("quiet"), canDraw, limit: query.limit };
  const report = new ProgressReport(io, shows, from);
  const execution = new Execution(service, signal, (progress) => report.update(progress));
  const after = from && { remaining: from.rest, rows: from.rows };
  let rows = from?.rows ?? 0;
  try {
    for await (const page of readPages(execution, query, readBytes(writer), after)) {
      await sink.write(page.content);
      const { remaining: rest } = page;
      const { expectedRows, missingRows } = report;
      const progressed = {
        rest,
        rows: rows + page.rows,
        expectedRows,
        missingRows,
        writer: writer.state,
      };
      const isLast = !page.hasMore || progressed.rows >= query.limit;
      await sink.keep({ ...progressed, isLast });
      rows += page.rows;
    }
    await sink.write(writer.end());
    report.finish(await sink.finish(report.missingRows), output);
  } catch (error) {
    report.end();
    const isIncomplete = error instanceof DataStreamError && error.kind === "incomplete";
    await sink.leave(rows, isIncomplete ? KEEP_OR_RESTART : RESUME);
    throw error;
  }
  if (rows === 0) {
    if (asked.limit === 0) return;
    if (citePath !== undefined) io.error(`${citePath} is not written: there is nothing to cite`);
    io.error(
      asked.filter === undefined && asked.within === undefined ? "There are no rows" : NO_ROWS,
    );
    return tellValues();
  }
  const isTold = isMeasured(resource) && !flags.has("quiet");
  if (citePath === undefined && !isTold) return;
  await cite(writer instanceof DoiCollector ? writer.dois : undefined);
}

const NO_ROWS = "No row matches the filter";
/** What to do about a part that a later run can continue. */
const RESUME = "the same command with --resume goes on from there";
/** What to do about a part whose query ended with fewer rows than the service counted. */
const KEEP_OR_RESTART = "start again with --force, or keep them with --resume --allow-incomplete";

/**
 * Makes a writer collect the DOIs of its rows, if the output has a column of them, and those of the
 * rows before are known.
 *
 * @param from The state of the writer to go on from
 */
function collecting(
  writer: PageWriter,
  { resource, select = fieldNames(resource) }: CheckedQuery,
  from: WriterState | undefined,
): PageWriter | DoiCollector {
  const before = from === undefined ? [] : doisOf(from);
  if (before === undefined || !select.includes("DOI")) return writer;
  return new DoiCollector(writer, before);
}

/**
 * What a download asks for, as text: two with the same text give the same rows in the same form. The
 * page size is not part of it.
 *
 * @param baseUrl The root address of the service
 */
function questionOf(
  { resource, select, filter, box, limit, partition }: CheckedQuery,
  baseUrl: string,
  format: FormatName,
  csv: CheckedCsvOptions,
): string {
  const rows = limit === Infinity ? undefined : limit;
  const form = format === "csv" ? csv : undefined;
  return JSON.stringify({
    resource,
    baseUrl,
    select,
    filter,
    box,
    limit: rows,
    partition,
    format,
    csv: form,
  });
}
