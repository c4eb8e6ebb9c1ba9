import { fieldsOf as allFields, type TextFormat } from "../../helpers/resources.ts";
import { type Batch, type Cursor, DataStream, type Progress, type Query } from "../../../mod.ts";
import { createApp } from "../../../edge/app.ts";
import { readCsv } from "../../helpers/rfc4180.ts";
import type { FaultyService } from "./faulty_service.ts";
import type { Plan } from "./plan.ts";
import { withOptions } from "./wire.ts";
import { API_KEY, type WireRow } from "./reference_rows.ts";

/** Data that a run delivered to its reader. */
export interface RunOutput {
  /** Delivered rows; rows of CSV are lists of cells. */
  rows: (WireRow | string[])[];
  /** Error that ended the run; `undefined` if it succeeded. */
  error: unknown;
  /** Whether the output is complete: a header of CSV, the closing brackets of JSON. */
  isClosed: boolean;
  progress: Progress[];
  log: string[];
  /** Status of a download from the server. */
  status: number | undefined;
  /** Body of the response if the status is not 200. */
  problem: string;
}

/** Reads the query of a plan from its service; never rejects. */
export async function readOutput(plan: Plan, service: FaultyService): Promise<RunOutput> {
  const outcome: RunOutput = {
    rows: [],
    error: undefined,
    isClosed: true,
    progress: [],
    log: [],
    status: undefined,
    problem: "",
  };
  try {
    if (plan.output.startsWith("edge-")) await download(plan, service, outcome);
    else await read(plan, service, outcome);
  } catch (error) {
    outcome.error = error;
  }
  return outcome;
}

async function read(plan: Plan, service: FaultyService, outcome: RunOutput): Promise<void> {
  const query = queryOf(plan, service, (progress) => outcome.progress.push(progress));
  const { output } = plan;
  const pause = () => pauseReader(plan, service);
  if (output === "toArray") {
    outcome.rows = await query.toArray();
  } else if (output === "loop") {
    for await (const row of query) outcome.rows.push(row);
  } else if (output === "rows") {
    for await (const row of query.rows()) outcome.rows.push(row);
  } else if (output === "pages") {
    for await (const page of query.pages()) {
      outcome.rows.push(...page);
      await pause();
    }
  } else if (output === "batches") {
    await readInterrupted(query, plan, service, outcome);
  } else {
    const format = output as TextFormat;
    await collect(query.bytes(format), format, outcome, pause);
  }
}

/** Reads a query in runs that end after random batches. Each run continues after the cursor of the one before. */
async function readInterrupted(
  query: Query<WireRow>,
  { tokens }: Plan,
  { random }: FaultyService,
  { rows, progress }: RunOutput,
): Promise<void> {
  // With tokens of another form, no request can continue within a page.
  const parts = tokens === "id" && random.chance(0.5);
  let last: Batch<WireRow[]> | undefined;
  while (!last?.isLast) {
    const after: Cursor | undefined = last && JSON.parse(JSON.stringify(last.cursor));
    for await (const batch of query.batches({ after, parts })) {
      last = batch;
      rows.push(...batch.data);
      if (!batch.isLast && random.chance(0.4)) break;
    }
  }
  progress.push({ ...progress.at(-1)!, missingRows: last.missingRows });
}

function queryOf(
  plan: Plan,
  service: FaultyService,
  onProgress: (progress: Progress) => void,
): Query<WireRow> {
  const client = new DataStream({
    apiKey: API_KEY,
    baseUrl: service.baseUrl,
    clock: service.clock,
    fetch: service.fetch,
  });
  const { select, filter, within, top, limit, skipToken, partition, incomplete, maxRows } = plan;
  const input = { select, filter, within, top, limit, skipToken, partition, incomplete, maxRows };
  const query: Query<unknown> = client.query(plan.resource, { ...input, onProgress });
  return query as Query<WireRow>;
}

