import { toService } from "../client/client_options.ts";
import { createQuery } from "../client/create_query.ts";
import { DataStream } from "../client/datastream.ts";
import { readBytes } from "../client/page.ts";
import { readPages } from "../client/read_pages.ts";
import { Run } from "../client/run.ts";
import { checkOptions, isMeasured } from "../odata/query_options.ts";
import type { ResourceName } from "../odata/resources.ts";
import { toCsvFormat } from "../output/csv_options.ts";
import type { Arguments } from "./arguments.ts";
import { readDatasetVersions } from "./dataset_versions.ts";
import { isStandardOutput, requireReplaceable, resolveOutput, statIfExists } from "./files.ts";
import { readFormat } from "./format.ts";
import type { Io } from "./io.ts";
import { isComplete } from "./part_state.ts";
import { ProgressReport } from "./progress_report.ts";
import { readCsvOptions, readQuery } from "./query_flags.ts";
import { questionOf } from "./question.ts";
import { serviceOf } from "./service.ts";
import { openOutput, requireFlags, requireTwoFiles } from "./sink.ts";
import { told, UsageError } from "./usage_error.ts";
import { writerOf } from "./writer.ts";
import { citeAfter } from "./cite.ts";

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
    return { service, counted, query: checkOptions(resource, asked), csvFormat: toCsvFormat(csv) };
  });
  if (flags.has("count")) return await io.print(`${await counted.count()}\n`);
  const file = output === undefined ? undefined : await resolveOutput(output);
  const cited = citePath === undefined ? undefined : await resolveOutput(citePath);
  requireTwoFiles(file?.path, cited?.path);
  // The rows are there: what comes after them is not worth half a minute.
  const client = new DataStream({ ...options, retry: { attempts: 2 } });
  const cite = () => citeAfter(client, asked, { path: citePath, file: output }, io);
  if (flags.has("resume") && file?.isStream === false && await isComplete(file.path)) {
    io.error(`${output} is complete: to download it again, pass --force in place of --resume`);
    if (cited === undefined) return;
    return cited.isStream || !await statIfExists(cited.path) ? await cite() : undefined;
  }
  if (cited?.isStream === false) await requireReplaceable(cited.path, flags.has("force"));

  const question = questionOf(query, service.baseUrl, format, csvFormat);
  const requestDatasets = () => readDatasetVersions(new DataStream(options), query, signal);
  const { sink, from } = await openOutput(file, question, requestDatasets, flags, io);
  const writer = writerOf(resource, format, query, csvFormat, from?.writer);
  const canDraw = output !== undefined || !io.showsOutput;
  const shows = { isQuiet: flags.has("quiet"), canDraw, limit: query.limit };
  const report = new ProgressReport(io, shows, from);
  const run = new Run(service, signal, (progress) => report.update(progress));
  let rows = from?.rows ?? 0;
  try {
    for await (const page of readPages(run, query, readBytes(writer), from)) {
      await sink.write(page.content);
      const { rest } = page;
      const { expectedRows } = report;
      const progressed = { rest, rows: rows + page.rows, expectedRows, writer: writer.state };
      const isLast = rest.length === 0 || progressed.rows >= query.limit;
      await sink.keep({ ...progressed, isLast });
      rows += page.rows;
    }
    await sink.write(writer.end());
    report.end(await sink.finish(), output);
  } catch (error) {
    report.end();
    await sink.leave(rows);
    throw error;
  }
  if (rows === 0) return asked.limit === 0 ? undefined : io.error(NO_ROWS);
  const isTold = isMeasured(resource) && !flags.has("quiet");
  if (citePath !== undefined || isTold) await cite();
}

const NO_ROWS =
  "No row meets the filter: what it compares with counts to the letter, pH and not ph";
