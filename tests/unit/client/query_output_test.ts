// The documents of a query (CSV, NDJSON, JSON, GeoJSON) have every cell of every page.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { DataStream, DataStreamError, type Query, ValidationError } from "../../../mod.ts";
import { fieldsOf } from "../../helpers/resources.ts";
import { readCsv } from "../../helpers/rfc4180.ts";
import { sandboxAndClient, sandboxRequests } from "../../helpers/sandbox.ts";
import { page, pageOf, ROOT, upstream } from "../../helpers/upstream.ts";

const read = (stream: ReadableStream<Uint8Array<ArrayBuffer>>) => new Response(stream).text();
const next = (id: number) => `${ROOT}/Locations?$skiptoken=Id:${id}`;

Deno.test("csv() writes every cell of every page in the documented columns", async () => {
  const { client } = sandboxAndClient({ records: 1_234 });
  const [header, ...rows] = readCsv(await read(client.records({ top: 200 }).csv()));
  const names = fieldsOf("Records");
  const wanted = await sandboxRequests({ records: 1_234 }).rows("Records");
  assertEquals(header, names);
  assertEquals(rows, wanted.map((row) => names.map((name) => String(row[name] ?? ""))));
});

for (const method of ["metadata", "locations", "observations"] as const) {
  Deno.test(`${method}() returns its rows as CSV, NDJSON and JSON`, async () => {
    const { client } = sandboxAndClient({ records: 90 });
    const resource = method[0]!.toUpperCase() + method.slice(1);
    const wanted = await sandboxRequests({ records: 90 }).rows(resource);
    const query = (client[method] as (options: object) => Query<object>).call(client, { top: 25 });
    const csv = readCsv(await read(query.csv()));
    assertEquals(csv.length, wanted.length + 1);
    const lines = (await read(query.ndjson())).trimEnd().split("\n");
    assertEquals(lines.map((line) => JSON.parse(line)), wanted);
    assertEquals(JSON.parse(await read(query.json())), { value: wanted });
  });
}

for (const header of [true, false]) {
  Deno.test(`csv() writes one byte order mark when there are several pages and header is ${header}`, async () => {
    const { options } = upstream(page([{ Id: 1 }], next(1)), page([{ Id: 2 }]));
    const csv = new DataStream(options).locations({ select: ["Id"] }).csv({ bom: true, header });
    const text = new TextDecoder("utf-8", { ignoreBOM: true })
      .decode(await new Response(csv).arrayBuffer());
    assertEquals(text, `\ufeff${header ? "Id\r\n" : ""}1\r\n2\r\n`);
  });
}

Deno.test("csv() joins the strings of an array in one cell", async () => {
  const { client } = sandboxAndClient();
  const csv = await read(
    client.metadata({ select: ["Keywords", "TemporalExtent"], limit: 1 }).csv(),
  );
  assertEquals(
    csv,
    "Keywords,TemporalExtent\r\nsynthetic; rivers; lakes,2012-01-09; 2023-12-13\r\n",
  );
});

Deno.test("geojson() writes points, and throws when a coordinate is not selected", async () => {
  const { client } = sandboxAndClient();
  const { features } = JSON.parse(await read(client.locations({ top: 7 }).geojson()));
  const wanted = await sandboxRequests().rows("Locations");
  assertEquals(
    features.map((feature: { geometry: { coordinates: number[] } }) =>
      feature.geometry.coordinates
    ),
    wanted.map(({ Longitude, Latitude }) => [Longitude, Latitude]),
  );
  const query = client.locations({ select: ["Id", "Latitude"] });
  assertThrows(() => query.geojson(), ValidationError, "select must contain Longitude for GeoJSON");
  assertEquals("geojson" in client.records(), false);
});

Deno.test("csv() applies its options, and throws when a column is not selected", async () => {
  const { client } = sandboxAndClient({ records: 3 });
  const query = client.records({ select: ["Id", "ResultValue"] });
  const options = { separator: ";", bom: true, columns: [["ResultValue", "value"], "Id"] } as const;
  const csv = new Uint8Array(await new Response(query.csv(options)).arrayBuffer());
  assertEquals([...csv.subarray(0, 3)], [0xef, 0xbb, 0xbf]);
  assertEquals(new TextDecoder().decode(csv).split("\r\n")[0], "value;Id");
  assertThrows(
    () => query.csv({ columns: ["ResultUnit"] }),
    ValidationError,
    "must be selected fields",
  );
  assertThrows(
    () => client.records().csv({ columns: ["ResultVale"] }),
    TypeError,
    '"ResultValue"?',
  );
  const unchecked = client.records({ unchecked: true }).csv({ columns: ["New", "Id"] });
  assertEquals((await read(unchecked)).split("\r\n")[1], ",500003");
});

