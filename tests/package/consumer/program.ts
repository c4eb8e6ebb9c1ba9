// Uses the public API. The tests compile it as an ECMAScript module and as CommonJS.
import {
  and,
  type Citation,
  type CsvOptions,
  DataStream,
  DataStreamError,
  type DataStreamOptions,
  endpoint,
  eq,
  type Field,
  type Filter,
  FILTER_FIELDS,
  gte,
  type Query,
  type ResourceName,
  RESOURCES,
  type Row,
  type TidyRow,
  toRequest,
} from "@weir/datastream";
import { main } from "@weir/datastream/cli";
import { createApp, type EdgeApp, signUrl } from "@weir/datastream/edge";
import type { RequestOptions } from "@weir/datastream/endpoint";
import { createSandbox, type Sandbox } from "@weir/datastream/sandbox";

const sandbox: Sandbox = createSandbox({ requestsPerSecond: Infinity });
const options: DataStreamOptions = {
  apiKey: sandbox.apiKey,
  baseUrl: sandbox.url,
  fetch: sandbox.fetch,
  requestsPerSecond: Infinity,
};
const client: DataStream = new DataStream(options);

class Subclass extends DataStream {}

function recordsOf<const S extends Field<"Records">[]>(select: S) {
  return client.records({ select, tidy: true, limit: 1 });
}

/** Compiles only if each line with an expected error has one. */
export const wrong = (): unknown[] => [
  // @ts-expect-error -- Records has no LocationId
  client.records({ select: ["LocationId"] }),
  // @ts-expect-error -- Records has no Name
  recordsOf(["Name"]),
  // @ts-expect-error -- datasets have no days
  client.metadata({ from: "2020-01-01" }),
  // @ts-expect-error -- locations have no results
  client.query("Locations", { tidy: true }),
  // @ts-expect-error -- there is no such resource
  client.query("Record"),
];

async function program(): Promise<void> {
  const filter: Filter = and(eq("CharacteristicName", "pH"), gte("ActivityStartYear", 2015));
  const narrow = client.records({ select: ["Id", "ResultValue"], filter });
  for await (const row of narrow) {
    const id: number = row.Id;
    const value: number | null = row.ResultValue;
    console.error(id, value);
  }
  for await (const row of recordsOf(["Id"])) {
    const values: [number, TidyRow["censoring"]] = [row.Id, row.censoring];
    console.error(values);
  }
  for await (const row of client.locations({ unchecked: true, limit: 1 })) {
    const values: [number, unknown] = [row.Id, row.New];
    console.error(values);
  }
  const records: Query<Row<"Records">> = client.records();
  const locations: Row<"Locations">[] = await client.locations({ limit: 1 }).toArray();
  const longitude: number = locations[0]!.Longitude;
  const csv: CsvOptions = { bom: true };
  const bytes: ReadableStream<Uint8Array> = records.csv(csv);
  await bytes.cancel();
  const request: RequestOptions = endpoint("GET /{resource}", { resource: "Locations" });
  const url: string = toRequest(request).url;
  const app: EdgeApp = createApp({ access: "public", ...options });
  const health: Response = await app.request("/healthz");
  const signed: Promise<string> = signUrl(url, { secret: "s".repeat(32), expires: new Date(0) });
  const citations: Citation[] = await new Subclass(options).citations();
  const resources: ResourceName[] = ["Metadata", "Records"];
  const paths: "/Records" = RESOURCES.Records.path;
  const kind: "number" = FILTER_FIELDS.LocationId;
  try {
    await new DataStream({ ...options, apiKey: "wrong" }).records().count();
  } catch (error) {
    if (!(error instanceof DataStreamError)) throw error;
    const status: number | undefined = error.status;
    console.log(typeof longitude, health.status, citations.length > 0, kind, status);
  }
  void [signed, resources, paths, main];
}

void program();
