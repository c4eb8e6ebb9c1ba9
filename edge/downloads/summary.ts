import type { DataStream } from "../../src/client/datastream.ts";
import { summaryCsv } from "../../src/client/summary.ts";
import { DataStreamError } from "../../src/errors.ts";
import { checkQuery } from "../../src/odata/query_options.ts";
import { type AppContext, respondWithText } from "./download.ts";
import type { Exchange } from "../http/exchange.ts";
import { HttpProblem } from "../http/problem.ts";

export const SUMMARY_PATH = "/Summary.csv";

/** Observations: needs 11 requests. */
const MAX_SUMMARIZED = 100_000;

const PARAMETERS = ["$filter", "bbox", "from", "to", "excludeQualityControl", "by"] as const;

export async function respondWithSummary(
  exchange: Exchange,
  context: AppContext,
): Promise<Response> {
  const maxRows = Math.min(context.settings.maxRows, MAX_SUMMARIZED);
  return await respondWithText(exchange, context, PARAMETERS, (dataStream, { by, ...options }) => {
    const query = { ...options, maxRows };
    return {
      mediaType: "text/csv",
      id: [SUMMARY_PATH, checkQuery("Observations", query), by],
      task: "Summary",
      async request(signal) {
        const rows = await requestSummary(dataStream, { ...query, by, signal });
        return { text: summaryCsv(rows, by), rows: rows.length };
      },
    };
  });
}

async function requestSummary(
  dataStream: DataStream,
  options: NonNullable<Parameters<DataStream["summary"]>[0]>,
): ReturnType<DataStream["summary"]> {
  try {
    return await dataStream.summary(options);
  } catch (error) {
    if (!(error instanceof DataStreamError) || error.kind !== "too-many-rows") throw error;
    throw new HttpProblem({
      status: 413,
      title: "Result too large",
      detail: `The summary has to read ${error.expectedRows} rows, more than ${options.maxRows}`,
      hint: "narrow the filter, or use the command weir summary, which has no limit",
    });
  }
}
