import { ValidationError } from "../errors.ts";
import {
  type Citation,
  CITED_FIELDS,
  type DatasetVersion,
  toCitation,
} from "../formats/citations.ts";
import { MAXIMUM_TOP } from "../odata/resources.ts";
import type { DataStream } from "./datastream.ts";

const VERSION_FIELDS = ["DOI", "Version", "PublishedTimestamp"] as const;

export async function requestDatasetVersions(
  client: DataStream,
  filter: string | undefined,
  signal: AbortSignal,
): Promise<DatasetVersion[]> {
  const rows = await requestRows(client, filter, signal, VERSION_FIELDS);
  return rows.map(({ DOI, Version, PublishedTimestamp }) =>
    [`${DOI}`, Version ?? "", PublishedTimestamp ?? ""] as const
  );
}

export async function requestDatasets(
  client: DataStream,
  filter: string | undefined,
  signal: AbortSignal,
): Promise<Citation[]> {
  const rows = await requestRows(client, filter, signal, CITED_FIELDS);
  return rows.map((row) => toCitation({ ...row, DOI: `${row.DOI}` }));
}

async function requestRows<F extends typeof CITED_FIELDS[number]>(
  client: DataStream,
  filter: string | undefined,
  signal: AbortSignal,
  select: readonly F[],
) {
  const request = (filter: string | undefined) =>
    client.metadata({ select, filter, top: MAXIMUM_TOP, signal });
  try {
    return await request(filter).toArray();
  } catch (error) {
    // A URL of Metadata with this filter is too long, although the URL of the query is not.
    if (!(error instanceof ValidationError)) throw error;
    return await request(undefined).toArray();
  }
}
