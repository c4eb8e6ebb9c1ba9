import { DataStream } from "../client/datastream.ts";
import { summaryCsv } from "../client/summary.ts";
import { SUMMARY_KEYS } from "../odata/resources.ts";
import type { Arguments } from "./arguments.ts";
import type { Context } from "./context.ts";
import { readClientOptions, readFlag, readQuery } from "./flags.ts";
import { countText, noteLines } from "./progress_report.ts";
import { explainCount, noRowsLines } from "./value_hints.ts";
import { PAGE_SIZE } from "./values.ts";

export async function printSummary({ flags }: Arguments, context: Context): Promise<void> {
  const client = new DataStream(await readClientOptions(flags, context));
  const { filter, within, from, to, excludeQualityControl } = readQuery(flags);
  const started = performance.now();
  let isEstimated = false;
  let notes: Parameters<typeof noteLines>[0];
  const by = readFlag(
    flags,
    "by",
    `one of ${SUMMARY_KEYS.join(", ")}`,
    (text) => SUMMARY_KEYS.find((name) => name === text),
  );
  const query = { filter, within, from, to, excludeQualityControl, signal: context.signal };
  const rows = await client.summary({
    ...query,
    by,
    onProgress(progress) {
      notes = progress.notes;
      const { expectedRows, pages } = progress;
      if (isEstimated || expectedRows === undefined || pages === 0) return;
      isEstimated = true;
      // One more for the count, and one or more for the names.
      const requests = Math.ceil(expectedRows / PAGE_SIZE) + 2;
      const seconds = (performance.now() - started) / 1000 / pages;
      const minutes = Math.ceil(Math.max(seconds, 0.5) * requests / 60);
      context.printError(
        `Reading ${
          countText(expectedRows)
        } of Observations: about ${requests} requests, ${minutes} min`,
      );
    },
  });
  await context.print(summaryCsv(rows, by).replaceAll("\r\n", "\n"));
  noteLines(notes).forEach(context.printError);
  const reasons = await explainCount(client, "Observations", query, rows.length);
  noRowsLines(reasons, flags).forEach(context.printError);
}
