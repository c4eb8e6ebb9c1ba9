import type { DataStream } from "../../src/client/datastream.ts";
import { writeSummary } from "../../src/client/summary_formats.ts";
import { DataStreamError } from "../../src/errors.ts";
import { FORMATS, SUMMARY_FORMATS, type SummaryFormat } from "../../src/formats/formats.ts";
import { checkQuery } from "../../src/odata/query_options.ts";
import { type AppContext, respondWithText } from "./document.ts";
import type { Exchange } from "../http/exchange.ts";
import { HttpProblem } from "../http/problem.ts";

const FORMATS_BY_PATH: ReadonlyMap<string, SummaryFormat> = new Map(
  SUMMARY_FORMATS.map((format) => [`/Summary.${format}`, format]),
);

export const SUMMARY_PATHS = [...FORMATS_BY_PATH.keys()];

/** Observations: needs 11 requests. */
const MAX_SUMMARIZED = 100_000;

const PARAMETERS = ["$filter", "bbox", "from", "to", "excludeQualityControl", "by"] as const;

export async function respondWithSummary(
  exchange: Exchange,
  path: string,
  context: AppContext,
): Promise<Response> {
  const format = FORMATS_BY_PATH.get(path)!;
  const { mediaType, isBinary, hasCitations } = FORMATS[format];
  const names = [...PARAMETERS, ...hasCitations ? ["lang"] as const : []];
  const maxRows = Math.min(context.settings.maxRows, MAX_SUMMARIZED);
  return await respondWithText(
    exchange,
    context,
    names,
    (dataStream, { by, language, ...options }) => {
      const query = { ...options, maxRows };
      return {
        mediaType,
        isBinary,
        id: [path, checkQuery("Observations", query), by, language],
        task: "Summary",
        async request(signal) {
          const summarized = { ...query, by, signal };
          const rows = await requestSummary(dataStream, summarized);
          const about = { time: new Date(context.settings.now()), language };
          const content = await writeSummary(dataStream, format, rows, summarized, about);
          return { content, rows: rows.length };
        },
      };
    },
  );
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
