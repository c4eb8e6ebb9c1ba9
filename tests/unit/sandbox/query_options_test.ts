// The sandbox checks and applies query options as the service does.
import "../../helpers/no_permission.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import type { ResourceName } from "../../../mod.ts";
import { sandboxRequests } from "../../helpers/sandbox.ts";
import { fieldsOf, RESOURCE_NAMES } from "../../helpers/resources.ts";

const { sandbox, get, rows, count } = sandboxRequests({ records: 3_000, locations: 40 });

for (const resource of RESOURCE_NAMES) {
  Deno.test(`fetch() returns all fields and ten rows of ${resource} when there are no options`, async () => {
    const { value, ["@data.context"]: context } = await (await get(resource)).json();
    assertEquals(context, `odata/v4/${resource}/$links/Metadata(Id=@DatasetId)`);
    assertEquals(value.length, resource === "Metadata" ? 5 : 10);
    assertEquals(Object.keys(value[0]), fieldsOf(resource));
    const [row] = await rows(resource, { $select: "DOI, Id" });
    assertEquals(Object.keys(row!), ["DOI", "Id"]);
  });

  Deno.test(`fetch() counts each row of ${resource}, and returns it once when the next links are followed`, async () => {
    const whole = await rows(resource, { $select: "Id" });
    assertEquals(await count(resource), whole.length);
    const size = Math.ceil(whole.length / 3);
    for (let at = 0; at < whole.length; at += size) {
      const query: Record<string, string | number> = { $select: "Id", $top: size };
      if (at > 0) query.$skiptoken = `Id:${whole[at - 1]!.Id}`;
      const response = await get(resource, query);
      const { value, ["@odata.nextLink"]: link } = await response.json();
      assertEquals(value, whole.slice(at, at + size));
      // The format of the service: an absolute URL with unencoded dollar signs and the last Id.
      const next = `$select=Id&$skiptoken=Id:${value.at(-1).Id}&$top=${size}`;
      const isLast = at + size >= whole.length;
      assertEquals(link, isLast ? undefined : `${sandbox.url}/${resource}?${next}`);
      assertEquals(response.headers.get("link"), isLast ? null : `<${link}>; rel="next"`);
    }
  });
}

Deno.test("fetch() returns a next link with the encoded filter and raw dollars when there is a filter", async () => {
  const filter = "MonitoringLocationType ne 'a & b''s é' and ActivityStartYear gte 2013";
  const body = await (await get("Records", { $filter: filter, $top: 1 })).json();
  const link: string = body["@odata.nextLink"];
  assertStringIncludes(link, `?$filter=${encodeURIComponent(filter)}&$skiptoken=Id:`);
  const again = await sandbox.fetch(link, { headers: { "x-api-key": sandbox.apiKey } });
  assertEquals(again.status, 400);
  await again.body?.cancel();
});

Deno.test("fetch() returns the rows after a $skiptoken when no row has that Id", async () => {
  const [first, second] = await rows("Records", { $select: "Id" });
  const after = Number(first!.Id) + 1;
  const [next] = await rows("Records", { $select: "Id", $skiptoken: `Id:${after}` });
  assertEquals(next, second);
  assertEquals(await rows("Records", { $skiptoken: "Id:99999999999" }), []);
  assertEquals((await rows("Records", { $skiptoken: "Id:0" })).length, 3_000);
});

const REFUSED: readonly [resource: ResourceName, query: Record<string, string>, message: string][] =
  [
    ["Records", { $select: "LocationId" }, "no field 'LocationId'"],
    ["Records", { $select: "Id,,DOI" }, "no field ''"],
    ["Records", { $top: "0" }, "$top"],
    ["Records", { $top: "10001" }, "$top"],
    ["Records", { $top: "1e3" }, "$top"],
    ["Records", { $skiptoken: "xId:5" }, "$skiptoken"],
    ["Records", { $skiptoken: "Id:x" }, "$skiptoken"],
    ["Metadata", { $skiptoken: "xId:01234567-89ab-cdef-0123-456789abcdef" }, "$skiptoken"],
    ["Records", { $count: "yes" }, "$count"],
    ["Records", { $orderby: "Id" }, "'$orderby'"],
    ["Records", { top: "5" }, "'top'"],
    ["Records", { $filter: "DOI ge 'x'" }, 'use "gte"'],
    ["Records", { $filter: "DatasetName eq 'x'" }, "filtered by 'DatasetName'"],
    ["Observations", { $filter: "Longitude gt 5" }, "filtered by 'Longitude'"],
    ["Metadata", { $filter: "CreateTimestamp gt '2020'" }, "'YYYY-MM-DD', got '2020'"],
    ["Metadata", { $filter: "CreateTimestamp gt 'x2020-01-01'" }, "a date"],
    ["Metadata", { $filter: "CreateTimestamp gt '2020-01-01 12:00'" }, "a date"],
    ["Metadata", { $filter: "CreateTimestamp gt '2020-13-45'" }, "a date"],
    ["Metadata", { $filter: "CreateTimestamp gt 2020" }, "a quoted string"],
    ["Records", { $filter: "LocationId eq '5x'" }, "a number, got '5x'"],
    ["Records", { $filter: "LocationId eq 'x5'" }, "a number, got 'x5'"],
    ["Records", { $filter: "DOI eq 5" }, "a quoted string, got 5"],
    ["Records", { $filter: "endswith(LocationId, '5')" }, "a text field"],
  ];
for (const [resource, query, message] of REFUSED) {
  Deno.test(`fetch() answers 400 when a query of ${resource} has ${JSON.stringify(query)}`, async () => {
    const response = await get(resource, query);
    assertEquals(response.status, 400);
    assertStringIncludes((await response.json()).message, message);
  });
}

for (const query of ["%24top=1&%24top=2", "%24filter=ActivityStartYear+gte+2015"]) {
  Deno.test(`fetch() answers 400 when the query string is ${query}`, async () => {
    const url = `${sandbox.url}/Records?${query}`;
    const response = await sandbox.fetch(url, { headers: { "x-api-key": sandbox.apiKey } });
    assertEquals(response.status, 400);
  });
}

Deno.test("createSandbox() returns datasets and locations when there are no records", async () => {
  const empty = sandboxRequests({ records: 0, locations: 1 });
  assertEquals(await empty.rows("Records"), []);
  assertEquals(await empty.count("Observations"), 0);
  assertEquals((await empty.rows("Locations")).length, 1);
  assertEquals((await empty.rows("Metadata")).map((row) => row.TemporalExtent)[0], null);
});
