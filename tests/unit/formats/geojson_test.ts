// GeoJSON has a point for each row with a position.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { geojsonFromPage } from "../../../mod.ts";

/** Rows, and the members of their features before the properties. */
const FEATURES: readonly (readonly [row: string, members: string])[] = [
  [
    '{"Id":7,"Name":"É, \\"x\\"","Latitude":46.10,"Longitude":-63.000,"VerticalMeasure":null}',
    '"id":7,"geometry":{"type":"Point","coordinates":[-63.000,46.10]}',
  ],
  ['{"Id":8,"Latitude":null,"Longitude":-63}', '"id":8,"geometry":null'],
  [
    '{"Name":"y","Latitude":"45.5","Longitude":"-62"}',
    '"geometry":{"type":"Point","coordinates":[-62,45.5]}',
  ],
  ['{"Latitude":"north","Longitude":1}', '"geometry":null'],
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
