import { summaryCsv } from "../client/summary.ts";
import type { SUMMARY_KEYS } from "../odata/resources.ts";
import type { Arguments } from "./arguments.ts";
import type { Context } from "./context.ts";
import { noteLines } from "./progress_report.ts";
import { printReasons, readCommandQuery } from "./command_query.ts";
import { estimateReading } from "./values.ts";

/** Columns with values of fields. */
const COLUMNS = {
  CharacteristicName: "characteristic",
  DOI: "dataset",
  LocationId: "location_id",
} as const;

export async function printSummary({ flags }: Arguments, context: Context): Promise<void> {
  const query = await readCommandQuery("Observations", flags, context);
  let isEstimated = false;
  let notes: Parameters<typeof noteLines>[0];
  const by = flags.get("by")?.[0] as typeof SUMMARY_KEYS[number] | undefined;
  const rows = await query.client.summary({
    ...query.input,
    by,
    onProgress(progress) {
      notes = progress.notes;
      const { expectedRows, pages } = progress;
      if (isEstimated || expectedRows === undefined || pages === 0) return;
      isEstimated = true;
      context.printError(estimateReading(expectedRows, "Observations"));
    },
  });
  await context.print(summaryCsv(rows, by).replaceAll("\r\n", "\n"));
  noteLines(notes).forEach(context.printError);
  const found = Object.entries(COLUMNS).filter(([, column]) => rows[0]?.[column] !== undefined)
    .map(([field, column]) => [field, rows.map((row) => String(row[column]))]);
  await printReasons(query, rows.length, Object.fromEntries(found));
}
