import { concatBytes, utf8Encoder } from "../bytes.ts";
import { JSON_NUMBER } from "./json_scanner.ts";
import { JsonDocumentWriter, writeObject } from "./json.ts";
import { type PageTranscoder, writePage, type WriterState } from "./page_writer.ts";
import { EMPTY, ID_FIELD, NESTED, type RowReader, SCALAR } from "./row_reader.ts";

/**
 * Converts one page of Locations to GeoJSON, for callers that request pages themselves.
 * Source: RFC 7946.
 *
 * @param page Bytes of a page: a JSON object with its rows under `value`
 * @returns A FeatureCollection of points. Coordinates keep the digits that the service sent, also of a row whose
 *   `HorizontalCoordinateReferenceSystem` is not `WGS84`, although readers assume WGS 84. A location without a
 *   position has the geometry null
 * @throws {SyntaxError} If the bytes are not a page
 * @throws {ValidationError} If the page is not a `Uint8Array`
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
  const writer = createGeojsonWriter();
  return concatBytes([writePage(writer, page), writer.end()]);
}

export function createGeojsonWriter(state?: WriterState): JsonDocumentWriter {
  const head = '{"type":"FeatureCollection","features":[';
  const fields = ["Longitude", "Latitude"];
  return new JsonDocumentWriter(
    { head, tail: "]}\n", isList: true, fields, writeItem: writeFeature },
    state,
  );
}

const END = utf8Encoder.encode("}");

function writeFeature(source: PageTranscoder, at: number, end: number): void {
  const { reader, output, omitted } = source;
  const [longitude, latitude] = [toCoordinate(reader, 0), toCoordinate(reader, 1)];
  const id = omitted.includes(ID_FIELD) ? undefined : toFeatureId(reader);
  const geometry = longitude === undefined || latitude === undefined
    ? "null"
    : `{"type":"Point","coordinates":[${longitude},${latitude}]}`;
  const member = id === undefined ? "" : `"id":${id},`;
  output.append(
    utf8Encoder.encode(`{"type":"Feature",${member}"geometry":${geometry},"properties":`),
  );
  writeObject(source, at, end);
  output.append(END);
}

/** An Id is a string or a number (RFC 7946, section 3.2). */
function toFeatureId(reader: RowReader): string | undefined {
  const kind = reader.kinds[reader.idColumn];
  if (kind === EMPTY || kind === NESTED) return undefined;
  const json = reader.json(reader.idColumn);
  return kind === SCALAR && !JSON_NUMBER.test(json) ? undefined : json;
}

function toCoordinate(reader: RowReader, column: number): string | undefined {
  const kind = reader.kinds[column];
  if (kind === EMPTY || kind === NESTED) return undefined;
  const text = kind === SCALAR ? reader.json(column) : JSON.parse(reader.json(column));
  return JSON_NUMBER.test(text) && Number.isFinite(Number(text)) ? text : undefined;
}
