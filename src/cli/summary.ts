import { type Bytes, utf8Encoder } from "../bytes.ts";
import { SUMMARY_TYPES, summaryColumns, summaryCsv, type SummaryRow } from "../client/summary.ts";
import {
  explainingErrors,
  requireReplaceable,
  resolveOutput,
  writeContent,
} from "../files/output.ts";
import type { SUMMARY_KEYS } from "../odata/resources.ts";
import type { Arguments } from "./arguments.ts";
import { printReasons, readCommandQuery } from "./command_query.ts";
import { type Context, UsageError } from "./context.ts";
import { readOutput, SUMMARY_FORMATS } from "./flags.ts";
import { noteLines, startReport } from "./progress_report.ts";
import { confirmReading } from "./values.ts";

/** Columns with values of fields. */
const COLUMNS = {
  CharacteristicName: "characteristic",
  DOI: "dataset",
  LocationId: "location_id",
} as const;

type SummaryKey = typeof SUMMARY_KEYS[number] | undefined;

/** Programs that read standard output expect lines of CSV that end in LF. */
const WRITERS: Readonly<
  Record<
    typeof SUMMARY_FORMATS[number],
    (rows: SummaryRow[], by: SummaryKey, isFile: boolean) => Bytes | Promise<Bytes>
  >
> = {
  csv(rows, by, isFile) {
    const text = summaryCsv(rows, by);
    return utf8Encoder.encode(isFile ? text : text.replaceAll("\r\n", "\n"));
  },
  ndjson: (rows) => utf8Encoder.encode(rows.map((row) => `${JSON.stringify(row)}\n`).join("")),
  async parquet(rows, by) {
    const { rowsToParquet } = await import("../formats/parquet_rows.ts");
    const columns = summaryColumns(rows, by).map((name) => [name, SUMMARY_TYPES[name]] as const);
    return rowsToParquet(columns, rows.map((row) => ({ ...row })));
  },
};

export async function printSummary({ flags }: Arguments, context: Context): Promise<void> {
  const { file, format } = readOutput("summaries", SUMMARY_FORMATS, flags, context);
  const by = flags.get("by")?.[0] as SummaryKey;
  if (file !== undefined) {
    const { path, isStream } = await resolveOutput(file);
    if (!isStream) await requireReplaceable(path, flags.has("force"));
  } else if (flags.has("force")) throw new UsageError("--force needs --output FILE");
  const query = await readCommandQuery("Observations", flags, context);
  await confirmReading(query);
  const isQuiet = flags.has("quiet");
  const options = { isQuiet, mayDraw: true, limit: Infinity, after: undefined };
  const report = startReport(context, options);
  const { retries } = query;
  const { show } = retries;
  retries.show = report.retry;
  let notes: Parameters<typeof noteLines>[0];
  let rows: SummaryRow[];
  try {
    rows = await query.client.summary({
      ...query.input,
      by,
      onProgress(progress) {
        notes = progress.notes;
        report.update(progress);
      },
    });
    const content = await WRITERS[format](rows, by, file !== undefined);
    if (file !== undefined) await explainingErrors(file, writeContent(file, content, context));
    report.finish(file === undefined ? undefined : content.length, file, rows.length);
    if (file === undefined) await context.write(content);
  } catch (error) {
    report.end();
    throw error;
  } finally {
    retries.show = show;
  }
  noteLines(notes).forEach(context.printError);
  const found = Object.entries(COLUMNS).filter(([, column]) => rows[0]?.[column] !== undefined)
    .map(([field, column]) => [field, rows.map((row) => String(row[column]))]);
  await printReasons(query, rows.length, Object.fromEntries(found));
}
