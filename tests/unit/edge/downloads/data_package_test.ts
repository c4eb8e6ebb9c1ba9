// The server describes a download as a data package, and a download links to it.
import "../../../helpers/no_permission.ts";
import { assertEquals, assertMatch } from "@std/assert";
import { test } from "../../../helpers/deadline.ts";
import { isVersionRequest, overSandbox } from "../../../helpers/edge.ts";
import { readCsv } from "../../../helpers/rfc4180.ts";
import { formatsOf } from "../../../../src/formats/formats.ts";
import { RESOURCE_NAMES } from "../../../../src/odata/resources.ts";
import { page } from "../../../helpers/upstream.ts";
import { createSandbox } from "../../../../src/sandbox/service.ts";

const QUERY = "$filter=CharacteristicName%20eq%20%27pH%27&limit=30";

test("EdgeApp.request() describes the download of the same parameters for /Records.datapackage.json", async () => {
  const { app, stats } = overSandbox();
  const path = `/Records.datapackage.json?${QUERY}&tidy=true&separator=tab&$select=Id,ResultValue`;
  const response = await app.request(path);
  assertEquals(
    response.headers.get("content-type"),
    "application/vnd.datapackage+json; charset=utf-8",
  );
  const { sources, resources: [resource], weir } = await response.json();
  const { schema: { fields }, dialect, bytes, rows, hash } = resource;
  assertEquals([resource.path, dialect.delimiter], ["records.csv", "\t"]);
  const names = fields.map(({ name }: { name: string }) => name);
  assertEquals(names.slice(0, 3), ["Id", "ResultValue", "value"]);
  assertEquals([bytes, rows, hash], [undefined, undefined, undefined]);
  assertEquals([weir.expectedRows, weir.datasets.length], [30, sources.length]);
  assertMatch(weir.url, /\/Records\?/);
  // The datasets and the number of rows.
  assertEquals(stats.requests, 2);
  // The service cannot count rows without quality control.
  const other = await (await app.request(`${path}&excludeQualityControl=true`)).json();
  assertEquals([other.weir.expectedRows, stats.requests], [undefined, 3]);
});

test("EdgeApp.request() has bytes, rows and hash in a package while the document is in memory", async () => {
  const { app, stats, clock } = overSandbox();
  const download = await app.request(`/Records.csv?${QUERY}`);
  const document = await download.bytes();
  const [, target] = /<([^>]*)>; rel="describedby"/.exec(download.headers.get("link")!)!;
  const { requests } = stats;
  const read = async () => {
    const { resources: [{ bytes, rows, hash }], weir } = await (await app.request(`/${target}`))
      .json();
    return [bytes, rows, hash, weir.expectedRows];
  };
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", document)).toHex();
  assertEquals(await read(), [document.length, 30, `sha256:${digest}`, undefined]);
  assertEquals(stats.requests - requests, 1);
  clock.advance(600_000);
  assertEquals(await read(), [undefined, undefined, undefined, 30]);
});

test("EdgeApp.request() names the columns of tables apart without regard to case, and describes them so", async () => {
  const { app } = overSandbox();
  for (const resource of RESOURCE_NAMES) {
    for (const format of formatsOf(resource)) {
      const path = `/${resource}.datapackage.json?limit=3&$format=${format}`;
      const { resources: [{ schema }] } = await (await app.request(path)).json();
      const names: string[] = schema.fields.map(({ name }: { name: string }) => name);
      const ids = names.filter((name) => name.toLowerCase() === "id");
      const hasBoth = resource === "Locations" && format.includes("json");
      assertEquals(ids, hasBoth ? ["Id", "ID"] : ["Id"], path);
      const different = new Set(names.map((name) => name.toLowerCase()));
      assertEquals(different.size, names.length - (hasBoth ? 1 : 0), path);
      if (format !== "csv") continue;
      const csv = await (await app.request(`/${resource}.csv?limit=3`)).text();
      assertEquals(readCsv(csv)[0], names);
    }
  }
});

test("EdgeApp.request() has the notes of the rows in a package while the document is in memory", async () => {
  const { app } = overSandbox();
  const read = async () =>
    (await (await app.request("/Locations.datapackage.json?$format=geojson")).json()).weir.notes;
  assertEquals(await read(), undefined);
  const { features } = await (await app.request("/Locations.geojson")).json();
  const isNad83 = ({ properties }: { properties: Record<string, unknown> }) =>
    properties.HorizontalCoordinateReferenceSystem === "NAD83";
  assertEquals(await read(), { nad83: features.filter(isNad83).length });
});

test("EdgeApp.request() logs how a document differs from a large count, and its package has it", async () => {
  const { apiKey, url: baseUrl, fetch } = createSandbox({
    records: 100_001,
    requestsPerSecond: Infinity,
  });
  const { app, log } = overSandbox({}, {
    apiKey,
    baseUrl,
    fetch: async (request) =>
      request.url.includes("count=true")
        ? Response.json({ value: 100_002 })
        : isVersionRequest(request)
        ? page([])
        : await fetch(request),
  });
  const path = "$select=Id";
  await (await app.request(`/Records.csv?${path}`)).text();
  assertMatch(log[0]!, /warn .*Download of Records: 1 rows missing, 0 not counted/);
  const { weir } = await (await app.request(`/Records.datapackage.json?${path}`)).json();
  assertEquals([weir.missingRows, weir.surplusRows], [1, 0]);
});

test("EdgeApp.request() links to the package of the format, if the link is not too long", async () => {
  const { app } = overSandbox();
  const linkOf = async (path: string) =>
    (await app.request(path, { method: "HEAD" })).headers.get("link");
  assertEquals(
    await linkOf("/Locations?limit=2&$format=geojson"),
    '<Locations.datapackage.json?limit=2&$format=geojson>; rel="describedby"; ' +
      'type="application/vnd.datapackage+json"',
  );
  const many = Array.from({ length: 3_000 }, (_, index) => index);
  assertEquals(await linkOf(`/Records.csv?$filter=LocationId in (${many})`), null);
});
