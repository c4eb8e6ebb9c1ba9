import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { sandboxRequests } from "../../helpers/sandbox.ts";

const { rows } = sandboxRequests({ records: 10_000 });
const datasets = await rows("Metadata");
const locations = await rows("Locations");
const records = await rows("Records");
const observations = await rows("Observations");
const texts = (row: Record<string, unknown>) =>
  Object.values(row).filter((value) => typeof value === "string");
const every = records.flatMap(texts);

/** SHA-256 of the rows of each resource as JSON; a deliberate change of the data changes them. */
const DIGESTS: readonly [resource: string, rows: readonly unknown[], digest: string][] = [
  ["Metadata", datasets, "fe77241fd8dac9e9b39c3aa2aec66e77efa551a15bad2e556d2ee1ac62632ad9"],
  ["Locations", locations, "6153f3e7c302f987e9d42c176f2d779f852d5ef54f5f21576360bc8fbcf85020"],
  [
    "Observations",
    observations,
    "d9e51bf40d125ee7ffed166b08ff125eb47c058d7395fad951f56c118fb04124",
  ],
  ["Records", records, "8bc4da1657c04bc47b8789da75cb602eb1edd330075a065430c33ed41d6c4256"],
];

for (const [resource, given, digest] of DIGESTS) {
  Deno.test(`createSandbox() returns the recorded ${resource} when there are 10,000 records`, async () => {
    const bytes = new TextEncoder().encode(JSON.stringify(given));
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    assertEquals(hash.toHex(), digest);
  });
}

