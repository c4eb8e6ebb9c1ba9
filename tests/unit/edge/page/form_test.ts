// The form selects the same rows in the page and in a download, or names its mistake.
import "../../../helpers/no_permission.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { overSandbox } from "../../../helpers/edge.ts";
import { elementOf, fileOf } from "./pages.ts";

const filters: [query: string, filter: string, box?: string][] = [
  [
    "characteristic=ph&characteristic=TP",
    "CharacteristicName in ('pH','Total Phosphorus, mixed forms')",
  ],
  ["characteristic=pH,+plomb+and+nitrate", "CharacteristicName in ('pH','Lead','Nitrate')"],
  [
    "characteristic=Total+Phosphorus,+mixed+forms",
    "CharacteristicName eq 'Total Phosphorus, mixed forms'",
  ],
  ["characteristic=Plomb", "CharacteristicName eq 'Lead'"],
  ["characteristic=Weirdium", "CharacteristicName eq 'Weirdium'"],
  ["where=PEI", "RegionId eq 'admin.4.ca.pe'"],
  ["where=%C3%8EP%C3%89&lang=fr", "RegionId eq 'admin.4.ca.pe'"],
  ["where=watershed.outside-the-list", "RegionId eq 'watershed.outside-the-list'"],
  ["where=Synthetic+Lakes,+Long-Term+Monitoring", "DOI eq '10.25976/weir-aa00'"],
  ["where=10.25976/weir-aa00", "DOI eq '10.25976/weir-aa00'"],
  ["dataset=10.25976/a%20,;https://doi.org/10.25976/B", "DOI in ('10.25976/a','10.25976/b')"],
  // A location comes before the dataset "Synthetic Community Stream Watch".
  ["where=stream", "LocationId eq 1295"],
  ["location=1001&location=1002", "LocationId in (1001,1002)"],
  ["location=1001&location=1015&where=pigeon+lake", "LocationId eq 1001"],
  ["location=1001&location=1015&where=lake+pige", "LocationId eq 1001"],
  [
    "dataset=10.25976/weir-aa00,10.25976/weir-bb00&where=synthetic+lakes",
    "DOI eq '10.25976/weir-aa00'",
  ],
  [
    "medium=Groundwater&type=Well&from=2001&to=2002",
    "ActivityMediaName eq 'Groundwater' and MonitoringLocationType eq 'Well' and " +
    "ActivityStartYear gte 2001 and ActivityStartYear lte 2002",
  ],
  ["from=2001&west=-65&south=45&east=-61&north=48", "ActivityStartYear gte 2001", "-65,45,-61,48"],
  [
    "from=2001&view=-120,60,2&drawn=100,100,110,110,804,588",
    "ActivityStartYear gte 2001",
    "-120.0139,60.00423,-120.01344,60.00446",
  ],
  // Parallels are curved, so the middle of the upper edge is farther north than its ends.
  [
    "from=2001&view=-120,60,2000&drawn=100,100,700,400,804,588",
    "ActivityStartYear gte 2001",
    "-135.84,56.87,-104.36,64.47",
  ],
  // From the lower right corner to the upper left one.
  [
    "from=2001&view=-63.6,45.4,640&drawn=510,450,330,270,804,588",
    "ActivityStartYear gte 2001",
    "-64.326,44.297,-62.512,45.569",
  ],
];
for (const [query, filter, box] of filters) {
  Deno.test(`GET /download filters by ${filter.slice(0, 60)} when the form has ${query.slice(0, 60)}`, async () => {
    const { app } = overSandbox({ hostileNames: false });
    const { searchParams } = (await fileOf(app, query)).url;
    assertEquals(searchParams.get("$filter"), filter);
    assertEquals(searchParams.get("bbox"), box ?? null);
  });
}

const mistakes: [query: string, message: string][] = [
  ["from=15", "A year must have four digits, got “15”."],
  ["from=2020&to=2010&lang=fr", "La première année, 2020, ne doit pas suivre"],
  ["west=1&east=2", "A box needs four numbers"],
  ["west=5&south=3&east=1&north=4", "A box needs four numbers"],
  ["west=-200&south=41&east=-52&north=84", "A box needs four numbers"],
  // Ids of regions have dots, too.
  ["where=St.Atlantis", "No region, dataset or location"],
  [`lang=fr&dataset=${"10.25976/a".repeat(1_000)}`, "Ce filtre ne peut pas"],
];
for (const [query, message] of mistakes) {
  Deno.test(`GET / returns 400 with the mistake when the form has ${query.slice(0, 40)}`, async () => {
    const { app } = overSandbox();
    const response = await app.request(`/?${query}`);
    assertEquals(response.status, 400);
    assertStringIncludes(elementOf(await response.text(), 'role="alert"'), message);
  });
}
