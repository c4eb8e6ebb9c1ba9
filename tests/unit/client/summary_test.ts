// client.summary(): the number of results per group, before they are downloaded.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { DataStream, DataStreamError, ValidationError } from "../../../mod.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";

const sandbox = createSandbox({ records: 3_000, requestsPerSecond: Infinity });
const { apiKey, url: baseUrl } = sandbox;
/** Gives pages of 1,250 rows, so that groups have rows of several pages. */
const fetch = async (request: Request): Promise<Response> =>
  Number(new URL(request.url).searchParams.get("$top")) > 2_000
    ? new Response("", { status: 413 })
    : await sandbox.fetch(request);
const client = new DataStream({ apiKey, baseUrl, fetch, requestsPerSecond: Infinity });
const rows = await client.observations().tidy().toArray();
const locations = await client.locations().toArray();

for (const by of [undefined, "characteristic", "location", "dataset", "year"] as const) {
  Deno.test(`summary() counts all rows when they are grouped by ${by ?? "location and characteristic"}`, async () => {
    const before = sandbox.stats.requests;
    const summary = await client.summary({ by });
    // Three pages, a count, and the names.
    assert(sandbox.stats.requests - before <= 5);
    if (by === "year") {
      const years = summary.map(({ year }) => year ?? "none");
      assertEquals(years, years.toSorted());
    }
    for (const group of summary) {
      const own = rows.filter((row) =>
        [undefined, row.DOI].includes(group.dataset) &&
        [undefined, row.LocationId].includes(group.location_id) &&
        [undefined, row.CharacteristicName].includes(group.characteristic) &&
        [undefined, row.ActivityStartDate?.slice(0, 4) ?? null].includes(group.year)
      );
      const years = own.flatMap((row) => row.ActivityStartDate?.slice(0, 4) ?? []).sort();
      const distinct = (texts: (string | null)[]) => [...new Set(texts)].filter((text) => text);
      const count = (name: string) => own.filter(({ censoring }) => censoring === name).length;
      const { dataset_name: _, location_name, ...facts } = group;
      assertEquals(facts, {
        ...by === "dataset" && { dataset: group.dataset },
        ...(by ?? "location") === "location" && { location_id: group.location_id },
        ...(by ?? "characteristic") === "characteristic" &&
          { characteristic: group.characteristic },
        ...by === "year" && { year: group.year },
        results: own.length,
        first_year: years[0] ?? null,
        last_year: years.at(-1) ?? null,
        units: distinct(own.map(({ unit }) => unit)),
        forms: distinct(own.map(({ MethodSpeciation }) => MethodSpeciation)),
        fractions: distinct(own.map(({ ResultSampleFraction }) => ResultSampleFraction)),
        none: count("none"),
        left: count("left"),
        right: count("right"),
        unknown: count("unknown"),
        missing: count("missing"),
      } as never);
      assertEquals(location_name, locations.find(({ Id }) => Id === group.location_id)?.Name);
    }
    assertEquals(summary.reduce((sum, { results }) => sum + results, 0), rows.length);
  });
}

Deno.test("summary() leaves out rows of other days and of quality control, and reports them", async () => {
  let left = 0;
  const summary = await client.summary({
    from: "2014-03-05",
    to: "2014-06-01",
    excludeQualityControl: true,
    by: "year",
    onProgress: ({ notes = {} }) => left = (notes.outsideDays ?? 0) + (notes.qualityControl ?? 0),
  });
  const own = rows.filter(({ ActivityStartDate: day, is_quality_control }) =>
    !is_quality_control && day! >= "2014-03-05" && day! <= "2014-06-01"
  );
  assertEquals(summary.map(({ results }) => results), [own.length]);
  assertEquals(
    left + own.length,
    rows.filter((row) => /^2014/.test(row.ActivityStartDate!)).length,
  );
});

Deno.test("summary() fails before its first row when there are more than maxRows", async () => {
  const error = await assertRejects(() => client.summary({ maxRows: 100 }), DataStreamError);
  assertEquals([error.kind, error.expectedRows], ["too-many-rows", 3_000]);
});

Deno.test("summary() throws a ValidationError when by is unknown", async () => {
  await assertRejects(() => client.summary({ by: "unit" as never }), ValidationError, "by");
});