async function download(plan: Plan, service: FaultyService, outcome: RunOutput): Promise<void> {
  const app = createApp({
    access: "public",
    apiKey: API_KEY,
    baseUrl: service.baseUrl,
    clock: service.clock,
    fetch: service.fetch,
    pageRows: plan.top,
    log: (line) => outcome.log.push(line),
    ...(plan.maxRows !== undefined && { maxRows: plan.maxRows }),
  });
  const format = plan.output.slice("edge-".length) as TextFormat;
  const { within } = plan;
  const options = {
    "$select": plan.select?.join(","),
    "$filter": plan.filter,
    "$skiptoken": plan.skipToken,
    limit: plan.limit?.toString(),
    bbox: within && [within.west, within.south, within.east, within.north].join(","),
  };
  const url = withOptions(new URL(`https://edge.invalid/${plan.resource}.${format}`), options);
  const response = await app.fetch(new Request(url));
  outcome.status = response.status;
  if (response.status !== 200) {
    outcome.problem = await response.text();
    throw new Error(outcome.problem);
  }
  await collect(response.body!, format, outcome, () => pauseReader(plan, service));
}

async function pauseReader({ readerDelay }: Plan, { clock, random }: FaultyService): Promise<void> {
  if (readerDelay > 0 && random.chance(0.3)) {
    await clock.sleep(random.int(1, readerDelay));
  }
}

/** Reads a stream to its end or an error, then parses the rows. */
async function collect(
  stream: ReadableStream<Uint8Array>,
  format: TextFormat,
  outcome: RunOutput,
  pause: () => Promise<void>,
): Promise<void> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let text = "";
  let failure: unknown;
  try {
    for await (const chunk of stream) {
      text += decoder.decode(chunk, { stream: true });
      await pause();
    }
    text += decoder.decode();
  } catch (error) {
    failure = error ?? new Error("The stream failed without a reason");
  }
  Object.assign(outcome, PARSERS[format](text));
  if (failure !== undefined) throw failure;
}

/** Functions that parse a document, which may end too early, by format. */
const PARSERS: Record<TextFormat, (text: string) => Pick<RunOutput, "rows" | "isClosed">> = {
  csv(text) {
    const lines = readCsv(text);
    return { rows: lines.slice(1), isClosed: lines.length > 0 && text.endsWith("\r\n") };
  },
  ndjson: (text) => ({
    rows: text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line)),
    isClosed: text === "" || text.endsWith("\n"),
  }),
  json: (text) => parseList(text, "value"),
  geojson(text) {
    const { rows, isClosed } = parseList(text, "features");
    return { rows: rows.map(rowOfFeature), isClosed };
  },
};

/** Parses a JSON document whose rows are the last member. */
function parseList(text: string, name: string): { rows: WireRow[]; isClosed: boolean } {
  const close = "]}";
  const trimmed = text.trimEnd();
  const isClosed = trimmed.endsWith(close) && isJson(trimmed);
  if (trimmed === "") return { rows: [], isClosed: false };
  const closed = isClosed ? trimmed : `${trimmed.replace(/,$/, "")}${close}`;
  return { rows: JSON.parse(closed)[name], isClosed };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Returns the row in the properties of a feature, after comparing its coordinates. */
function rowOfFeature(feature: WireRow): WireRow {
  const row = feature["properties"] as WireRow;
  const geometry = feature["geometry"] as {
    type: string;
    coordinates: number[];
  } | null;
  const { Longitude, Latitude } = row;
  if (feature["type"] !== "Feature" || geometry?.type !== "Point") {
    throw new Error(`Not a point: ${JSON.stringify(feature)}`);
  }
  if (geometry.coordinates.join() !== `${Longitude},${Latitude}`) {
    throw new Error(`Wrong coordinates: ${JSON.stringify(feature)}`);
  }
  return row;
}

/** Returns the column names of a plan's rows. */
export function fieldsOf({ select, resource }: Plan): string[] {
  return select ?? allFields(resource);
}
