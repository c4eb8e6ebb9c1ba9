import { DataStream } from "../client/datastream.ts";
import { type DataStreamOptions, defaultFetch } from "../client/options.ts";
import { dateOf } from "../client/http_error.ts";
import { explainNoRows, type NoRowsReason, unmatchedValues } from "../client/no_rows.ts";
import type { ResourceName } from "../odata/resources.ts";
import { readKey } from "./api_key.ts";
import { type Context, UsageError } from "./context.ts";
import { formatFlags } from "./arguments.ts";
import { type ShowRetry, startRetryReport } from "./progress_report.ts";
import { type FlagValues, readBaseUrl, readQuery, SERVICE_FLAGS, VALUE_FIELDS } from "./flags.ts";

/** The query of a command line. */
export interface CommandQuery {
  resource: ResourceName;
  flags: FlagValues;
  context: Context;
  client: DataStream;
  /** `undefined` for the production service. */
  baseUrl: string | undefined;
  input: ReturnType<typeof readQuery> & { signal: AbortSignal };
  /** Returns the time (ms since 1970) of the service: its clock and that of this computer can differ. */
  serviceTime: () => number;
  /** While rows arrive, their progress shows retries. */
  retries: { show: ShowRetry };
}

/** Throws for wrong values of flags before a missing API key. */
export async function readCommandQuery(
  resource: ResourceName,
  flags: FlagValues,
  context: Context,
): Promise<CommandQuery> {
  const input = { ...readQuery(flags), signal: context.signal };
  const { fetch = defaultFetch, ...options } = await readClientOptions(flags, context);
  const { baseUrl } = options;
  const { clock } = context;
  let offset = 0;
  const datedFetch = async (request: Request) => {
    const response = await fetch(request);
    const date = dateOf(response.headers);
    if (date !== undefined) offset = date - clock.now();
    return response;
  };
  const reporting = createReportingClient({ ...options, fetch: datedFetch }, flags, context);
  const serviceTime = () => clock.now() + offset;
  return { resource, flags, context, input, baseUrl, serviceTime, ...reporting };
}

export function createReportingClient(
  options: DataStreamOptions,
  flags: FlagValues,
  context: Context,
): Pick<CommandQuery, "client" | "retries"> {
  const retries = { show: startRetryReport(context, flags.has("quiet")) };
  const client: DataStream = new DataStream({
    ...options,
    onRetry: (fault, wait) => retries.show(fault, wait, client.service),
  });
  return { client, retries };
}

export async function readClientOptions(
  flags: FlagValues,
  context: Context,
): Promise<DataStreamOptions> {
  const baseUrl = readBaseUrl(flags, context);
  const rate = context.environmentIfAllowed("WEIR_REQUESTS_PER_SECOND");
  if (rate && !(Number(rate) > 0)) {
    throw new UsageError(`WEIR_REQUESTS_PER_SECOND must be a number above 0, got "${rate}"`);
  }
  const limits = rate ? { requestsPerSecond: Number(rate) } : {};
  const firewall = flags.has("sandbox-firewall");
  if (firewall || flags.has("sandbox")) {
    const { createSandbox } = await import("../sandbox/service.ts");
    const { apiKey, url, fetch } = createSandbox({ ...limits, firewall });
    return { ...limits, apiKey, baseUrl: url, fetch };
  }
  return { ...limits, apiKey: await readKey(context), baseUrl };
}

/** A list from a file can have thousands of values. */
const MAX_REASONS = 20;

/**
 * Prints the values of the filter without rows. Returns 1 if there are any and `--strict` is given.
 */
export async function printReasons(
  { client, resource, input, flags, context }: CommandQuery,
  rows: number,
  found?: Parameters<typeof unmatchedValues>[3],
): Promise<number> {
  const isStrict = flags.has("strict");
  const onCount = (field: string, counts: number, values: number) => {
    const counted = counts < values ? `${counts} of ${values}` : `each of ${values}`;
    if (!flags.has("quiet")) {
      context.printError(`Counting the rows of ${counted} listed values of ${field}`);
    }
  };
  const onCountIfAll = isStrict || flags.has("count") ? onCount : undefined;
  const reasons = rows === 0
    ? await explainNoRows(client, resource, input)
    : await unmatchedValues(client, resource, input, found, onCountIfAll);
  noRowsLines(reasons, flags).forEach(context.printError);
  return reasons.length > 0 && isStrict ? 1 : 0;
}

function noRowsLines(reasons: readonly NoRowsReason[], flags: FlagValues): string[] {
  const lines = reasons.slice(0, MAX_REASONS).map(({ text }) => text);
  const others = reasons.length - lines.length;
  if (others > 0) lines.push(`${others} more values match no row`);
  const service = Object.keys(SERVICE_FLAGS);
  for (const [name, field] of [["", "DOI"], ...Object.entries(VALUE_FIELDS)]) {
    const ofField = reasons.filter((reason) => reason.field === field);
    if (ofField.length === 0) continue;
    if (field === "DOI") {
      const command = `weir metadata --select DOI,DatasetName${formatFlags(flags, service)}`;
      lines.push(`To list the datasets: ${command}`);
    } else if (ofField.some(({ hasUnknownValue }) => hasUnknownValue)) {
      lines.push(`To list the known values: weir values ${name}`);
    } else if (field !== "RegionId") {
      const others = formatFlags(flags, ["doi", "region", ...service]);
      lines.push(`To list the values that occur: weir values ${name} --live${others}`);
    }
  }
  return lines;
}
