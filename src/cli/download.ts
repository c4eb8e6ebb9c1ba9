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
import { readFormat } from "./format.ts";
import type { Io } from "./io.ts";
import { ProgressReport } from "./progress_report.ts";
import { readCsvOptions, readQuery } from "./query_flags.ts";
import { questionOf } from "./question.ts";
import { serviceOf } from "./service.ts";
import { openOutput, requireFlags } from "./sink.ts";
import { told, UsageError } from "./usage_error.ts";
import { writerOf } from "./writer.ts";
import { citeAfter, requireNew } from "./cite.ts";

/** Downloads the rows of a resource, or counts them. */
export async function download(
  resource: ResourceName,
  { flags }: Arguments,
  io: Io,
): Promise<void> {
  requireFlags(flags);
  const [output] = flags.get("output") ?? [];
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
  if (citePath !== undefined && !flags.has("force")) await requireNew(citePath);

  const question = questionOf(resource, asked, options.baseUrl, format, csv);
  const { sink, from } = await openOutput(output, question, flags, io);
  const writer = writerOf(resource, format, query, csvFormat, from?.writer);
  const report = new ProgressReport(io, flags.has("quiet"), from);
  const run = new Run(service, signal, (progress) => report.update(progress));
  let rows = from?.rows ?? 0;
  try {
    for await (const page of readPages(run, query, readBytes(writer), from)) {
      rows += page.rows;
      await sink.write(page.content);
      const { rest } = page;
      await sink.keep({ rest, rows, expectedRows: report.expectedRows, writer: writer.state });
    }
    await sink.write(writer.end());
    await sink.finish();
  } catch (error) {
    report.end();
    await sink.leave(rows);
    throw error;
  }
  report.end();
  const isTold = isMeasured(resource) && !flags.has("quiet");
  if (citePath === undefined && !isTold) return;
  await citeAfter(new DataStream(options), asked, citePath, io);
}
