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
const datasets = new Map(
  (await client.metadata().toArray()).map(({ DOI, DatasetName }) => [DOI, DatasetName]),
);
const rows = await client.observations({ tidy: true }).toArray();
const locations = await client.locations().toArray();
const yearOf = ({ ActivityStartDate: date }: typeof rows[number]) => date?.slice(0, 4) || null;

/** Columns that identify a group, by the option `by`. */
const COLUMNS: Record<string, (row: typeof rows[number]) => object> = {
  characteristic: ({ CharacteristicName: characteristic }) => ({ characteristic }),
  location: ({ LocationId: location_id }) => ({
    location_id,
    location_name: locations.find(({ Id }) => Id === location_id)!.Name,
  }),
  dataset: ({ DOI: dataset }) => ({ dataset, dataset_name: datasets.get(dataset) }),
  year: (row) => ({ year: yearOf(row) }),
  default: (row) => ({ ...COLUMNS["location"]!(row), ...COLUMNS["characteristic"]!(row) }),
};

for (const by of [undefined, "characteristic", "location", "dataset", "year"] as const) {
  Deno.test(`summary() counts all rows when they are grouped by ${by ?? "location and characteristic"}`, async () => {
    const before = sandbox.stats.requests;
    const summary = await client.summary({ by });
    // Three pages, a count, and the names.
    assert(sandbox.stats.requests - before <= 5);
    const groups = Map.groupBy(rows, (row) => JSON.stringify(COLUMNS[by ?? "default"]!(row)));
    const expected = [...groups].map(([columns, own]) => {
      const years = own.map(yearOf).filter((year) => year !== null).sort();
      const distinct = (texts: (string | null)[]) => [...new Set(texts)].filter((text) => text);
      const count = (name: string) => own.filter(({ censoring }) => censoring === name).length;
      return {
        ...JSON.parse(columns),
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
      };
    });
    const keys = ["location_id", "characteristic", "dataset", "year"];
    const keyOf = (group: object) => keys.map((name) => group[name as never] ?? "\uffff").join();
    assertEquals(summary as object[], expected.sort((a, b) => keyOf(a) < keyOf(b) ? -1 : 1));
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
