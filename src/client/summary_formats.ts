// Summaries in the formats of files.
import { type Bytes, utf8Encoder } from "../bytes.ts";
import type { Citation } from "../formats/citations.ts";
import { FORMATS, type SummaryFormat } from "../formats/formats.ts";
import type { Language } from "../language.ts";
import { toWiderMetadataFilter } from "../odata/query_options.ts";
import type { DataStream } from "./datastream.ts";
import type { ResourceName } from "../odata/resources.ts";
import { requestDatasets } from "./dataset_versions.ts";
import { summaryColumns, summaryCsv, type SummaryOptions, type SummaryRow } from "./summary.ts";

/** A summary, and the facts for formats that say where the rows are from. */
interface Summary {
  rows: readonly SummaryRow[];
  by: SummaryOptions["by"];
  /** URL of the rows that are summarized. */
  url: string;
  time: Date;
  language?: Language | undefined;
  /** Default: the datasets are not named. */
  citations?: readonly Citation[] | undefined;
}

type Write = (summary: Summary) => Bytes | Promise<Bytes>;

const WRITERS = {
  csv: ({ rows, by }) => utf8Encoder.encode(summaryCsv(rows, by)),
  ndjson: ({ rows }) => utf8Encoder.encode(rows.map((row) => `${JSON.stringify(row)}\n`).join("")),
  async parquet({ rows, by }) {
    const { rowsToParquet } = await import("../formats/parquet_rows.ts");
    const columns = summaryColumns(rows, by).map((name) => [name, COLUMNS[name][0]] as const);
    return rowsToParquet(columns, rows.map((row) => ({ ...row })));
  },
  async xlsx({ rows, by, ...facts }) {
    const { rowsToXlsx } = await import("../formats/xlsx_rows.ts");
    const columns = summaryColumns(rows, by).map((name) => [name, ...COLUMNS[name]] as const);
    return await rowsToXlsx(columns, rows, { ...facts, title: "Summary of DataStream" });
  },
} as const satisfies Record<SummaryFormat, Write>;

/** Returns a summary in a format. Requests the citations, if the format has them. */
export async function writeSummary(
  client: DataStream,
  format: SummaryFormat,
  rows: readonly SummaryRow[],
  { by, ...query }: SummaryOptions,
  about: Pick<Summary, "time" | "language">,
): Promise<Bytes> {
  const citations = FORMATS[format].hasCitations
    ? await requestDatasets(client, toWiderMetadataFilter(query), query.signal)
    : undefined;
  const { url } = client.query<ResourceName>("Observations", query);
  return await WRITERS[format]({ rows, by, url, citations, ...about });
}

/** Types, for formats that have them, and meanings of the columns. */
const COLUMNS = {
  dataset: ["text", "DOI of the dataset"],
  dataset_name: ["text", "title of the dataset"],
  location_id: ["integer", "Id of the location"],
  location_name: ["text", "name of the location"],
  characteristic: ["text", "what was measured"],
  year: ["text", "year of the activity"],
  results: ["integer", "number of rows"],
  first_year: ["text", "first year of a row"],
  last_year: ["text", "last year of a row"],
  units: ["texts", "units of the results, or of the limits that bound them"],
  forms: ["texts", "chemical forms"],
  fractions: ["texts", "fractions of the samples"],
  none: ["integer", "rows with a result"],
  left: ["integer", "rows below a limit"],
  right: ["integer", "rows above a limit"],
  unknown: ["integer", "rows whose result has no stated interval"],
  missing: ["integer", "rows without a result: not reported, not measured"],
} as const satisfies Record<keyof SummaryRow, readonly [type: string, meaning: string]>;