Deno.test("csv() appends unknown fields of the first page, and fails when a later page has one", async () => {
  const link = `${ROOT}/Locations?$skiptoken=Id:1`;
  const { options, requests } = upstream(
    page([{ Id: 1, New: "x" }, { Id: 2, Newer: "y" }], link),
    page([{ Id: 3, New: "z" }], next(3)),
    page([{ Id: 4, Newest: "z" }]),
  );
  const client = new DataStream({ ...options, retry: {} });
  const reader = client.locations().csv().getReader();
  const text = async () => new TextDecoder().decode((await reader.read()).value);
  const [header, first, second] = readCsv(await text());
  assertEquals(header, [...fieldsOf("Locations"), "New", "Newer"]);
  assertEquals([first?.slice(-2), second?.slice(-2)], [["x", ""], ["", "y"]]);
  assertEquals(readCsv(await text())[0]?.slice(-2), ["z", ""]);
  const error = await assertRejects(
    () => reader.read(),
    DataStreamError,
    'Field "Newest" first appears after',
  );
  // Asking again would bring the same.
  assertEquals([error.kind, requests.length], ["page", 3]);
});

Deno.test("metadata() leaves out the Id that it requests for its checks when the Ids are strings", async () => {
  const uuids = ["a0000000-0000-4000-8000-000000000001", "a0000000-0000-4000-8000-000000000002"];
  const link = (id: string) => `${ROOT}/Metadata?$select=DOI,Id&$top=1&$skiptoken=Id:${id}`;
  const body = (row: string, next: string) => pageOf(`{"value":[${row}]${next}}`);
  const replies = () => [
    body(`{"DOI":"a", "Id" : "${uuids[0]}"}`, `,"@odata.nextLink":"${link(uuids[0]!)}"`),
    body(`{"Id":"${uuids[1]}" , "DOI":"b"}`, ""),
  ];
  for (const format of ["ndjson", "json"] as const) {
    const client = new DataStream(upstream(...replies()).options);
    const text = await new Response(client.metadata({ select: ["DOI"], top: 2 }).bytes(format))
      .text();
    const rows = ['{"DOI":"a"}', '{"DOI":"b"}'];
    assertEquals(text, format === "json" ? `{"value":[${rows}]}\n` : `${rows.join("\n")}\n`);
  }
});

Deno.test("records() requests Id for its checks and removes it when it is not selected", async () => {
  const select = ["CharacteristicName", "ResultValue", "DOI"] as const;
  const { client } = sandboxAndClient({ records: 5_000 });
  const query = client.records({ select, top: 1_000 });
  const rows = await query.toArray();
  assertEquals(rows.length, 5_000);
  assert(rows.every((row) => Object.keys(row).join() === select.join()));
  const text = rows.map((row) => `${JSON.stringify(row)}\n`).join("");
  assertEquals(await read(query.ndjson()), text);
  assertEquals(
    await read(query.json()),
    `{"value":[${text.trimEnd().replaceAll("\n", ",")}]}\n`,
  );
  const all = await read(client.records({ top: 1_000 }).csv({ columns: select }));
  assertEquals(await read(query.csv()), all);
  const selectOf = (url: string) => new URL(url).searchParams.get("$select");
  assertEquals(selectOf(query.url), `${select},Id`);
  // One page is the whole result.
  assertEquals(selectOf(client.records({ select, limit: 5 }).url), select.join());
});

Deno.test("geojson() omits Id when it is not selected", async () => {
  const { client } = sandboxAndClient();
  const select = ["Name", "Latitude", "Longitude"] as const;
  const { features } = JSON.parse(
    await read(client.locations({ select }).geojson()),
  );
  assertEquals(features.length, 60);
  for (const feature of features) {
    assertEquals(
      Object.keys(feature),
      ["type", "geometry", "properties"],
    );
    assertEquals(Object.keys(feature.properties), [...select]);
  }
});
