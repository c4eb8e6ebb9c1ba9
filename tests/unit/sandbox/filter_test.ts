// The sandbox filters rows as the service does.
import "../../helpers/no_permission.ts";
import { assert, assertEquals } from "@std/assert";
import { type FILTER_FIELDS, type ResourceName, RESOURCES } from "../../../mod.ts";
import { sandboxRequests } from "../../helpers/sandbox.ts";

// Compares filters by each name on each resource with a join of all rows, which is computed here from
// the columns only. The sandbox itself computes which rows match, without generating all of them.
const { rows, count } = sandboxRequests({ records: 2_000, locations: 30 });
const datasets = await rows("Metadata");
const locations = await rows("Locations");
const observations = await rows("Observations");
const records = await rows("Records");

/** The group of each `ActivityType` that the sandbox uses; rows do not show the group. */
const GROUPS: Record<string, string> = {
  "Field Msr/Obs": "Field Measure",
  "Field Msr/Obs-Continuous Time Series": "Continuous Data",
  "Quality Control Field Replicate Msr/Obs": "Quality Control - Field Measure",
  "Quality Control Sample-Field Replicate": "Quality Control - Lab Sample",
  "Sample-Routine": "Lab Sample",
};

/** The values by which each observation can be filtered, and the Ids of its rows in all resources. */
const joined = observations.map((observation, index) => {
  const location = locations.find(({ Id }) => Id === observation.LocationId)!;
  const dataset = datasets.find(({ DOI }) => DOI === observation.DOI)!;
  const date = observation.ActivityStartDate as string | null;
  const type = observation.ActivityType as string;
  const year = date === null ? null : Number(date.slice(0, 4));
  return {
    ids: {
      Metadata: dataset.Id,
      Locations: location.Id,
      Observations: observation.Id,
      Records: records[index]!.Id,
    },
    values: {
      Id: dataset.Id,
      DOI: observation.DOI,
      LocationId: observation.LocationId,
      ActivityMediaName: observation.ActivityMediaName,
      ActivityGroupType: GROUPS[type]!,
      CharacteristicName: observation.CharacteristicName,
      MonitoringLocationType: location.MonitoringLocationType,
      ActivityStartYear: year,
      ActivityStartDateYear: year,
      Latitude: location.Latitude,
      Longitude: location.Longitude,
      DatasetName: dataset.DatasetName,
      CreateTimestamp: Date.parse(dataset.CreateTimestamp as string),
      Name: location.Name,
    } as Record<string, string | number | null>,
  };
});

type Values = (typeof joined)[number]["values"];
type Test = (values: Values) => boolean;

async function assertFinds(resource: ResourceName, filter: string, test: Test): Promise<number> {
  const found = (await rows(resource, { $filter: filter, $select: "Id" })).map(({ Id }) => Id);
  const wanted = new Set(
    joined.filter(({ values }) => test(values)).map(({ ids }) => ids[resource]),
  );
  assertEquals(new Set(found), wanted);
  assertEquals(found.length, wanted.size);
  assertEquals(await count(resource, filter), wanted.size);
  return wanted.size;
}

const quote = (value: string | number) =>
  typeof value === "number" ? String(value) : `'${value.replaceAll("'", "''")}'`;

const examples: Partial<Record<keyof typeof FILTER_FIELDS, string | number>> = {
  Id: datasets[2]!.Id as string,
  DOI: "10.25976/weir-cc00",
  LocationId: 1001 + 7 * 4,
  ActivityMediaName: "Surface Water Sediment",
  ActivityGroupType: "Quality Control - Lab Sample",
  CharacteristicName: "Temperature, water",
  MonitoringLocationType: "Lake/Pond",
  ActivityStartYear: 2017,
  ActivityStartDateYear: 2017,
  Latitude: 54.1,
  Longitude: -97.5,
  DatasetName: 'Synthetic "Citizen Science" Samples <script>alert("weir")</script>',
  CreateTimestamp: "2021-01-31",
  Name: "Rivière-aux-Érables synthétique, à l’île nº 2",
};

type Value = string | number;
/** Operators, and whether a value matches; a null differs from everything. */
const OPERATORS: Record<string, (held: Value, value: Value) => boolean> = {
  eq: (held, value) => held === value,
  lt: (held, value) => held < value,
  lte: (held, value) => held <= value,
  gt: (held, value) => held > value,
  gte: (held, value) => held >= value,
};

