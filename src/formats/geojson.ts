import { utf8Encoder } from "../bytes.ts";
import { JsonDocumentWriter, writeObject } from "./json.ts";
import {
  concatBytes,
  type PageTranscoder,
  type PageWriter,
  writePage,
  type WriterState,
} from "./page_writer.ts";
import { EMPTY, ID_FIELD, NESTED, type RowReader, SCALAR } from "./row_reader.ts";

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
  const writer = createGeojsonWriter();
  return concatBytes([writePage(writer, page), writer.end()]);
}

/**
 * Creates a writer of one FeatureCollection, with a point per row of Locations.
 *
 * @param state State of an earlier writer, to continue its document
 */
export function createGeojsonWriter(state?: WriterState): PageWriter {
  const head = '{"type":"FeatureCollection","features":[';
  const fields = ["Longitude", "Latitude"];
  return new JsonDocumentWriter(
    { head, tail: "]}\n", isList: true, fields, writeItem: writeFeature },
    state,
  );
}

const END = utf8Encoder.encode("}");

function writeFeature(source: PageTranscoder, at: number, end: number): void {
  const { reader, output, drops } = source;
  const [longitude, latitude] = [toCoordinate(reader, 0), toCoordinate(reader, 1)];
  const id = drops.includes(ID_FIELD) ? undefined : toFeatureId(reader);
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

/** Returns the JSON of the Id of a row, if it is a string or a number (RFC 7946, section 3.2). */
function toFeatureId(reader: RowReader): string | undefined {
  const kind = reader.kinds[reader.idColumn];
  if (kind === EMPTY || kind === NESTED) return undefined;
  const json = reader.json(reader.idColumn);
  return kind === SCALAR && !NUMBER.test(json) ? undefined : json;
}

/** Returns the digits of a finite number or numeric string; `undefined` for any other value. */
function toCoordinate(reader: RowReader, column: number): string | undefined {
  const kind = reader.kinds[column];
  if (kind === EMPTY || kind === NESTED) return undefined;
  const text = kind === SCALAR ? reader.json(column) : JSON.parse(reader.json(column));
  return NUMBER.test(text) && Number.isFinite(Number(text)) ? text : undefined;
}

/** A number in JSON (RFC 8259, section 6). */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
