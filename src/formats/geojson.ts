import { concatBytes, utf8Encoder } from "../bytes.ts";
import { POSITION_FIELDS } from "../odata/map_position.ts";
import { JsonDocumentWriter, writeObject } from "./json.ts";
import { type PageTranscoder, writePage, type WriterState } from "./page_writer.ts";
import { pointReader } from "./points.ts";
import { EMPTY, ID_FIELD, NESTED, quoteLength, SCALAR } from "./row_reader.ts";

/**
 * Converts one page of Locations to GeoJSON, for callers that request pages themselves.
 * Source: RFC 7946.
 *
 * @param page Bytes of a page: a JSON object with its rows under `value`
 * @returns A FeatureCollection of points. Coordinates keep the digits that the service sent. The geometry is null if
 *   `HorizontalCoordinateReferenceSystem` is neither `WGS84` nor `NAD83` (about 2 m off), or the position is absent or
 *   impossible
 * @throws {SyntaxError} If the bytes are not a page
 * @throws {ValidationError} If the page is not a `Uint8Array`
 *
 * @example
 * ```ts
 * import { geojsonFromPage } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * const place = '"Latitude":46.10,"Longitude":-63,"HorizontalCoordinateReferenceSystem":"WGS84"';
 * const page = new TextEncoder().encode(`{"value":[{"Id":7,${place}}]}`);
 * const { features } = JSON.parse(new TextDecoder().decode(geojsonFromPage(page)));
 * assertEquals(features[0].geometry, { type: "Point", coordinates: [-63, 46.1] });
 * ```
 */
export function geojsonFromPage(page: Uint8Array): Uint8Array<ArrayBuffer> {
  const writer = createGeojsonWriter();
  return concatBytes([writePage(writer, page), writer.end()]);
}

export function createGeojsonWriter(state?: WriterState): JsonDocumentWriter {
  const parts = { head: '{"type":"FeatureCollection","features":[', tail: "]}\n", isList: true };
  const readPoint = pointReader(POSITION_FIELDS.map((_, column) => column));
  const writeItem: typeof writeObject = (page, at, end) => {
    const { output } = page;
    output.append(FEATURE);
    if (!page.omitted.includes(ID_FIELD)) writeId(page);
    const point = readPoint(page);
    output.append(point === undefined ? NO_POINT : POINT);
    if (point !== undefined) {
      output.append(point.digits[0]);
      output.append(COMMA);
      output.append(point.digits[1]);
      output.append(END_OF_POINT);
    }
    output.append(PROPERTIES);
    writeObject(page, at, end);
    output.append(END);
  };
  return new JsonDocumentWriter({ ...parts, fields: POSITION_FIELDS, writeItem }, state);
}

const encode = (text: string) => utf8Encoder.encode(text);
const FEATURE = /* @__PURE__ */ encode('{"type":"Feature",');
const ID = /* @__PURE__ */ encode('"id":');
const POINT = /* @__PURE__ */ encode('"geometry":{"type":"Point","coordinates":[');
const END_OF_POINT = /* @__PURE__ */ encode("]}");
const NO_POINT = /* @__PURE__ */ encode('"geometry":null');
const PROPERTIES = /* @__PURE__ */ encode(',"properties":');
const COMMA = /* @__PURE__ */ encode(",");
const END = /* @__PURE__ */ encode("}");

/** An Id is a string or a number (RFC 7946, section 3.2). */
function writeId({ reader, window: { bytes }, output }: PageTranscoder): void {
  const { idColumn: column, starts, ends, kinds } = reader;
  const kind = kinds[column] ?? EMPTY;
  const start = starts[column]!;
  // `true` and `false` begin with letters.
  if (kind === EMPTY || kind === NESTED || kind === SCALAR && bytes[start]! >= 0x40) return;
  const quote = quoteLength(kind);
  output.append(ID);
  output.append(bytes.subarray(start - quote, ends[column]! + quote));
  output.append(COMMA);
}
