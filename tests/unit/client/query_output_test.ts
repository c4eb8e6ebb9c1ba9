// The documents of a query (CSV, NDJSON, JSON, GeoJSON) have every cell of every page.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { DataStream, DataStreamError, ValidationError } from "../../../mod.ts";
import { fieldsOf, RESOURCE_NAMES } from "../../helpers/resources.ts";
import { readCsv } from "../../helpers/rfc4180.ts";
import { sandboxAndClient, sandboxRequests } from "../../helpers/sandbox.ts";
import { page, ROOT, upstream } from "../../helpers/upstream.ts";

const read = (stream: ReadableStream<Uint8Array<ArrayBuffer>>) => new Response(stream).text();
const next = (id: number) => `${ROOT}/Locations?$skiptoken=Id:${id}`;

for (const resource of RESOURCE_NAMES) {
  Deno.test(`a query of ${resource} returns every row of every page as CSV, NDJSON and JSON`, async () => {
    const { client } = sandboxAndClient({ records: 90 });
    const rows = await sandboxRequests({ records: 90 }).rows(resource);
    const query = client.query(resource, { top: Math.ceil(rows.length / 3) });
    const csv = readCsv(await read(query.csv()));
    assertEquals([csv[0], csv.length], [fieldsOf(resource), rows.length + 1]);
    const lines = (await read(query.ndjson())).trimEnd().split("\n");
    assertEquals(lines.map((line) => JSON.parse(line)), rows);
    assertEquals(JSON.parse(await read(query.json())), { value: rows });
  });
}

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

Deno.test("csv() applies its options, and throws when a column is not selected", async () => {
  const { client } = sandboxAndClient({ records: 3 });
  const query = client.records({ select: ["Id", "ResultValue"] });
  const csv = query.csv({ separator: ";", columns: [["ResultValue", "value"], "Id"] });
  assertEquals((await read(csv)).split("\r\n")[0], "value;Id");
  const wrong = () => query.csv({ columns: ["ResultUnit"] });
  assertThrows(wrong, ValidationError, "must be selected fields");
  const misspelt = () => client.records().csv({ columns: ["ResultVale"] });
  assertThrows(misspelt, TypeError, '"ResultValue"?');
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
