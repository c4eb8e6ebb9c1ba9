// The data of the sandbox is deterministic, lifelike and related.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { sandboxRequests } from "../../helpers/sandbox.ts";

const { rows } = sandboxRequests({ records: 10_000, hostileNames: false });
const datasets = await rows("Metadata");
const locations = await rows("Locations");
const records = await rows("Records");
const observations = await rows("Observations");
/** SHA-256 of the rows of each resource as JSON; a deliberate change of the data changes them. */
const DIGESTS: Record<string, readonly [rows: readonly unknown[], digest: string]> = {
  Metadata: [datasets, "d83b89f1667688e9750f803212f0937864a995863089bbbd910b51698f84ba04"],
  Locations: [locations, "291248291f9638df8b095084eb7699062ed8d01f1e2dccab147c29988bd86316"],
  Observations: [observations, "d5d9da1a7cbd4a7e598452458239528147a5c39ce8a579257fdda7b317102ca4"],
  Records: [records, "52106ca2b9c42a722a5e75eac298eec7b2fcf38d91ee063d8c2217169b1451ac"],
};
for (const [resource, [given, digest]] of Object.entries(DIGESTS)) {
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

Deno.test("createSandbox() gives each of 200 locations its own name", async () => {
  const { rows } = sandboxRequests({ locations: 200, records: 200, hostileNames: false });
  const names = (await rows("Locations")).map(({ Name }) => Name);
  assertEquals([names.length, new Set(names).size], [200, 200]);
});

/** The texts of all rows and their lists, except for time zones, which begin with a sign. */
async function textsOf(hostileNames: boolean): Promise<string[]> {
  const { rows } = sandboxRequests({ records: 10_000, hostileNames });
  const all = (await Promise.all(Object.keys(DIGESTS).map((name) => rows(name)))).flat();
  return all.flatMap((row) => Object.entries(row))
    .flatMap(([field, value]) => field.endsWith("TimeZone") ? [] : value)
    .filter((value) => typeof value === "string");
}

Deno.test("createSandbox() returns texts that programs treat specially only when hostileNames is true", async () => {
  const [everyday, hostile] = [await textsOf(false), await textsOf(true)];
  for (
    const pattern of [
      /<script>/,
      /^=/,
      /^\+/,
      /^-/,
      /^@/,
      /\n/,
      /\t/,
      /\p{Cc}/u,
      /\p{Script=Arabic}/u,
    ]
  ) {
    assertEquals(everyday.filter((text) => pattern.test(text)), []);
    assert(hostile.some((text) => pattern.test(text)), String(pattern));
  }
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
