// GeoJSON, GeoParquet and the page's map have the same points: positions in WGS 84 and NAD83. They count the others.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import type { Progress } from "../../../mod.ts";
import { overUpstream } from "../../helpers/edge.ts";
import { clientOf, parquetOf } from "../../helpers/parquet.ts";
import { pageOf } from "../../helpers/upstream.ts";

type Point = readonly [longitude: number, latitude: number];

/** JSON of reference system, longitude and latitude, and the point. */
const POSITIONS: readonly (readonly [string, string, string, point: Point | null])[] = [
  ['"WGS84"', "-63.25", "46.50", [-63.25, 46.5]],
  ['"NAD83"', "-63.25", "46.50", [-63.25, 46.5]],
  ['"wgs 84"', "-63.25", "46.50", [-63.25, 46.5]],
  ['"WGS\\u00384"', '"-63.25"', '"46.50"', [-63.25, 46.5]],
  ['"WGS84"', "-180", "9e1", [-180, 90]],
  ['"NAD27"', "-63.25", "46.50", null],
  ['"WGS72"', "-63.25", "46.50", null],
  ['"UTM"', "-63.25", "46.50", null],
  ['"UNKWN"', "-63.25", "46.50", null],
  ['""', "-63.25", "46.50", null],
  ["null", "-63.25", "46.50", null],
  ['["WGS84"]', "-63.25", "46.50", null],
  ['"WGS84"', "-999", "-999", null],
  ['"WGS84"', "-63.25", "95", null],
  ['"WGS84"', "461234.5", "5150000", null],
  ['"NAD83"', "1e999", "46.50", null],
  ['"WGS84"', "[-63.25]", "46.50", null],
  ['"WGS84"', "null", "46.50", null],
  ['"WGS84"', '""', "46.50", null],
  ['"WGS84"', '"west"', "46.50", null],
];
const ROWS = POSITIONS.map(([system, longitude, latitude], index) =>
  `{"Id":${index},"Longitude":${longitude},"Latitude":${latitude},` +
  `"HorizontalCoordinateReferenceSystem":${system},"Name":"Lake ${index}"}`
);
const POINTS = POSITIONS.map(([, , , coordinates]) =>
  coordinates && { type: "Point", coordinates: [...coordinates] }
);
const NOTES = { withoutGeometry: POINTS.filter((point) => point === null).length, nad83: 1 };

Deno.test("geojson() and toParquet() write the points of WGS 84 and NAD83, and count both and the rows without one", async () => {
  let notes: Progress["notes"];
  const query = clientOf(ROWS).locations({
    top: 7,
    onProgress: (progress) => notes = progress.notes,
  });
  const { features } = await new Response(query.geojson()).json();
  assertEquals(features.map(({ geometry }: { geometry: unknown }) => geometry), POINTS);
  assertEquals(notes, NOTES);
  notes = undefined;
  const { rows, metadata } = await parquetOf(query, { invalidValues: "null" });
  assertEquals(rows.map(({ geometry }) => geometry), POINTS);
  const parquetNotes = { ...NOTES, invalidValues: 3 };
  assertEquals([notes, JSON.parse(metadata.weir!).notes], [parquetNotes, parquetNotes]);
});

Deno.test("the page draws the same locations, and says how many it does not draw and how many are outside", async () => {
  const legends = await Promise.all(ROWS.map(async (row) => {
    const responses = [
      Response.json({ value: 1 }),
      pageOf(`{"value":[${row}]}`),
      pageOf('{"value":[]}'),
    ];
    const html = await (await overUpstream(responses).app.fetch(new Request("http://127.0.0.1/")))
      .text();
    const points = html.match(/class="map-point"/g)?.length ?? 0;
    return [points, /1 (is [a-z ]+)/.exec(html)?.[1]];
  }));
  assertEquals(
    legends,
    POINTS.map((point) => {
      if (point === null) return [0, "is not drawn"];
      // The map is drawn for two widths.
      return point.coordinates[1] === 90 ? [0, "is outside of this view"] : [2, undefined];
    }),
  );
});
