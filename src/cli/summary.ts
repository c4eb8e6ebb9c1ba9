import { utf8Decoder, utf8Encoder } from "../bytes.ts";
import type { SummaryRow } from "../client/summary.ts";
import { writeSummary } from "../client/summary_formats.ts";
import {
  explainingErrors,
  requireReplaceable,
  resolveOutput,
  writeContent,
} from "../files/output.ts";
import { FORMATS, SUMMARY_FORMATS } from "../formats/formats.ts";
import type { SUMMARY_KEYS } from "../odata/resources.ts";
import type { Arguments } from "./arguments.ts";
import { printReasons, readCommandQuery } from "./command_query.ts";
import { type Context, UsageError } from "./context.ts";
import { readOutput } from "./flags.ts";
import { noteLines, startReport } from "./progress_report.ts";
import { confirmReading } from "./values.ts";

/** Columns with values of fields. */
const COLUMNS = {
  CharacteristicName: "characteristic",
  DOI: "dataset",
  LocationId: "location_id",
} as const;

type SummaryKey = typeof SUMMARY_KEYS[number] | undefined;

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
    const time = new Date(context.clock.now());
    const written = await writeSummary(query.client, format, rows, { ...query.input, by }, {
      time,
    });
    // Programs that read standard output expect lines of CSV that end in LF.
    const isText = file === undefined && !FORMATS[format].isBinary;
    const content = isText
      ? utf8Encoder.encode(utf8Decoder.decode(written).replaceAll("\r\n", "\n"))
      : written;
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
