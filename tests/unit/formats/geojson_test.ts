// GeoJSON has a point for each row with a position (`../odata/map_position_test.ts` tests which have one), in the digits
// of the service.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { geojsonFromPage } from "../../../mod.ts";

const SYSTEM = '"HorizontalCoordinateReferenceSystem":"WGS84"';
/** Rows, and the members of their features before the properties. */
const FEATURES: readonly (readonly [row: string, members: string])[] = [
  [
    `{"Id":7,"Name":"É, \\"x\\"","Latitude":46.10,"Longitude":-63.000,"VerticalMeasure":null,${SYSTEM}}`,
    '"id":7,"geometry":{"type":"Point","coordinates":[-63.000,46.10]}',
  ],
  [`{"Id":"8","Latitude":null,"Longitude":-63,${SYSTEM}}`, '"id":"8","geometry":null'],
  [
    `{"Id":true,"Name":"y","Latitude":"\\u00345.5","Longitude":"-62",${SYSTEM}}`,
    '"geometry":{"type":"Point","coordinates":[-62,45.5]}',
  ],
  ['{"Latitude":46.10,"Longitude":-63}', '"geometry":null'],
];

Deno.test("geojsonFromPage() writes a point per location, longitude first, with the digits of the service", () => {
  const page = `{"value":[${FEATURES.map(([row]) => row).join()}]}`;
  const features = FEATURES.map(([row, members]) =>
    `{"type":"Feature",${members},"properties":${row}}`
  );
  assertEquals(
    new TextDecoder().decode(geojsonFromPage(new TextEncoder().encode(page))),
    `{"type":"FeatureCollection","features":[${features.join()}]}\n`,
  );
});
