import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { RESOURCES } from "../../../mod.ts";
import { overSandbox, overUpstream, problemOf } from "../../helpers/edge.ts";
import { readCsv } from "../../helpers/rfc4180.ts";
import { sandboxRequests } from "../../helpers/sandbox.ts";
import { page, ROOT } from "../../helpers/upstream.ts";
import { fieldsOf } from "../../helpers/resources.ts";

const spellings: [name: string, query: string][] = [
  [
    "not encoded",
    "$select=Id,ResultComment&$filter=CharacteristicName eq 'Temperature, water'&$top=2000",
  ],
  [
    "percent-encoded",
    "%24select=Id%2CResultComment&%24filter=CharacteristicName%20eq%20%27Temperature%2C%20water%27&%24top=2000",
  ],
  [
    "encoded as by a form",
    "$select=Id,ResultComment&$filter=CharacteristicName+eq+'Temperature%2C+water'&$top=2000",
  ],
];
for (const [name, query] of spellings) {
  Deno.test(`EdgeApp.request() accepts parameters that are ${name}`, async () => {
    const { app, stats } = overSandbox({ records: 30_000 });
    const [header, ...rows] = readCsv(await (await app.request(`/Records.csv?${query}`)).text());
    assertEquals(header, ["Id", "ResultComment"]);
    const filter = "CharacteristicName eq 'Temperature, water'";
    const wanted = await sandboxRequests({ records: 30_000 }).rows("Records", { $filter: filter });
    assert(wanted.length > 2_000);
    assertEquals(rows, wanted.map((row) => [String(row.Id), String(row.ResultComment ?? "")]));
    // With a count and, twice, the versions of the datasets.
    assertEquals(stats.requests, Math.ceil(wanted.length / 2_000) + 3);
  });
}

Deno.test("EdgeApp.request() returns only the CSV header when no row matches", async () => {
  const { app } = overSandbox();
  const response = await app.request("/Records.csv?$select=Id,%20DOI&$filter=DOI eq 'none'");
  assertEquals([response.status, await response.text()], [200, "Id,DOI\r\n"]);
});

Deno.test("EdgeApp.request() accepts a DOI in any usual form when $filter compares it", async () => {
  const { app } = overSandbox();
  const textOf = async (doi: string) => {
    const filter = encodeURIComponent(`DOI eq '${doi}'`);
    const response = await app.request(`/Locations.csv?$select=Id&$filter=${filter}`);
    return [await response.text(), response.headers.get("link")];
  };
  const wanted = await textOf("10.25976/weir-aa00");
  assert(wanted[0]!.length > 20);
  assertStringIncludes(wanted[1]!, "https://doi.org/10.25976/weir-aa00");
  assertEquals(await textOf("http://dx.doi.org/10.25976/WEIR-AA00"), wanted);
});

Deno.test("EdgeApp.request() returns limit rows after the position of $skiptoken", async () => {
  const { app, stats } = overSandbox();
  const idsOf = async (query: string) => {
    const response = await app.request(`/Observations.ndjson?$select=Id&${query}`);
    return (await response.text()).trim().split("\n").map((line) => JSON.parse(line).Id);
  };
  const first = await idsOf("limit=6");
  assertEquals(first.length, 6);
  assertEquals(await idsOf(`limit=3&$skiptoken=Id:${first[2]}`), first.slice(3));
  assertEquals((await idsOf("limit=1")).length, 1);
  assertEquals(stats.requests, 3);
});

const sizes: [query: string, top: string, pageRows?: number][] = [
  ["", "10000"],
  ["", "2500", 2_500],
  ["$top=5000", "5000"],
  ["$top=5000", "2500", 2_500],
  ["$top=1", "1000"],
  ["$top=1", "500", 500],
  ["$top=1&limit=20", "20"],
  ["$top=1&limit=5000", "1000"],
  ["$top=2000&limit=5000", "2000"],
  ["limit=7", "7"],
];
for (const [query, top, pageRows] of sizes) {
  const bound = pageRows === undefined ? "" : ` and pageRows is ${pageRows}`;
  Deno.test(`EdgeApp.request() requests pages of ${top} rows when the query is "${query}"${bound}`, async () => {
    const { app, requests } = overUpstream([page([{ Id: 1 }])], { pageRows });
    await (await app.request(`/Records.csv?$select=Id&${query}`)).text();
    assertEquals(new URL(requests[0]!.url).searchParams.get("$top"), top);
  });
}

for (const [resource, path] of [["Locations", "Locations"], ["Metadata", "Metadata"]] as const) {
  Deno.test(`EdgeApp.request() adds bbox to the filter of ${resource}`, async () => {
    const { app, requests } = overUpstream([page([])]);
    await (await app.request(`/${path}.csv?bbox=-64,46,-62,47&$filter=DOI eq 'a'`)).text();
    assertEquals(
      new URL(requests[0]!.url).searchParams.get("$filter"),
      "DOI eq 'a' and Longitude gt '-64' and Longitude lt '-62' and Latitude gt '46' and Latitude lt '47'",
    );
  });
}

