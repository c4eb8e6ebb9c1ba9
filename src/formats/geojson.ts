import { JsonDocumentWriter } from "./json.ts";
import type { PageWriter, WriterState, WrittenPage } from "./page_writer.ts";
import { digitsOf, readSourcePage, rowToJson, type Source, toJson } from "./raw_json.ts";
import { ID } from "./row_reader.ts";

/**
 * Writes pages of Locations as one FeatureCollection: a point for each location, `[longitude,
 * latitude]`, its other fields as properties; one without a position has a geometry of null.
 *
 * Source: RFC 7946.
 *
 * @param from The state of the writer to go on from
 */
export function geojsonWriter(from?: WriterState): PageWriter {
  return new JsonDocumentWriter('{"type":"FeatureCollection","features":[', "]}\n", features, from);
}

/**
 * Makes one page of Locations into GeoJSON: for those who have pages already.
 *
 * @param page The bytes of a page: an object of JSON with its rows under `value`
 * @returns A FeatureCollection of points, in WGS84 as the service gives it, with the digits as they came
 * @throws {SyntaxError} If the bytes are no page; none of its rows are given then
 *
 * Source: RFC 7946.
 *
 * @example
 * ```ts
 * import { geojsonFromPage } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * const page = new TextEncoder().encode('{"value":[{"Id":7,"Latitude":46.10,"Longitude":-63}]}');
 * const { features } = JSON.parse(new TextDecoder().decode(geojsonFromPage(page)));
 * assertEquals(features[0].geometry, { type: "Point", coordinates: [-63, 46.1] });
 * ```
 */
export function geojsonFromPage(page: Uint8Array): Uint8Array<ArrayBuffer> {
  const writer = geojsonWriter();
  const { bytes } = writer.write(page);
  const end = writer.end();
  const whole = new Uint8Array(bytes.length + end.length);
  whole.set(bytes);
  whole.set(end, bytes.length);
  return whole;
}

function features(page: Uint8Array, hidesId?: boolean): WrittenPage {
  const { rows, ids, envelope } = readSourcePage(page);
  if (hidesId) { for (const row of rows) row.delete(ID); }
  const bytes = new TextEncoder().encode(
    rows.map((row) => `${toFeature(row)},`).join(""),
  );
  return { bytes, rows: rows.length, ids, envelope };
}

function toFeature(row: Map<string, Source>): string {
  const id = row.get("Id");
  const longitude = toNumber(row.get("Longitude"));
  const latitude = toNumber(row.get("Latitude"));
  const geometry = longitude === undefined || latitude === undefined
    ? "null"
    : `{"type":"Point","coordinates":[${longitude},${latitude}]}`;
  return `{"type":"Feature",${isId(id) ? `"id":${toJson(id)},` : ""}` +
    `"geometry":${geometry},"properties":${rowToJson(row)}}`;
}

/** A text or a number, as RFC 7946 has it. */
function isId(source: Source | undefined): source is Source {
  return typeof source === "string" || digitsOf(source) !== undefined;
}

/** The digits of a number, or of a text that is one; undefined for null and others. */
function toNumber(source: Source | undefined): string | undefined {
  const digits = typeof source === "string" ? source.slice(1) : digitsOf(source) ?? "";
  const isNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(digits);
  return isNumber && Number.isFinite(Number(digits)) ? digits : undefined;
}