for (const resource of Object.keys(RESOURCES) as ResourceName[]) {
  for (const field of RESOURCES[resource].filters) {
    if (field === "RegionId") continue;
    const example = examples[field]!;
    const value = field === "CreateTimestamp" ? Date.parse(String(example)) : example;
    Deno.test(`fetch() filters ${resource} by ${field} when the operator is any of them`, async () => {
      const literal = quote(example);
      let found = 0;
      for (const [operator, matches] of Object.entries(OPERATORS)) {
        found += await assertFinds(resource, `${field} ${operator} ${literal}`, (values) => {
          const held = values[field]!;
          return held !== null && matches(held, value);
        });
      }
      assert(found > 0, "the example finds nothing at all");
      await assertFinds(resource, `${field} in (${literal})`, (values) => values[field] === value);
      await assertFinds(resource, `${field} ne ${literal}`, (values) => values[field] !== value);
    });
  }

  Deno.test(`fetch() requires one record to match all clauses when ${resource} has a filter with and`, async () => {
    const found = await assertFinds(
      resource,
      "CharacteristicName in ('pH', 'Nitrate', 'none') and ActivityStartYear gte '2019' and " +
        "MonitoringLocationType ne 'Lake/Pond' and endswith(DOI, 'bb00')",
      ({ CharacteristicName, ActivityStartYear, MonitoringLocationType, DOI }) =>
        ["pH", "Nitrate"].includes(String(CharacteristicName)) &&
        Number(ActivityStartYear) >= 2019 && MonitoringLocationType !== "Lake/Pond" &&
        DOI === "10.25976/weir-bb00",
    );
    assert(found > 0);
  });
}

Deno.test("fetch() counts the rows that it finds when a location has more records than a cycle of dates", async () => {
  const { rows, count } = sandboxRequests({ records: 9_000, locations: 1 });
  const $filter = "CharacteristicName eq 'pH'";
  assertEquals(await count("Records", $filter), (await rows("Records", { $filter })).length);
});

Deno.test("fetch() compares only the end of a text when the filter has endswith", async () => {
  assertEquals(await count("Records", "endswith(DOI, '10.25976')"), 0);
});

Deno.test("fetch() filters by country, province and hub when the filter has RegionId", async () => {
  const idsIn = async (filter: string, resource = "Locations") =>
    (await rows(resource, { $filter: `RegionId ${filter}`, $select: "Id" })).map(({ Id }) => Id);
  const everywhere = await idsIn("eq 'admin.2.ca'");
  assertEquals(everywhere.length, 30);
  const provinces = await Promise.all(
    "ab bc mb nb nl ns nt nu on pe qc sk yt".split(" ").map((code) =>
      idsIn(`eq 'admin.4.ca.${code}'`)
    ),
  );
  assertEquals(provinces.flat().sort(), everywhere.toSorted());
  const pacific = new Set(await idsIn("eq 'hub.pacific'"));
  assert(pacific.size > 0 && pacific.size < 30);
  assertEquals(await idsIn("ne 'hub.pacific'"), everywhere.filter((id) => !pacific.has(id)));
  for (const resource of ["Observations", "Records", "Metadata"] as const) {
    const wanted = joined.filter(({ ids }) => pacific.has(ids.Locations));
    const found = new Set(await idsIn("eq 'hub.pacific'", resource));
    assertEquals(found, new Set(wanted.map(({ ids }) => ids[resource])));
  }
  assertEquals(await idsIn("eq 'hub.nowhere'"), []);
});

Deno.test("fetch() compares CreateTimestamp as a time when it has another notation", async () => {
  const finds = async (filter: string) =>
    (await rows("Metadata", { $filter: `CreateTimestamp ${filter}` }))
      .some(({ CreateTimestamp }) => CreateTimestamp === "2020-06-15T00:00:00.000Z");
  for (const written of ["2020-06-15", "2020-06-15T00:00:00Z", "2020-06-15T01:00+01:00"]) {
    assert(await finds(`eq '${written}'`), written);
    assert(!await finds(`gt '${written}'`), written);
  }
});