for (const resource of ["Observations", "Records"]) {
  Deno.test(`EdgeApp.request() returns the rows of the locations inside bbox: ${resource}`, async () => {
    const { app, stats } = overSandbox();
    const response = await app.request(`/${resource}?bbox=-64,46,-62,47&$count=true`);
    const { count } = await response.json();
    const rows = await (await app.request(`/${resource}.ndjson?bbox=-64, 46, -62, 47`)).text();
    assertEquals(rows.trim().split("\n").length, count);
    assert(count > 0 && count < 40_000);
    assertEquals(stats.requests, 4);
  });
}

Deno.test("EdgeApp.request() returns the number of rows as JSON when $count is true", async () => {
  const { app, stats } = overSandbox({ records: 1_234 });
  for (const path of ["/Records", "/Records.csv", "/Observations.ndjson"]) {
    const response = await app.request(`${path}?$count=true`);
    assertEquals(response.headers.get("content-type"), "application/json; charset=utf-8");
    assertEquals(response.headers.has("content-disposition"), false);
    assertEquals(await response.text(), '{"count":1234}\n');
  }
  assertEquals(stats.requests, 2); // the first two paths are the same count
  const rows = await app.request("/Records.csv?$count=false&$select=Id&limit=1");
  assertEquals((await rows.text()).split("\r\n").length, 3);
});

Deno.test("EdgeApp.request() applies the parameters of CSV", async () => {
  const { app } = overSandbox();
  const textOf = async (query: string) => {
    const response = await app.request(`/Metadata.csv?$select=DOI,DatasetName&${query}`);
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(await response.arrayBuffer());
  };
  assert((await textOf("bom=true")).startsWith("\ufeffDOI,"));
  assert((await textOf("bom=false")).startsWith("DOI,"));
  assert((await textOf("separator=;")).startsWith("DOI;DatasetName\r\n"));
  assert((await textOf("separator=%09")).startsWith("DOI\tDatasetName\r\n"));
  assert((await textOf("separator=tab")).startsWith("DOI\tDatasetName\r\n"));
  assert((await textOf("header=false")).startsWith("10.25976/weir-aa00,"));
  assertStringIncludes(await textOf("escapeFormulas=1"), ",'=Synthetic coastal");
  assertStringIncludes(await textOf("escapeFormulas=0"), ",=Synthetic coastal");
});

const wrong: [query: string, ...expected: string[]][] = [
  ["$orderby=Id", 'The URL has an unknown parameter "$orderby"', "omit it"],
  ["select=Id", 'unknown parameter "select"', 'did you mean "$select"?'],
  ["Limit=5", 'unknown parameter "Limit"', 'did you mean "limit"?'],
  ["expires=1&signature=0", 'unknown parameter "expires"'],
  ["$select=Id&$select=DOI", "$select must not be repeated"],
  ["$top=2000&%24top=2000", "$top must not be repeated"],
  ["$top=all", '$top must be a whole number from 1 to 10000, got "all"'],
  ["$top=1e3", '"1e3"'],
  ["$top=0", "from 1 to 10000"],
  ["$top=10001", "1 to 10000"],
  ["limit=-1", 'limit must be a whole number of at least 0, got "-1"'],
  ["limit=1.5", '"1.5"'],
  ["limit=99999999999999999", "whole number"],
  ["$count=yes", '"yes"', "true or false"],
  ["bom=TRUE", '"TRUE"'],
  ["header=no", '"no"'],
  ["escapeFormulas=2", '"2"'],
  ["separator=ab", '"ab"'],
  ["separator=", '""'],
  ['separator="', "must be one punctuation mark"],
  ["bbox=1,2,3", "west,south,east,north"],
  ["bbox=a,b,c,d", "west,south,east,north"],
  ["bbox=1,2,3,", "west,south,east,north"],
  ["bbox=-62,46,-64,47", "below east"],
  ["bbox=-64,46,-62,97", "from -90 to 90"],
  ["$select=Id,LocationId", '"LocationId"', "use Observations, which has this field"],
  ["$select=Idd", '"Id"'],
  ["$select=Id,DOI,Id", '"Id" twice'],
  ["$filter=Doi eq 'x'", '"DOI"'],
  ["$filter=Name eq 'x'", '"Name"'],
  ["$filter=DOI ge 'x'", 'use "gte"'],
  ["$filter=DOI eq 'x' or DOI eq 'y'", "one query for each side"],
  ["$filter=", "$filter must not be empty"],
  ["$select=", "$select must not be empty"],
  ["$top=", "$top must not be empty"],
  ["filename=%20", "filename must not be empty"],
  ["filename=...", "must be a file name"],
  ["$skiptoken=", "$skiptoken must not be empty"],
  ["$format=json", "cannot be combined with the extension .csv"],
  ["$skiptoken=Id:5&bbox=-64,46,-62,47", "$skiptoken cannot be combined with bbox"],
  ["$count=true&limit=3", "limit cannot be combined with $count"],
  ["$count=true&$skiptoken=Id:5", "$skiptoken cannot be combined with $count"],
  ["$filter=Longitude gt '1'", "use bbox to filter by position"],
  ["$select=,", '$select includes the empty name ""'],
  [`filename=${"a".repeat(1_001)}`, "at most 1000 characters, got 1001"],
  [`bbox=${"1".repeat(60_000)}x`, "west,south,east,north"],
];
for (const [query, ...expected] of wrong) {
  Deno.test(`EdgeApp.request() returns 400 and sends no request for /Records.csv?${query.slice(0, 60)}`, async () => {
    const { app, stats } = overSandbox();
    const response = await app.request(`/Records.csv?${query}`);
    assertEquals(response.status, 400);
    const { detail, hint } = await problemOf(response);
    for (const part of expected) assertStringIncludes(`${detail} ${hint}`, part);
    assertEquals(stats.requests, 0);
  });
}