Deno.test("createSandbox() returns datasets with a licence and a citation that links to the DOI when Metadata is requested", () => {
  assert(datasets.length >= 4);
  for (const { Citation, DOI, Licence, Id } of datasets) {
    assert(String(Citation).endsWith(` https://doi.org/${DOI}`));
    assertMatch(String(DOI), /^10\.(25976|81029)\/[a-z0-9]{4}-[a-z0-9]{2}[0-9]{2}$/);
    assertMatch(String(Licence), /^https:/);
    assertMatch(String(Id), /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  }
});

Deno.test("createSandbox() names datasets and locations as synthetic when they are requested", () => {
  for (const { DatasetName, Citation } of datasets) {
    assertMatch(`${DatasetName} ${Citation}`, /synthetic|synthétique/i);
  }
  for (const { Name } of locations) assertMatch(String(Name), /synthetic|synthétique/i);
});

Deno.test("createSandbox() returns records of several years and at least 8 characteristics when there are 10,000", () => {
  const of = (field: string) => new Set(records.map((row) => row[field]));
  const years = new Set(records.map((row) => String(row.ActivityStartDate).slice(0, 4)));
  assert(years.size >= 10);
  assert(of("CharacteristicName").size >= 8);
  assert(of("DOI").size >= 4);
  assertEquals(of("MonitoringLocationID").size, 60);
});

Deno.test("createSandbox() returns one record in a hundred without a start date when there are 10,000", () => {
  const undated = records.filter((row) => row.ActivityStartDate === null);
  assert(undated.length >= 50 && undated.length <= 200);
});

Deno.test("createSandbox() gives one location a third of all records when there are 10,000", () => {
  const largest = observations.filter((row) => row.LocationId === 1001).length;
  assert(largest > 3_000 && largest < 3_700);
});

const oddities: [name: string, holds: (text: string) => boolean][] = [
  ["a comma", (text) => text.includes(",")],
  ["a double quote", (text) => text.includes('"')],
  ["a line feed", (text) => /[^\r]\n/.test(text)],
  ["a lone carriage return", (text) => /\r(?!\n)/.test(text) && !/[",\n]/.test(text)],
  ["a carriage return and line feed", (text) => text.includes("\r\n")],
  ["a French accent", (text) => /[éèÉ]/.test(text)],
  ["an emoji", (text) => /\p{Emoji_Presentation}/u.test(text)],
  ["an equals sign in front", (text) => text.startsWith("=")],
  ["a script tag", (text) => text.includes("<script>")],
  ["an apostrophe", (text) => text.includes("'")],
];
for (const [name, holds] of oddities) {
  Deno.test(`createSandbox() returns a string with ${name} when Records is requested`, () =>
    assert(every.some(holds)));
}

Deno.test("createSandbox() returns negative depths and null when Records is requested", () => {
  const depths = records.map((row) => row.ActivityDepthHeightMeasure);
  assert(depths.some((depth) => typeof depth === "number" && depth < 0));
  assert(depths.includes(null));
});

Deno.test("createSandbox() returns neither value nor unit when a result is censored", () => {
  const censored = records.filter((row) => row.ResultDetectionCondition !== null);
  assert(censored.length > 0);
  for (const row of censored) assertEquals([row.ResultValue, row.ResultUnit], [null, null]);
});

Deno.test("createSandbox() returns equal values when a record is requested from Observations, Records and Locations", () => {
  for (const [index, record] of records.entries()) {
    const observation = observations[index]!;
    for (const name in observation) {
      if (name in record) assertEquals(observation[name], record[name]);
    }
    const location = locations.find(({ Id }) => Id === observation.LocationId)!;
    const dataset = datasets.find(({ DOI }) => DOI === record.DOI)!;
    assertEquals(record.DatasetName, dataset.DatasetName);
    assertEquals(record.DOI, location.DOI);
    for (const name in location) {
      const flat = name === "MonitoringLocationType" ? name : `MonitoringLocation${name}`;
      if (flat in record) assertEquals(record[flat], location[name]);
    }
  }
});

Deno.test("createSandbox() returns the range of the records' dates when TemporalExtent is requested", () => {
  for (const { DOI, TemporalExtent } of datasets) {
    const dates = records
      .filter((row) => row.DOI === DOI && row.ActivityStartDate !== null)
      .map((row) => String(row.ActivityStartDate))
      .sort();
    assertEquals(TemporalExtent, [dates.at(0), dates.at(-1)]);
  }
});

Deno.test("createSandbox() returns the same records when it is created again", async () => {
  assertEquals(await sandboxRequests({ records: 10_000 }).rows("Records"), records);
});

Deno.test("createSandbox() stores no records when there are 5,000,000", async () => {
  const held = () => Deno.memoryUsage().heapUsed + Deno.memoryUsage().external;
  const before = held();
  const large = sandboxRequests({ records: 5_000_000, locations: 3_000 });
  assertEquals(await large.count("Records"), 5_000_000);
  const last = await large.rows("Records", { $skiptoken: `Id:${500_003 + 3 * 4_999_990}` });
  assertEquals(last.length, 9);
  // Eight bytes a record would be 40 MB.
  const grown = held() - before;
  assert(grown < 30e6, `memory grew by ${grown} bytes`);
});

Deno.test("createSandbox() returns locations in Canada, some without a survey, when Locations is requested", () => {
  for (const { Latitude, Longitude, VerticalMeasure, VerticalUnit } of locations) {
    assert(Number(Latitude) > 42 && Number(Latitude) < 70);
    assert(Number(Longitude) > -141 && Number(Longitude) < -52);
    assertEquals(VerticalMeasure === null, VerticalUnit === null);
  }
  const measures = new Set(
    locations.map(({ HorizontalAccuracyMeasure }) => HorizontalAccuracyMeasure),
  );
  assertEquals(measures, new Set([5, null]));
});

Deno.test("createSandbox() returns no time without date and zone, and no measure without unit, when Records is requested", () => {
  for (const row of records) {
    if (row.ActivityStartTime !== null) assert(row.ActivityStartDate && row.ActivityStartTimeZone);
    if (row.ActivityEndTime !== null) assert(row.ActivityEndDate && row.ActivityEndTimeZone);
    assertEquals(row.ActivityDepthHeightMeasure === null, row.ActivityDepthHeightUnit === null);
    if (row.ResultDetectionQuantitationLimitMeasure === null) {
      assertEquals(row.ResultDetectionQuantitationLimitUnit, null);
    }
    assertEquals(row.LaboratoryName === null, row.LaboratorySampleID === null);
  }
});

Deno.test("createSandbox() returns valid dates before a dataset's publication when Metadata is requested", () => {
  for (const { CreateTimestamp, PublishedTimestamp, TemporalExtent } of datasets) {
    for (const stamp of [CreateTimestamp, PublishedTimestamp] as string[]) {
      assertEquals(new Date(stamp).toISOString(), stamp);
    }
    const [first, last] = TemporalExtent as [string, string];
    assert(first >= "2012-01-01" && last < "2025-01-01");
  }
});

Deno.test("createSandbox() returns a name that starts with an equals sign, and null and empty fields, when Metadata is requested", () => {
  const of = (field: string) => datasets.map((row) => row[field]);
  assert(of("DatasetName").some((name) => String(name).startsWith("=")));
  assert(of("DataProcessing").includes(null) && of("OtherDataSources").includes(""));
});
