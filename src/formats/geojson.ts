import { utf8Encoder } from "../bytes.ts";
import { JsonDocumentWriter } from "./json.ts";
import type { RowSource, RowWriter } from "./page_transcoder.ts";
import {
  concatBytes,
  ID_FIELD,
  type PageWriter,
  requirePage,
  type WriterState,
} from "./page_writer.ts";
import {
  digitsOf,
  isNumberText,
  type RawJson,
  type RawRow,
  stringifyRaw,
  stringifyRow,
  textOf,
} from "./raw_json.ts";

/**
 * Converts one page of Locations to GeoJSON, for callers that request pages themselves.
 *
 * @param page Bytes of a page: a JSON object with its rows under `value`
 * @returns A FeatureCollection of points in WGS 84. Coordinates keep the digits that the service sent. A
 *   location without a position has the geometry null
 * @throws {SyntaxError} If the bytes are not a page
 * @throws {ValidationError} If the page is not a `Uint8Array`
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
  requirePage(page);
  const writer = createGeojsonWriter();
  const { bytes } = writer.write(page);
  return concatBytes([bytes, writer.end()]);
}

/**
 * Creates a writer of one FeatureCollection, with a point per row of Locations.
 *
 * @param state State of an earlier writer, to continue its document
 */
export function createGeojsonWriter(state?: WriterState): PageWriter {
  const head = '{"type":"FeatureCollection","features":[';
  const write = ({ output }: RowSource): RowWriter => ({
    // Features need the values of the row, so each row is parsed.
    write: () => false,
    writeParsed: (row) => output.append(utf8Encoder.encode(`${toFeature(row)},`)),
  });
  return new JsonDocumentWriter({ head, separator: ",", tail: "]}\n", write }, state);
}

function toFeature(row: RawRow): string {
  const id = row.get(ID_FIELD);
  const longitude = toCoordinate(row.get("Longitude"));
  const latitude = toCoordinate(row.get("Latitude"));
  const geometry = longitude === undefined || latitude === undefined
    ? "null"
    : `{"type":"Point","coordinates":[${longitude},${latitude}]}`;
  return `{"type":"Feature",${isFeatureId(id) ? `"id":${stringifyRaw(id)},` : ""}` +
    `"geometry":${geometry},"properties":${stringifyRow(row)}}`;
}

/** Whether a value can be the `id` of a feature: a string or a number (RFC 7946, section 3.2). */
function isFeatureId(json: RawJson | undefined): json is RawJson {
  return typeof json === "string" || digitsOf(json) !== undefined;
}

/** Returns the digits of a finite number or numeric string; `undefined` for any other value. */
function toCoordinate(json: RawJson | undefined): string | undefined {
  const digits = typeof json === "string" ? textOf(json) : digitsOf(json) ?? "";
  return isNumberText(digits) && Number.isFinite(Number(digits)) ? digits : undefined;
}