const PARAMETERS =
  "$select, $filter, $top, $skiptoken, $count, $format, limit, bbox, separator, bom, header, " +
  "escapeFormulas, filename";
const hints: [query: string, detail: string, hint: string][] = [
  ["$banana=1", 'The URL has an unknown parameter "$banana"', `use one of ${PARAMETERS}`],
  ["format=csv", 'The URL has an unknown parameter "format"', 'did you mean "$format"?'],
  ["columns=Id", 'The URL has an unknown parameter "columns"', 'use "$select"'],
  [
    "api_key=s3cret",
    'The URL has an unknown parameter "api_key"',
    "omit it: an API key does not belong in a URL",
  ],
  [
    "unchecked=true",
    'The URL has an unknown parameter "unchecked"',
    "omit it: a URL accepts known names only",
  ],
  ["constructor=1", 'The URL has an unknown parameter "constructor"', `use one of ${PARAMETERS}`],
  ["$select=Doi", '$select includes "Doi", which is not a field of Records', 'did you mean "DOI"?'],
  [
    "$select=Latitude",
    '$select includes "Latitude", which is not a field of Records',
    'did you mean "MonitoringLocationLatitude"?',
  ],
  [
    "$select=WellID",
    '$select includes "WellID", which is not a field of Records',
    `use one of ${fieldsOf("Records").join(", ")}`,
  ],
  [
    "$filter=WellID eq 'x'",
    '$filter uses "WellID" at character 1, which is not a filter field of Records',
    `use one of ${RESOURCES.Records.filters.join(", ")}`,
  ],
  [
    "$filter=Latitude gt '5'",
    '$filter uses "Latitude" at character 1, which is not a filter field of Records',
    "use bbox to filter by position",
  ],
  [
    "$filter=ResultValue gt 5",
    '$filter uses "ResultValue" at character 1, which is not a filter field of Records',
    "filter the returned rows instead",
  ],
  [
    "$filter=Name eq 'x'",
    '$filter uses "Name" at character 1, which is not a filter field of Records',
    "look up the location in Locations, then filter by LocationId, which is its Id there",
  ],
  ["$top=", "$top must not be empty", "omit it, or give it a value"],
  [
    "$format=RESOURCES.x.fields",
    "$format cannot be combined with the extension .csv",
    "omit one of them",
  ],
];
for (const [query, detail, hint] of hints) {
  Deno.test(`EdgeApp.request() returns 400 with a detail and a hint for /Records.csv?${query}`, async () => {
    const { app } = overSandbox();
    const response = await app.request(`/Records.csv?${query}`);
    assertEquals(response.status, 400);
    assertEquals(await problemOf(response), { detail, hint });
  });
}

for (const name of ["separator=;", "bom=true", "header=false", "escapeFormulas=true"]) {
  Deno.test(`EdgeApp.request() returns 400 when a parameter of CSV is given with JSON: ${name}`, async () => {
    const { app } = overSandbox();
    const response = await app.request(`/Records.json?${name}`);
    assertEquals(response.status, 400);
    assertStringIncludes((await problemOf(response)).detail, "applies to CSV only");
  });
}

Deno.test("EdgeApp.request() never splits a query with $skiptoken", async () => {
  const { app, requests } = overUpstream([
    page([{ Id: 6 }], `${ROOT}/Records?$skiptoken=Id:6`),
    page([{ Id: 7 }]),
  ]);
  const response = await app.request("/Records.csv?$select=Id&$skiptoken=Id:5");
  assertEquals(await response.text(), "Id\r\n6\r\n7\r\n");
  assertEquals(requests.some(({ url }) => url.includes("count")), false); // never split
});
