import type { DataStream } from "../../src/client/datastream.ts";
import { summaryCsv } from "../../src/client/summary.ts";
import { DataStreamError } from "../../src/errors.ts";
import { SUMMARY_KEYS } from "../../src/odata/resources.ts";
import { invalidValue } from "../../src/validation.ts";
import { type AppContext, authorize, respondWithText } from "./download.ts";
import type { Exchange } from "../operation/request_log.ts";
import { HttpProblem } from "./problem.ts";
import { loggedParameters, readBoolean, readBoundingBox, readParameters } from "./parameters.ts";

export const SUMMARY_PATH = "/Summary.csv";

/** Observations: needs 11 requests. */
const MAX_SUMMARIZED = 100_000;

export async function respondWithSummary(
  exchange: Exchange,
  context: AppContext,
): Promise<Response> {
  const { accessControl: { parameters }, settings } = context;
  const dataStream = await authorize(exchange, context);
  const own = ["$filter", "bbox", "from", "to", "excludeQualityControl", "by"];
  const values = readParameters(new URL(exchange.request.url), [...own, ...parameters]);
  const by = SUMMARY_KEYS.find((key) => key === values.get("by"));
  if (values.has("by") && by === undefined) {
    throw invalidValue("by", `one of ${SUMMARY_KEYS.join(", ")}`, values.get("by"));
  }
  const query = {
    filter: values.get("$filter"),
    within: readBoundingBox(values.get("bbox")),
    from: values.get("from"),
    to: values.get("to"),
    excludeQualityControl: readBoolean(values, "excludeQualityControl"),
    maxRows: Math.min(settings.maxRows, MAX_SUMMARIZED),
  };
  dataStream.observations(query); // throws if an option is invalid
  exchange.query = loggedParameters(values, parameters);
  return await respondWithText(exchange, context, {
    mediaType: "text/csv",
    id: [SUMMARY_PATH, query, by],
    task: "Summary",
    async request(signal) {
      const rows = await requestSummary(dataStream, { ...query, by, signal });
      return { text: summaryCsv(rows, by), rows: rows.length };
    },
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
