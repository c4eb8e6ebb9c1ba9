// The documents of a query (CSV, NDJSON, JSON, GeoJSON) have every cell of every page.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { DataStream, DataStreamError, ValidationError } from "../../../mod.ts";
import { fieldsOf } from "../../helpers/resources.ts";
import { readCsv } from "../../helpers/rfc4180.ts";
import { sandboxAndClient, sandboxRequests } from "../../helpers/sandbox.ts";
import { page, ROOT, upstream } from "../../helpers/upstream.ts";

const read = (stream: ReadableStream<Uint8Array<ArrayBuffer>>) => new Response(stream).text();
const next = (id: number) => `${ROOT}/Locations?$skiptoken=Id:${id}`;

Deno.test("geojson() writes every row of every page without Id when it is not selected", async () => {
  const { client } = sandboxAndClient();
  const rows = await sandboxRequests().rows("Locations");
  const select = ["Name", "Latitude", "Longitude"] as const;
  const { features } = JSON.parse(await read(client.locations({ select, top: 7 }).geojson()));
  assertEquals(
    features.map(({ properties }: { properties: object }) => properties),
    rows.map(({ Name, Latitude, Longitude }) => ({ Name, Latitude, Longitude })),
  );
});

Deno.test("geojson() throws when a coordinate is not selected", () => {
  const query = new DataStream().locations({ select: ["Id", "Latitude"] });
  assertThrows(() => query.geojson(), ValidationError, "select must contain Longitude for GeoJSON");
  assertEquals("geojson" in new DataStream().records(), false);
});

Deno.test("csv() has columns that the rows lack only when the query is unchecked", async () => {
  const { client } = sandboxAndClient({ records: 3 });
  const wrong = () => client.records({ select: ["Id"] }).csv({ columns: ["ResultUnit"] });
  assertThrows(wrong, ValidationError, "must be selected fields");
  const unchecked = client.records({ unchecked: true }).csv({ columns: ["New", "Id"] });
  assertEquals((await read(unchecked)).split("\r\n")[1], ",500003");
});

Deno.test("csv() appends unknown fields of the first page, and fails when a later page has one", async () => {
  const { options, requests } = upstream(
    page([{ Id: 1, New: "x" }, { Id: 2, Newer: "y" }], next(2)),
    page([{ Id: 3, New: "z" }], next(3)),
    page([{ Id: 4, Newest: "z" }]),
  );
  const client = new DataStream({ ...options, retry: {} });
  const reader = client.locations().csv().getReader();
  const lines = async () => readCsv(new TextDecoder().decode((await reader.read()).value));
  const [header, first, second] = await lines();
  assertEquals(header, [...fieldsOf("Locations"), "New", "Newer"]);
  assertEquals([first?.slice(-2), second?.slice(-2)], [["x", ""], ["", "y"]]);
  assertEquals((await lines())[0]?.slice(-2), ["z", ""]);
  const message = 'Field "Newest" first appears after';
  const error = await assertRejects(() => reader.read(), DataStreamError, message);
  // Asking again would bring the same.
  assertEquals([error.kind, requests.length], ["page", 3]);
});

Deno.test("records() requests Id for its checks and removes it when it is not selected", async () => {
  const select = ["CharacteristicName", "ResultValue", "DOI"] as const;
  const { client } = sandboxAndClient({ records: 300 });
  const query = client.records({ select, top: 100 });
  const rows = await query.toArray();
  assertEquals(rows.length, 300);
  assert(rows.every((row) => Object.keys(row).join() === select.join()));
  assertEquals(
    await read(query.ndjson()),
    rows.map((row) => `${JSON.stringify(row)}\n`).join(""),
  );
  assertEquals(await read(query.json()), `${JSON.stringify({ value: rows })}\n`);
  assertEquals(await read(query.csv()), await read(client.records().csv({ columns: select })));
  const selectOf = (url: string) => new URL(url).searchParams.get("$select");
  assertEquals(selectOf(query.url), `${select},Id`);
  // One page is the whole result.
  const short = client.records({ select, limit: 5 });
  assertEquals(selectOf(short.url), select.join());
  assertEquals(await short.toArray(), rows.slice(0, 5));
});
