import { type Batch, type Cursor, DataStream, type Progress, type Query } from "../../../mod.ts";
import { createApp } from "../../../edge/app.ts";
import type { TextFormat } from "../../helpers/resources.ts";
import { readCsv } from "../../helpers/rfc4180.ts";
import type { FaultyService } from "./faulty_service.ts";
import { withOptions } from "./links.ts";
import type { Plan } from "./plan.ts";
import { API_KEY, type WireRow } from "./reference_rows.ts";

/** Data that a run delivered to its reader. */
export interface RunOutput {
  /** Delivered rows; rows of CSV are lists of cells. */
  rows: (WireRow | string[])[];
  /** Error that ended the run; `undefined` if it succeeded. */
  error: unknown;
  /** Whether a document is complete: a header of CSV, the closing brackets of JSON. */
  isClosed: boolean;
  missingRows: number;
  surplusRows: number;
  /** Log of the server. */
  log: string[];
  /** Status of a download from the server. */
  status: number | undefined;
}

/** Reads the query of a plan from its service; never rejects. */
export async function readOutput(plan: Plan, service: FaultyService): Promise<RunOutput> {
  const output: RunOutput = {
    rows: [],
    error: undefined,
    isClosed: true,
    missingRows: 0,
    surplusRows: 0,
    log: [],
    status: undefined,
  };
  try {
    if (plan.reader === "server") await download(plan, service, output);
    else await read(plan, service, output);
  } catch (error) {
    output.error = error;
  }
  return output;
}

async function read(plan: Plan, service: FaultyService, output: RunOutput): Promise<void> {
  const { apiKey, baseUrl, clock, fetch } = optionsOf(service);
  const client = new DataStream({ apiKey, baseUrl, clock, fetch });
  const { select, filter, within, top, limit, skipToken, partition, incomplete } = plan;
  const options = { select, filter, within, top, limit, skipToken, partition, incomplete };
  const onProgress = ({ missingRows = 0, surplusRows = 0 }: Progress) => {
    Object.assign(output, { missingRows, surplusRows });
  };
  const query = client.query(plan.resource, { ...options, onProgress }) as Query<WireRow>;
  if (plan.reader === "toArray") {
    output.rows = await query.toArray();
  } else if (plan.reader === "rows") {
    for await (const row of query.rows()) output.rows.push(row);
  } else if (plan.reader === "pages") {
    for await (const page of query.pages()) output.rows.push(...page);
  } else if (plan.reader === "batches") {
    await readInterrupted(query, plan, service, output);
  } else {
    await collect(query.bytes(plan.format!), plan.format!, output);
  }
}

/** Reads a query in runs that end after random batches. Each run continues after the cursor of the one before. */
async function readInterrupted(
  query: Query<WireRow>,
  { tokens }: Plan,
  { random }: FaultyService,
  output: RunOutput,
): Promise<void> {
  // With tokens of another form, no request can continue within a page.
  const parts = tokens === "id" && random.chance(0.5);
  let last: Batch<WireRow[]> | undefined;
  while (!last?.isLast) {
    const after: Cursor | undefined = last && JSON.parse(JSON.stringify(last.cursor));
    for await (const batch of query.batches({ after, parts })) {
      last = batch;
      output.rows.push(...batch.data);
      if (!batch.isLast && random.chance(0.4)) break;
    }
  }
  const { missingRows, surplusRows } = last;
  Object.assign(output, { missingRows, surplusRows });
}

async function download(plan: Plan, service: FaultyService, output: RunOutput): Promise<void> {
  const app = createApp({
    ...optionsOf(service),
    access: "public",
    pageRows: plan.top,
    log: (line) => output.log.push(line),
  });
  const { within, format } = plan;
  const url = withOptions(new URL(`https://edge.invalid/${plan.resource}.${format}`), {
    "$select": plan.select.join(","),
    "$filter": plan.filter,
    "$skiptoken": plan.skipToken,
    limit: plan.limit?.toString(),
    bbox: within && [within.west, within.south, within.east, within.north].join(","),
  });
  const response = await app.fetch(new Request(url));
  output.status = response.status;
  if (response.status !== 200) throw new Error(await response.text());
  await collect(response.body!, format!, output);
}

function optionsOf({ baseUrl, clock, fetch }: FaultyService) {
  return { apiKey: API_KEY, baseUrl, clock, fetch };
}

/** Reads a stream to its end or an error, then parses the rows. */
async function collect(
  stream: ReadableStream<Uint8Array>,
  format: TextFormat,
  output: RunOutput,
): Promise<void> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let text = "";
  try {
    for await (const chunk of stream) text += decoder.decode(chunk, { stream: true });
  } finally {
    Object.assign(output, PARSERS[format](text));
  }
}

/** Functions that parse a document, which may end too early, by format. */
const PARSERS: Record<TextFormat, (text: string) => Pick<RunOutput, "rows" | "isClosed">> = {
  csv: (text) => ({ rows: readCsv(text).slice(1), isClosed: text.endsWith("\r\n") }),
  tsv: (text) => ({
    rows: readCsv(text, "\r\n", "\t").slice(1),
    isClosed: text.endsWith("\r\n"),
  }),
  ndjson: (text) => ({
    rows: text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line)),
    isClosed: text === "" || text.endsWith("\n"),
  }),
  json(text) {
    const { content, isClosed } = parseList(text);
    return { rows: content["value"] as WireRow[], isClosed };
  },
  geojson(text) {
    const { content, isClosed } = parseList(text);
    const features = content["features"] as { properties: WireRow }[];
    return { rows: features.map(({ properties }) => properties), isClosed };
  },
};

/** Parses a JSON document whose last member has the rows. */
function parseList(text: string): { content: Record<string, unknown>; isClosed: boolean } {
  try {
    return { content: JSON.parse(text), isClosed: true };
  } catch {
    const closed = text === "" ? '{"value":[],"features":[]}' : `${text.replace(/,\s*$/, "")}]}`;
    return { content: JSON.parse(closed), isClosed: false };
  }
}
