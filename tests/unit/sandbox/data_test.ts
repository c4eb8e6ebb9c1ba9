import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { sandboxRequests } from "../../helpers/sandbox.ts";

const { rows } = sandboxRequests({ records: 10_000, hostileNames: false });
const datasets = await rows("Metadata");
const locations = await rows("Locations");
const records = await rows("Records");
const observations = await rows("Observations");
/** SHA-256 of the rows of each resource as JSON; a deliberate change of the data changes them. */
const DIGESTS: readonly [resource: string, rows: readonly unknown[], digest: string][] = [
  ["Metadata", datasets, "d83b89f1667688e9750f803212f0937864a995863089bbbd910b51698f84ba04"],
  ["Locations", locations, "291248291f9638df8b095084eb7699062ed8d01f1e2dccab147c29988bd86316"],
  [
    "Observations",
    observations,
    "d527e5cd7380b5082b4f5746d2c1c2631d33ce0d56abe8d10a07d2351ae725c0",
  ],
  ["Records", records, "d21115527e30ac7b0608848ab1f61ca7d1b6548824ff5ab9c4ee5c3c7c463ed7"],
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

/** The texts of all rows and their lists, except for time zones, which begin with a sign. */
async function textsOf(hostileNames: boolean): Promise<string[]> {
  const { rows } = sandboxRequests({ records: 10_000, hostileNames });
  const names = ["Metadata", "Locations", "Observations", "Records"];
  const all = (await Promise.all(names.map((name) => rows(name)))).flat();
  return all.flatMap((row) => Object.entries(row))
    .flatMap(([field, value]) => field.endsWith("TimeZone") ? [] : value)
    .filter((value) => typeof value === "string");
}
const texts = { default: await textsOf(false), hostile: await textsOf(true) };

const hostile: [name: string, pattern: RegExp][] = [
  ["a script tag", /<script>/],
  ["an angle bracket", /</],
  ["an equals sign in front", /^=/],
  ["a plus sign in front", /^\+/],
  ["a hyphen in front", /^-/],
  ["an at sign in front", /^@/],
  ["a line feed", /[^\r]\n/],
  ["a lone carriage return", /^[^",\n]*\r(?!\n)[^",\n]*$/],
  ["a carriage return and line feed", /\r\n/],
  ["a tab", /\t/],
  ["a control character", /\p{Cc}/u],
  ["an emoji", /\p{Emoji_Presentation}/u],
  ["right-to-left text", /[\p{Script=Arabic}\p{Script=Hebrew}]/u],
];
for (const [name, pattern] of hostile) {
  Deno.test(`createSandbox() returns a string with ${name} only when hostileNames is true`, () => {
    assertEquals(texts.default.filter((text) => pattern.test(text)), []);
    assert(texts.hostile.some((text) => pattern.test(text)));
  });
}

Deno.test("createSandbox() returns no invisible or bidirectional characters by default", () => {
  const allowed = /^[\p{L}\p{N} !-/:-@[-`{-~’–°]*$/u;
  assertEquals(texts.default.filter((text) => !allowed.test(text.normalize("NFC"))), []);
});

const everyday: [name: string, pattern: RegExp][] = [
  ["a comma", /,/],
  ["a double quote", /"/],
  ["a French accent", /[éèÉ]/],
  ["an apostrophe", /'/],
];
for (const [name, pattern] of everyday) {
  Deno.test(`createSandbox() returns a string with ${name} with and without hostileNames`, () => {
    for (const all of Object.values(texts)) assert(all.some((text) => pattern.test(text)));
  });
}

/** Returns the mean of the values of a characteristic on the dates that match a pattern. */
function meanOf(characteristic: string, date: RegExp): number {
  const values = records
    .filter((row) => row.CharacteristicName === characteristic && row.ResultValue !== null)
    .filter((row) => date.test(String(row.ActivityStartDate)))
    .map((row) => Number(row.ResultValue));
  assert(values.length >= 50, `${values.length} values of ${characteristic}`);
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

Deno.test("createSandbox() returns values with a season when Records is requested", () => {
  const [winter, summer] = [/^\d{4}-0[12]/, /^\d{4}-0[78]/];
  assert(meanOf("Temperature, water", winter) < 3);
  assert(meanOf("Temperature, water", summer) > 15);
  assert(meanOf("Dissolved oxygen (DO)", winter) > meanOf("Dissolved oxygen (DO)", summer) + 3);
  assert(meanOf("Escherichia coli", summer) > 2 * meanOf("Escherichia coli", winter));
});

Deno.test("createSandbox() returns values with a trend when Records is requested", () => {
  const [first, last] = [/^201[2-4]/, /^202[1-3]/];
  assert(meanOf("Chloride", last) > 1.1 * meanOf("Chloride", first));
  assert(
    meanOf("Total Phosphorus, mixed forms", last) <
      0.95 * meanOf("Total Phosphorus, mixed forms", first),
  );
});

Deno.test("createSandbox() censors 2 to 15 % of the laboratory's results when Records is requested", () => {
  const results = records.filter((row) => row.LaboratoryName !== null);
  const censored = results.filter((row) => row.ResultDetectionCondition !== null);
  const share = censored.length / results.length;
  assert(share > 0.02 && share < 0.15, `${share}`);
});

Deno.test("createSandbox() returns several characteristics of one visit first when Records is requested", () => {
  const visit = records.slice(0, 10);
  const of = (field: string) => new Set(visit.map((row) => row[field]));
  assertEquals(of("CharacteristicName").size, 10);
  for (const field of ["MonitoringLocationName", "ActivityStartDate", "ActivityStartTime"]) {
    assertEquals(of(field).size, 1, field);
  }
  assertEquals(visit[0]!.MonitoringLocationName, "Pigeon Lake (synthetic)");
});

Deno.test("createSandbox() returns the visits of a location in the order of their dates when Records is requested", () => {
  const dates = records.filter((row) => row.MonitoringLocationID === "WEIR-0001").slice(0, 300)
    .map((row) => String(row.ActivityStartDate));
  assertEquals(dates, dates.toSorted());
  assertEquals(new Set(dates).size, 30);
});

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
  assertEquals(
    await sandboxRequests({ records: 10_000, hostileNames: false }).rows("Records"),
    records,
  );
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

Deno.test("createSandbox() returns null and empty fields when Metadata is requested", () => {
  const of = (field: string) => datasets.map((row) => row[field]);
  assert(of("DataProcessing").includes(null) && of("OtherDataSources").includes(""));
});
