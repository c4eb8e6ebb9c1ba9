// GeoJSON has a point for each row with a position.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { geojsonFromPage } from "../../../mod.ts";

Deno.test("geojsonFromPage() writes a point per location, longitude first, with the digits of the service", () => {
  const input =
    '{"value":[{"Id":7,"Name":"É, \\"x\\"","Latitude":46.10,"Longitude":-63.000,"VerticalMeasure":null},' +
    '{"Id":8,"Latitude":null,"Longitude":-63},{"Name":"y","Latitude":"45.5","Longitude":"-62"},{"Latitude":"north","Longitude":1}]}';
  const page = new TextEncoder().encode(input);
  const document = new TextDecoder().decode(geojsonFromPage(page));
  assertEquals(document.includes('"coordinates":[-63.000,46.10]'), true);
  assertEquals(JSON.parse(document), {
    type: "FeatureCollection",
    features: [
      {
        type: "Feature",
        id: 7,
        geometry: { type: "Point", coordinates: [-63, 46.1] },
        properties: {
          Id: 7,
          Name: 'É, "x"',
          Latitude: 46.1,
          Longitude: -63,
          VerticalMeasure: null,
        },
      },
      {
        type: "Feature",
        id: 8,
        geometry: null,
        properties: { Id: 8, Latitude: null, Longitude: -63 },
      },
      {
        type: "Feature",
        geometry: { type: "Point", coordinates: [-62, 45.5] },
        properties: { Name: "y", Latitude: "45.5", Longitude: "-62" },
      },
      {
        type: "Feature",
        geometry: null,
        properties: { Latitude: "north", Longitude: 1 },
      },
    ],
  });
});
